"""Tables of the page, from results: the paper's figures beside ours."""

import json
from pathlib import Path

import comparison
import counting
from common import mean, percent, table
from experiments import RUNS, TREE_RUNS
from programs import APPS

# What came out when programs took turns by instructions, not by time.
EARLIER = Path(__file__).resolve().parent / "earlier.json"
TABLE_OF = {name: program for name, (program, *_) in RUNS.items()}
TREE_OF = {name: program for name, (program, *_) in TREE_RUNS.items()}


def tables(results, paper):
    apps = results["apps"]
    return {
        "programs": programs(results),
        "allocations": allocations(results["allocations"], paper["allocations"]["flushes"]),
        "operations": operations(results["operations"]),
        "time": time(results["operations"]),
        "logs": logs(results["operations"]),
        "growing": growing(results["growing"], paper),
        "interference": interference(apps),
        "contiguity": contiguity(apps, paper["contiguity"]),
        "caa": caa(apps, paper["caa"]),
        "nvwa": nvwa(apps, paper["nvwa"]),
        "all": everything(results, paper["all"]),
        "tree": tree(results, paper["tree"]),
        "runtime": runtime(results, paper["time"]),
        "turns": turns(results, json.loads(EARLIER.read_text())),
    }


def programs(results):
    rows = []
    for name, runs in results["apps"].items():
        program, setup = APPS[name]
        base = runs["baseline"]
        rows.append([name, results["about"]["programs"][program], f"{setup:,}", f"{base['app']['pages']:,.0f}",
                     f"{base['app']['misses']:.2f}"])
    return table(["paper's", "here", "accesses before", "pages", "misses of 1000 instructions, baseline"], rows)


def allocations(found, paper):
    rows = []
    for elements, allocators in found.items():
        stated = paper.get(elements, {})
        rows.append([f"{int(elements):,}"] + [
            cell for allocator in counting.ALLOCATORS
            for cell in (f"{stated[allocator]:,}" if stated else "", f"{allocators[allocator]['allocate']['lines']:,}",
                         f"{allocators[allocator]['allocate']['fences']:,}",
                         f"{allocators[allocator]['free']['lines']:,}")])
    heads = [f"{allocator}: {what}" for allocator in ("naive", "NVWA")
             for what in ("paper, flushes", "ours, lines", "fences", "lines of as many frees")]
    return table(["objects", *heads], rows)


def operations(rows):
    """Shows lines, fences and bytes per operation."""
    return table(
        ["program", "allocator", "log", *(f"{phase}: lines" if key == "lines" else key
                                          for phase in counting.PHASES for key in counting.COUNTED)],
        [[row["program"], row["allocator"], row["log"],
          *(f"{row['phases'][phase][key]:.{0 if key == 'bytes' else 1}f}"
            for phase in counting.PHASES for key in counting.COUNTED)] for row in rows])


def time(rows):
    def cell(found):
        measured = found["measured_us"]
        return f"{measured['median']:.2f} ({measured['least']:.2f} to {measured['most']:.2f})"

    return table(
        ["program", "allocator", "log", *(f"**measured**, {phase}, µs" for phase in counting.PHASES)],
        [[row["program"], row["allocator"], row["log"], *(cell(row["phases"][phase]) for phase in counting.PHASES)]
         for row in rows])


def logs(rows):
    """Shows the share of word logging's cost that hybrid logging saves, by counts."""
    found = []
    for phase in counting.PHASES:
        word, hybrid = (counting.of(rows, "table", "nvwa", log)[phase] for log in ("word", "hybrid"))
        found.append([phase, *(f"{word[key]:.1f} to {hybrid[key]:.1f}" for key in counting.COUNTED)])
    return table(["operation", "lines, word to hybrid", "fences", "bytes stored"], found)


def growing(found, paper):
    """Shows misses of the hash table alone: figures 13 and 18."""
    rows = []
    for elements, runs in found.items():
        ideal = runs["ideal"]["misses"]
        more = {name: runs[name]["misses"] / ideal - 1 for name in ("baseline", "nvwa")}
        hybrid = 1 - runs["nvwa + hybrid"]["misses"] / runs["nvwa"]["misses"]
        rows.append([f"{int(elements):,}", *(percent(value, True) for value in more.values()),
                     f"{100 * (more['baseline'] - more['nvwa']):.1f}", percent(hybrid)])
    points = paper["allocator_misses"]["points_between_naive_and_nvwa"]
    rows.append(["**paper**, 600,000 to 1,500,000", "", "", f"about {points}", "nearly constant"])
    return table(["puts and gets", "naive: misses over ideal", "NVWA: misses over ideal", "points between",
                  "misses saved by hybrid logging"], rows)


def interference(apps):
    """Shows figures 4 and 5, and the partitioned cache of section 4.1."""
    rows = []
    for name, runs in apps.items():
        rows.append([
            name,
            *(percent(comparison.increase(runs, "baseline", "misses", base), True)
              for base in ("volatile", "unflushed")),
            percent(comparison.increase(runs, "clwb", "misses", "unflushed"), True),
            percent(comparison.cut(runs, "partitioned")),
            f"{runs['baseline']['persistent']['flushes']:.2f}",
            *(f"{1 + comparison.increase(runs, run, 'misses', 'unflushed', 'persistent'):.2f}" for run in ("baseline", "clwb"))])
    return table(["application", "misses more beside the persistent table than beside the volatile one",
                  "than beside the same one if it did not flush", "the same, if flushed lines stay (clwb)",
                  "misses saved by a partitioned cache", "flushes of 1000 instructions beside it",
                  "the table's misses, times those if it did not flush", "the same, clwb"], rows)


def contiguity(apps, paper):
    rows = []
    for name, runs in apps.items():
        stated = paper["misses"].get(name, {})
        misses = {run: runs[run]["app"]["contiguity_misses"] for run in ("baseline", "caa-4", "caa-16")}
        rows.append([
            name, *(f"{value:,.0f}" for value in misses.values()),
            *(percent(1 - misses[run] / misses["baseline"]) for run in ("caa-4", "caa-16")),
            *(f"{stated[key]:,}" if stated else "" for key in ("jit", "caa-4", "caa-16")),
            *(percent(1 - stated[run] / stated["jit"]) if stated else "" for run in ("caa-4", "caa-16"))])
    return table(["application", "ours: JIT", "CAA-4", "CAA-16", "CAA-4 saves", "CAA-16 saves", "paper: JIT", "CAA-4",
                  "CAA-16", "CAA-4 saves", "CAA-16 saves"], rows)


def caa(apps, paper):
    runs = ["caa-4", "caa-16"]
    rows = [[name, *(percent(comparison.cut(of, run)) for run in runs), *(
        percent(comparison.cut(of, run, program="persistent")) for run in runs),
        "more" if name in paper["more_misses"] else "most" if name in paper["most"] else ""]
        for name, of in apps.items()]
    rows.append(["**average**", *(percent(mean([comparison.cut(of, run) for of in apps.values()])) for run in runs),
                 *(percent(mean([comparison.cut(of, run, program="persistent") for of in apps.values()]))
                   for run in runs), f"{paper['average_cut_percent']} %"])
    return table(["application", "CAA-4: its misses saved", "CAA-16", "CAA-4: the table's misses saved", "CAA-16",
                  "paper"], rows)


def nvwa(apps, paper):
    rows = [[name, *(percent(comparison.cut(of, run)) for run in ("nvwa",)),
             f"{paper['cut_percent'][name]} %" if name in paper["cut_percent"] else "below 1 %" if name != "x264"
             else "substantial"] for name, of in apps.items()]
    rows.append(["**average**", *(percent(mean([comparison.cut(of, run) for of in apps.values()]))
                                  for run in ("nvwa",)), ""])
    return table(["application", "NVWA: its misses saved", "paper, NVWA"], rows)


def everything(results, paper):
    rows = []
    for name, runs in results["apps"].items():
        arguments = (runs, results["tables"], TABLE_OF)
        saved = comparison.work(*arguments, "baseline") - comparison.work(*arguments, "all")
        rows.append([name, percent(comparison.cut(runs, "all")), percent(comparison.work_cut(*arguments, "all")),
                     f"{saved:,.0f}", percent(comparison.work_cut(*arguments, "all", "writebacks")),
                     stated_of(name, paper)])
    low, high = paper["average_cut_percent"]
    cuts = [comparison.cut(runs, "all") for runs in results["apps"].values()]
    rows.append(["**average**", percent(mean(cuts)), "", "", "", f"{low} to {high} %"])
    return table(["application", "its misses saved", "misses of both saved, for the same work", "how many",
                  "lines written saved, for the same work", "paper"], rows)


def stated_of(name, paper):
    if name in paper["more_than_12_percent"]:
        return "more than 12 %"
    if name in paper["not_effective"]:
        return "not effective"
    low, high = paper["cut_percent"]
    return f"{low} to {high} %"


def tree(results, paper):
    rows = []
    for name, runs in results["beside_trees"].items():
        rows.append([name, percent(comparison.cut(runs, "all")),
                     percent(comparison.work_cut(runs, results["trees"], TREE_OF, "all"))])
    cuts = [comparison.cut(runs, "all") for runs in results["beside_trees"].values()]
    rows.append(["**average**", percent(mean(cuts)), ""])
    rows.append(["**paper**", f"below {paper['cut_percent_below']} %, average {paper['average_cut_percent']} %", ""])
    return table(["application", "its misses saved", "misses of both saved, for the same work"], rows)


def runtime(results, paper):
    rows = []
    for name, runs in results["apps"].items():
        arguments = (runs, results["tables"], TABLE_OF)
        rows.append([name, *(percent(comparison.estimated_cut(*arguments, share))
                             for share in comparison.SHARES.values()),
                     percent(comparison.estimated_cut(*arguments))])
    low, high = paper["one_third_cut_percent"]
    rows.append(["**paper**", f"{low} to {high} %", "", "", ""])
    heads = [f"of the misses saved, writes are {share}" for share in comparison.SHARES]
    return table(["application", *heads, "by the reads and writes that there were"], rows)


def turns(results, earlier):
    """Shows what changed when programs took turns by time."""
    columns = {
        "misses of 1000 instructions, baseline": lambda runs, tables: f"{runs['baseline']['app']['misses']:.2f}",
        "misses more than beside the same table without flushes":
            lambda runs, tables: percent(comparison.increase(runs, "baseline", "misses", "unflushed"), True),
        "its misses saved by everything": lambda runs, tables: percent(comparison.cut(runs, "all")),
        "misses of both saved, for the same work":
            lambda runs, tables: percent(comparison.work_cut(runs, tables, TABLE_OF, "all")),
    }
    rows = [[name, *(cell(of["apps"][name], of["tables"]) for cell in columns.values() for of in (earlier, results))]
            for name in results["apps"] if name in earlier["apps"]]
    return table(["application", *(f"{head}: by {by}" for head in columns for by in ("instructions", "time"))], rows)
