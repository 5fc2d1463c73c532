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
from drawing import draw  # noqa: E402

DATA = Path(os.environ.get("TERRACE_DATA", FOLDER.parents[2] / "shared" / "data")) / "bgp"
DAY_S = 86400
UPDATES_OF_2026 = 1_393_421
# Times are a model's, since the updates have none.
BURSTY = ["--update-times", "bursty"]
# Shares of the announcements that change the port. 0.08 was fitted to one half of the peers of a file with next hops,
# of the other half it is 0.113 (crates/tcam/src/hops.rs).
FITTED, OTHERS = "0.08", "0.113"
SHARES = ["0", FITTED, OTHERS, "1"]
POLICIES = ["thesis", "unchanged", "unchanged+lazy", "unchanged+damping",
            "unchanged+coalesce+damping+lazy"]
# Years that the chip is to last.
YEARS = 10

def runs(paper):
    """Returns each replay: its table, its updates and its options."""
    ipv4, ipv6 = ((f"ris-20260511-as3333-initial-{family}.parquet",
                   f"ris-20260511-as3333-updates-{family}.parquet") for family in ("ipv4", "ipv6"))
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
        **{swept(family, policy, share): (*files, [*BURSTY, "--policy", policy, "--port-changes", share])
           for family, files, shares in [("IPv4", ipv4, SHARES), ("IPv6", ipv6, [OTHERS])]
           for policy in POLICIES for share in shares},
    }


def swept(family, policy, share):
    return f"sweep {family} {policy} {share}"


def replay(work, name, routes, updates, options):
    """Replays updates; results are kept, so that a measurement that is cut off goes on."""
    kept = work / f"{name.replace(', ', '-').replace(' ', '-')}.json"
    if not kept.exists():
        say(f"replaying {name}")
        command = [common.TERRACE, "tcam", "replay", "-q", "--table", DATA / routes, "--updates", DATA / updates]
        found = common.output_json([*command, *options, "--json=-"])
        names = ["family", "length", "entries_loaded", "announcements", "flushed"]
        lengths = [{name: row[name] for name in names} for row in found["lengths"]]
        common.write_json(kept, {"totals": found["totals"], "settings": found["settings"], "chip": found["chip"],
                                 "lengths": lengths})
    return json.loads(kept.read_text())


def measure(paper):
    missing = [name for routes, updates, _ in runs(paper).values() for name in (routes, updates)
               if not (DATA / name).exists()]
    if missing:
        sys.exit(f"{DATA} lacks {', '.join(sorted(set(missing)))}; {__doc__.split(chr(10), 3)[3]}")
    work = common.work_directory(FOLDER)
    work.mkdir(parents=True, exist_ok=True)
    replays = {name: replay(work, name, *rest) for name, rest in runs(paper).items()}
    sweep = {name.removeprefix("sweep "): brief(replays.pop(name)) for name in list(replays)
             if name.startswith("sweep ")}
    for name, run in replays.items():
        if name not in ("2014", "2026"):
            del run["lengths"]
    circuit = common.output_json([common.TERRACE, "tcam", "circuit", "--json=-"])
    del circuit["technology"], circuit["sweeps"]
    return {"circuit": circuit, "replays": replays, "sweep": sweep}


def brief(run):
    """Returns what the tables need of a run of the sweep."""
    totals = run["totals"]
    return {"flushed": totals["flushed"], "estimate": totals["lifetime_years"]["estimate"],
            "first_block": totals["lifetime_years"]["first_block"], "bound": totals["bound"],
            "shadow_blocks": run["chip"]["shadow_blocks"]}


def a_day(totals, name):
    return totals[name] * DAY_S / totals["elapsed_s"]


def tables(results, paper):
    return {"circuit": circuit_table(results["circuit"], paper),
            "variants": variants_table(results["circuit"]["variants"], paper["table_4_1"]), "day": day_table(results["replays"], paper),
            "chip": chip_table(results["replays"]), "today": today_table(results["replays"]),
            "sweep": sweep_table(results["sweep"]), "verdict": verdict_table(results["sweep"])}


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


def variants_table(variants, paper):
    names = ["flash_tcam_ps", "flash_port_ps", "cmos_tcam_ps", "cmos_port_ps"]
    said = [paper[cell][name] for cell in ("flash", "cmos") for name in ("tcam_ps", "port_ps")]
    rows = [["paper", *said], *([one["name"], *(f"{one[name]:.0f}" for name in names)] for one in variants)]
    return table(["model, ps", "flash: TCAM cells", "flash: port memory", "CMOS: TCAM cells", "CMOS: port memory"], rows)


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


def chip_table(replays):
    rows = []
    for name in ["2014", "2026", "2026, IPv6"]:
        chip = replays[name]["chip"]
        rows.append([name, chip["shadow_blocks"], *(f"{chip[of]:.1f}" for of in ["die_cm2", "cmos_die_cm2"]),
                     *(f"{chip[of]:.0f}" for of in ["power_w", "cmos_power_w", "lookup_nj", "cmos_lookup_nj"])])
    return table(["", "shadow blocks", "die, cm2", "of CMOS", "power, W", "of CMOS", "lookup, nJ", "in CMOS"], rows)


def years(value):
    return "no writes" if value is None else f"{value:.1f}"


def sweep_table(sweep):
    rows = [[policy, *(years(sweep[f"IPv4 {policy} {share}"]["estimate"]) for share in SHARES)]
            for policy in POLICIES]
    return table(["years by the estimate, by the share of ports that change", *SHARES], rows)


def chosen(sweep):
    """Returns the policy of the fewest parts with which the chip lasts, chosen by IPv4 and the share that was fitted."""
    lasting = [policy for policy in POLICIES
               if (sweep[f"IPv4 {policy} {FITTED}"]["estimate"] or YEARS) >= YEARS]
    return min(lasting, key=lambda policy: policy.count("+"), default=None)


def verdict_table(sweep):
    best = chosen(sweep)
    rows = []
    for policy in POLICIES:
        judged = [sweep[f"{family} {policy} {share}"] for family, share in
                  [("IPv4", FITTED), ("IPv4", OTHERS), ("IPv6", OTHERS)]]
        rows.append([policy, *(years(run["estimate"]) for run in judged), f"{judged[2]['first_block']:.0f}",
                     "chosen" if policy == best else ""])
    return table(["years by the estimate", f"IPv4, {FITTED} (chosen by)", f"IPv4, {OTHERS}", f"IPv6, {OTHERS}",
                  f"IPv6, {OTHERS}, by simulated wear", ""], rows)


def main():
    paper = json.loads((FOLDER / "paper.json").read_text())
    results = measure(paper)
    common.write_json(FOLDER / "results.json", results)
    draw(results["replays"], paper, common.figures(FOLDER))
    print("\n\n".join(tables(results, paper).values()))
    common.render()


if __name__ == "__main__":
    main()
