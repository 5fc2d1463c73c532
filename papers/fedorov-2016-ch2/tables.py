"""The tables of the page, from results: ours beside the paper's."""

import ahead
import early
import experiments
import halves_tables
import times
import verdict
from common import mean, percent, table
from comparison import (
    average_cut,
    average_gain,
    average_saving,
    cut,
    gain,
    longer,
    median_cut,
    ratio,
    saved_watts,
    saving_with,
)
from drawing import title

HEADS = ["program", "stands for"]
# Figures shown for every policy, by key.
KEYS = {"writebacks": "write-backs", "misses": "misses", "traffic": "both"}


def stated(value):
    """Returns the paper's figure, or an empty string if it states none."""
    return "" if value is None else f"{value:g} %"


def tables(results, paper):
    programs = results["programs"]
    runs = [one["policies"] for one in programs.values()]
    return {
        "holds": verdict.demands(results),
        "averages": verdict.averages(results, paper),
        "programs": program_table(results),
        "positions": verdict.positions(programs),
        "candidates": candidate_table(programs),
        "writebacks": cut_table(programs, "writebacks", paper["writebacks"]["cut_percent"]),
        "misses": cut_table(programs, "misses", paper["misses"]["cut_percent"]),
        "policies": policy_table(programs, paper),
        "resized": resized_table(programs, paper),
        "memory": memory_table(runs, paper),
        "decision": decision_table(programs.values(), paper["decision"]),
        "ipc": ipc_table(programs, paper),
        "shared": shared_table(results["shared"], paper["multicore"]),
        "shapes": shape_table(programs, paper),
        "insertions": insertion_table(runs, paper),
        "hardware": hardware_table(runs, paper["hardware"]),
        "course": course_table(results["course"]),
    } | halves_tables.tables() | times.tables() | ahead.tables() | early.tables()


def program_table(results):
    about = results["about"]["programs"]
    rows = []
    for name, one in results["programs"].items():
        lru, hits = one["policies"]["lru"], sum(one["positions"])
        rows.append([
            name, one["spec"] or "", about[name], f"{one['setup'] / 1e6:.1f} M", f"{one['requests'] / 1e6:.1f} M",
            percent(hits / one["requests"]),
            f"{lru['misses'] / one['requests']:.2f}", f"{lru['writebacks'] / one['requests']:.2f}"])
    return table([*HEADS, "what it is", "rows before", "requests", "hits",
                  "misses a request", "write-backs a request"], rows)


def candidate_table(programs):
    """Compares, for programs with the published shape, ARI with the static policies that it chooses from."""
    rows = []
    for name, one in programs.items():
        for size, runs in (one["candidates"] or {}).items():
            rows.append([name, f"{size}B", *saved(runs, "ari"),
                         *(cell for why in ("traffic", "writebacks", "any") for cell in (short(runs[why]["policy"]), *saved(runs, why)))])
    pair = [f"{KEYS[key]} saved" for key in ("writebacks", "misses")]
    heads = ["best in misses and write-backs", "fewest write-backs, misses at most 1/16 more", "fewest write-backs of all"]
    return table(["program", "cache", *(f"ARI: {text}" for text in pair),
                  *(cell for head in heads for cell in (head, *pair))], rows)


def saved(runs, policy):
    return [percent(cut(runs, policy, key)) for key in ("writebacks", "misses")]


def short(policy):
    """Returns a static policy as the paper writes it."""
    plain, *rest = policy.split(",")
    return f"{title(plain)}{', LH' if rest else ''}"


def cut_table(programs, key, paper):
    rows = [[name, one["spec"] or "", *(percent(cut(one["policies"], policy, key)) for policy in experiments.COMPARED)]
            for name, one in programs.items()]
    runs = [one["policies"] for one in programs.values()]
    rows.append(["**average**", "", *(percent(average_cut(runs, policy, key)) for policy in experiments.COMPARED)])
    rows.append(["**paper**, average", "", *(stated(paper.get(policy)) for policy in experiments.COMPARED)])
    return table([*HEADS, *(title(policy) for policy in experiments.COMPARED)], rows)


def policy_table(programs, paper):
    """Shows all policies: averages, medians, and the program whose misses rise most."""
    runs = {name: one["policies"] for name, one in programs.items()}
    rows = []
    for policy in dict.fromkeys([*experiments.STATIC, *experiments.COMPARED, *experiments.OTHERS]):
        worst = max(runs, key=lambda name: ratio(runs[name], policy, "misses"))
        rows.append([
            f"`{policy}`", *(percent(average_cut(runs.values(), policy, key)) for key in KEYS),
            *(percent(median_cut(runs.values(), policy, key)) for key in KEYS),
            f"{percent(-cut(runs[worst], policy, 'misses'))} ({worst})",
            stated(paper["writebacks"]["cut_percent"].get(policy)), stated(paper["misses"]["cut_percent"].get(policy))])
    return table(["policy", *(f"{text} saved" for text in KEYS.values()), *(f"{text}, median" for text in KEYS.values()),
                  "misses more, at most",
                  "paper: write-backs saved", "misses saved"], rows)


# What ARI's defaults were before: found on these programs, where the paper says otherwise.
FOUND = experiments.HARDWARE["found on these programs"]


def resized_table(programs, paper):
    """Shows averages over all programs, and over those that were not resized to meet a criterion."""
    others = [one["policies"] for name, one in programs.items() if name not in experiments.RESIZED]
    every = [one["policies"] for one in programs.values()]
    rows = [[f"`{policy}`", *(percent(average_cut(runs, policy, key)) for runs in (every, others) for key in KEYS),
             *(stated(paper[key]["cut_percent"].get(policy)) for key in ("writebacks", "misses", "bandwidth"))]
            for policy in (*experiments.COMPARED, FOUND)]
    heads = [f"{text}: {what} saved" for text in ("all", f"without {len(every) - len(others)}") for what in KEYS.values()]
    return table(["policy", *heads, "paper: write-backs", "misses", "both"], rows)


def memory_table(runs, paper):
    """Shows bandwidth, energy and lifetime, our figures before the paper's."""
    rows = []
    for policy in ("dip", "dblk", "drrip", "ari", *experiments.OWN):
        of_paper = paper["energy"]["cut_percent"] if policy == "ari" else {}
        energies = [cell for memory, known in zip(experiments.MEMORIES, ("dram", "pcm", "dram/pcm"))
                    for cell in (percent(average_saving(runs, policy, memory)), stated(of_paper.get(known)))]
        times = 1 + average_gain([longer(one, policy) - 1 for one in runs])
        rows.append([title(policy), percent(average_cut(runs, policy, "traffic")),
                     stated(paper["bandwidth"]["cut_percent"].get(policy)), *energies,
                     f"{times:.2f}", paper["lifetime"]["times"].get(policy, "")])
    energies = [cell for memory in ("energy, DRAM", "PCM", "DRAM before PCM")
                for cell in (f"{memory} ({verdict.EARLIER_TIMING})", "**paper**")]
    return table(["policy", "lines saved", "**paper**", *energies, "lifetime, times", "**paper**"], rows)


def decision_table(programs, paper):
    """Shows what ARI saves of a memory's power beside what its own hardware may take by the paper."""
    watts = paper["llc_watts"] * paper["percent_of_llc_at_most"] / 100
    rows = []
    for memory, name in zip(experiments.MEMORIES, ("DRAM", "PCM", "DRAM before PCM")):
        known = [one for one in programs if one["policies"]["ari"]["memories"][memory]["ipc"] and one["instructions"]]
        if not known:
            continue
        saved = [1e3 * saved_watts(one, memory) for one in known]
        rows.append([name, f"{mean(saved):.0f} mW", f"{max(saved):.0f} mW", f"{1e3 * watts:.0f} mW",
                     f"{sum(one > 1e3 * watts for one in saved)} of {len(saved)}",
                     percent(saving_with(known, memory, 0)), percent(saving_with(known, memory, watts)),
                     verdict.EARLIER_TIMING])
    return table(["memory", "power saved, mean", "most", "ARI's hardware, at most", "programs that save more",
                  "energy saved", "energy saved with that hardware", "model"], rows)


def ipc_table(programs, paper):
    policies = ["dip", "dblk", "drrip", "ari", *experiments.OWN]
    earlier = verdict.EARLIER_TIMING
    rows = [[name, one["spec"] or "", *(percent(gain(one["policies"], policy, "dram")) for policy in policies), earlier]
            for name, one in programs.items()]
    averages = [average_gain([gain(one["policies"], policy, "dram") for one in programs.values()])
                for policy in policies]
    rows.append(["**average**", "", *map(percent, averages), earlier])
    rows.append(["**paper**, average", "", *(stated(paper["ipc"]["gain_percent"].get(policy)) for policy in policies), ""])
    return table([*HEADS, *(title(policy) for policy in policies), "model"], rows)


def shared_table(shared, paper):
    """Shows our averages before the paper's, by size."""
    names = experiments.SHARED_POLICIES
    columns = [(policy, key) for policy in names for key in ("writebacks", "misses")]
    rows, earlier = [], verdict.EARLIER_ORDER
    for size in experiments.SHARED_SIZES if shared else []:
        loads = {name: sizes[size] for name, sizes in shared.items()}
        rows += [[f"{size}B", name, *(percent(cut(runs, policy, key)) for policy, key in columns), earlier]
                 for name, runs in loads.items()]
        rows.append([f"{size}B", "**average**",
                     *(percent(average_cut(loads.values(), policy, key)) for policy, key in columns), earlier])
        rows.append([f"{size}B", "**paper**, average",
                     *(stated(paper[f"{key}_cut_percent"][size].get(names[policy])) for policy, key in columns), ""])
    heads = [f"{title(names[policy])}: {KEYS[key]} saved" for policy, key in columns]
    return table(["cache", "on eight cores", *heads, "model"], rows)


def shape_table(programs, paper):
    """Shows averages of ARI and of our own policy by capacity and by associativity."""
    rows = []
    for part, unit in (("sizes", "B, 16 ways"), ("ways", " ways, 2 MB")):
        for shape in next(iter(programs.values()))[part]:
            runs = [one[part][shape] for one in programs.values()]
            of_paper = ["", ""]
            if part == "sizes" and shape in paper["sizes"]["best"]:
                of_paper = [f"{paper['sizes'][f'best_{key}_cut_percent']} % (mean of 2 and 4 MB)"
                            for key in ("writebacks", "misses")]
            rows.append([f"{shape}{unit}", *(percent(average_cut(runs, policy, key)) for policy in experiments.ADAPTIVE
                                             for key in ("writebacks", "misses")), *of_paper])
    heads = [f"{title(policy)}: {KEYS[key]} saved" for policy in experiments.ADAPTIVE for key in ("writebacks", "misses")]
    return table(["cache", *heads, "paper, ARI: write-backs", "misses"], rows)


def insertion_table(runs, paper):
    only = paper["insertion"]["insertion_only"]
    of_paper = {
        "insertion only": [stated(only["writebacks_cut_percent"]), stated(only["misses_cut_percent"])],
        "MRU only": ["8 % more than LH only", ""],
        "p + 1": ["as ARI", "2 points less than ARI"],
        "ARI": [stated(paper["writebacks"]["cut_percent"]["ari"]), stated(paper["misses"]["cut_percent"]["ari"])],
    }
    return table(
        ["scheme", "write-backs saved", "misses saved", "paper: write-backs", "misses"],
        [[name, *(percent(average_cut(runs, policy, key)) for key in ("writebacks", "misses")),
          *of_paper.get(name, ["", ""])] for name, policy in (experiments.INSERTIONS | {"ARI": "ari"}).items()])


def hardware_table(runs, paper):
    """Shows the cost of variants of ARI, as averages of their ratio to ARI itself."""
    live, sets, behind = paper["live_sets_percent"], paper["sampled_sets_percent_at_most"], paper["partitions_points_behind"]
    weights = paper["weights_gain_percent_up_to"]
    between = [f"within {sets['writebacks']} %", f"within {sets['misses']} %"]
    of_paper = {
        "whole tags": [f"within {paper['whole_tags_percent_at_most']} %"] * 2,
        "live sets": [f"{live['writebacks']} %", f"{live['misses']} %"],
        "9 sampled sets": between,
        "72 sampled sets": between,
        "epochs of 10,000": ["more", "more"],
        "epochs of 30,000": ["more", "more"],
        "epochs of 40,000": ["more", "more"],
        "half the policies in turn": ["more than LH only", "more than LH only"],
        "p = 5": [f"{behind['5']['writebacks']} points", f"{behind['5']['misses']} points"],
        "p = 3": [f"{behind['3']['writebacks']} points", f"{behind['3']['misses']} points"],
        "write-backs only": [f"up to -{weights['writebacks_only']} %", ""],
        "misses only": ["", f"up to -{weights['misses_only']} %"],
    }
    rows = []
    for name, policy in experiments.HARDWARE.items():
        more = {key: (1 - average_cut(runs, policy, key)) / (1 - average_cut(runs, "ari", key)) - 1
                for key in ("writebacks", "misses")}
        rows.append([name, *map(percent, more.values()), *of_paper.get(name, ["", ""])])
    return table(["variant", "write-backs more", "misses more", "paper: write-backs", "misses"], rows)


def course_table(course):
    return table(
        ["program", "policy", "write-backs a period, mean", "least", "most"],
        [[name, f"`{policy}`", f"{mean(counts):,.0f}", f"{min(counts):,}", f"{max(counts):,}"]
         for name, found in course.items() for policy, counts in found["policies"].items()])
