"""Repeats chapter 4 of Fedorov 2016: a block of the flash TCAM, and a day of updates.

Usage: TERRACE_DATA=FOLDER repeat.py

FOLDER/bgp holds what is not part of the project: ipasn_20140513.dat.gz, of pyasn
(https://github.com/hadiasghari/pyasn), and ris-20260511-as3333-{initial,updates}-{ipv4,ipv6}.parquet, a day of RIPE
RIS as the benchmarks of the prefix-trie crate have it (https://github.com/tiborschneider/prefix-trie).
"""

import json
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent)]

import common  # noqa: E402
from common import say, table  # noqa: E402

DATA = Path(os.environ.get("TERRACE_DATA", FOLDER.parents[2] / "shared" / "data")) / "bgp"
DAY_S = 86400
UPDATES_OF_2026 = 1_393_421
# Times are a model's, since the updates have none.
BURSTY = ["--update-times", "bursty"]


def runs(paper):
    """Returns each replay: its table, its updates and its options."""
    ipv4, ipv6 = (("ris-20260511-as3333-initial-{}.parquet".format(family),
                   "ris-20260511-as3333-updates-{}.parquet".format(family)) for family in ("ipv4", "ipv6"))
    # The updates of 2026 over so long a time that a day has as many as the thesis's.
    span = ["--span", f"{DAY_S * UPDATES_OF_2026 // paper['day']['updates']}s"]
    old = ("ipasn_20140513.dat.gz", ipv4[1])
    return {
        "2014": (*old, [*BURSTY, *span]),
        "2014, 5 buffers": (*old, [*BURSTY, *span, "--buffers", "5"]),
        "2026": (*ipv4, BURSTY),
        "2026, unchanged": (*ipv4, [*BURSTY, "--policy", "unchanged"]),
        "2026, unchanged+lazy": (*ipv4, [*BURSTY, "--policy", "unchanged+lazy"]),
        "2026, IPv6": (*ipv6, BURSTY),
        "2026, IPv6, unchanged": (*ipv6, [*BURSTY, "--policy", "unchanged"]),
    }


def replay(work, name, routes, updates, options):
    """Replays updates; results are kept, so that a measurement that is cut off goes on."""
    kept = work / f"{name.replace(', ', '-').replace(' ', '-')}.json"
    if not kept.exists():
        say(f"replaying {name}")
        command = [common.TERRACE, "tcam", "replay", "-q", "--table", DATA / routes, "--updates", DATA / updates]
        found = common.output_json([*command, *options, "--json=-"])
        common.write_json(kept, {"totals": found["totals"], "settings": found["settings"]})
    return json.loads(kept.read_text())


def measure(paper):
    missing = [name for routes, updates, _ in runs(paper).values() for name in (routes, updates)
               if not (DATA / name).exists()]
    if missing:
        sys.exit(f"{DATA} lacks {', '.join(sorted(set(missing)))}; {__doc__.split(chr(10), 3)[3]}")
    work = common.work_directory(FOLDER)
    work.mkdir(parents=True, exist_ok=True)
    replays = {name: replay(work, name, *rest) for name, rest in runs(paper).items()}
    circuit = common.output_json([common.TERRACE, "tcam", "circuit", "--json=-"])
    del circuit["technology"], circuit["sweeps"]
    return {"circuit": circuit, "replays": replays}


def a_day(totals, name):
    return totals[name] * DAY_S / totals["elapsed_s"]


def tables(results, paper):
    return {"circuit": circuit_table(results["circuit"], paper), "day": day_table(results["replays"], paper),
            "today": today_table(results["replays"])}


def circuit_table(circuit, paper):
    rows = []
    for block in circuit["blocks"]:
        said, ours = paper["table_4_1"][block["cell"]], block["model"]
        for name, of_paper, of_ours in [
            ("TCAM cells, ps", said["tcam_ps"], ours["tcam_ps"]),
            ("port memory, ps", said["port_ps"], ours["port_ps"]),
            ("power (ours: at 1 GHz), mW", said["mw"], ours["search_pj"]),
            ("area, um2", said["um2"], ours["um2"]),
        ]:
            rows.append([f"{block['cell']}: {name}", f"{of_paper:.0f}", f"{of_ours:.0f}", f"{of_ours / of_paper:.2f}"])
    return table(["", "paper", "ours (model)", "ratio"], rows)


def day_table(replays, paper):
    day = paper["day"]
    found, tight = replays["2014"]["totals"], replays["2014, 5 buffers"]["totals"]
    years = found["lifetime_years"]
    rows = [
        ["flash entries written a day", day["flash_updates"], round(a_day(found, "flushed"))],
        ["filtered, %", day["filtered_percent"], f"{100 * found['filtered']:.0f}"],
        ["time between flushes, s", day["flush_spacing_s"], round(found["flush_spacing_s"])],
        ["flushed twice or more in a second, a day", day["double_flushes"], f"{a_day(found, 'double_flushes'):.1f}"],
        ["seven times, a day", day["sevenfold_flushes"], f"{a_day(found, 'sevenfold_flushes'):.1f}"],
        ["shadow blocks needed", day["shadow_blocks_least"], found["shadow_blocks_needed"]],
        ["updates that wait with 5 buffers", 0, tight["waited"]],
        ["lifetime, years", day["lifetime_years"], f"{years['estimate']:.2f}"],
        ["lifetime with static shares, years", day["lifetime_static_years"], f"{years['estimate_static']:.2f}"],
    ]
    return table(["", "paper", "ours (simulated)"], rows)


def today_table(replays):
    rows = []
    for name, run in replays.items():
        totals = run["totals"]
        years = totals["lifetime_years"]
        rows.append([name, round(a_day(totals, "flushed")), f"{100 * totals['filtered']:.0f}",
                     totals["shadow_blocks_needed"], f"{years['estimate']:.1f}", f"{years['first_block']:.0f}"])
    return table(["simulated", "flash entries a day", "filtered, %", "shadow blocks", "years by the estimate",
                  "years by simulated wear"], rows)


def main():
    paper = json.loads((FOLDER / "paper.json").read_text())
    results = measure(paper)
    common.write_json(FOLDER / "results.json", results)
    found = tables(results, paper)
    common.fill_in(FOLDER / "README.md", found)
    print("\n\n".join(found.values()))


if __name__ == "__main__":
    main()
