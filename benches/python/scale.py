#!/usr/bin/env python3
"""How a sweep of 10,000 traces and 114 machines behaves on 1,000 workers (`make bench-scale`).

What a task costs is measured on this machine, by the package that is installed. The cluster is
simulated with these figures, in virtual time: see `model.py`. `--simulate` leaves out what is
measured, and needs no package.
"""

import argparse
import json
import os
import platform
import sys

import model

#: A task that is simulated: the median of its time, in seconds.
TASKS = (1.0, 10.0, 60.0)


def measure():
    """Returns what was measured, and the parameters that come from it."""
    import measured

    found = {
        "task": measured.task(),
        "client": measured.client(),
        "scheduler": measured.scheduler(),
        "requests": measured.requests(),
    }
    task, asked = found["task"], found["requests"]["task"]
    of_trace = sum(number for name, number in asked.items() if name in ("trace HEAD", "trace GET"))
    opened = found["requests"]["results"]
    return found, {
        "scheduler": found["scheduler"]["scheduler"],
        # A trace is read twice: for its pages, and by the pass.
        "read": 2.0 * task["bytes"] / task["surveyed"],
        "reads": of_trace,
        "written": found["client"]["bytes"],
        "opening": opened["trace HEAD"] + opened["trace GET"],
        "decoding": found["client"]["results"],
    }


def row(name, p, found):
    """Returns a line of the table of what was simulated."""
    return (
        f"{name:<26} {p.traces:>6} {p.workers:>7} {p.task:>5.0f} {found.begin:>6.0f} {found.makespan:>9.0f} "
        f"{found.end:>6.0f} {found.utilisation:>6.2f} {found.scheduler:>6.2f} {found.requests_each_second:>7.0f} "
        f"{found.requests / 1e6:>7.2f} {found.read / 1e12:>7.2f} {found.written / 1e9:>7.2f} {found.again:>6}"
    )


def simulations(parameters):
    """Yields what is simulated: a name, the parameters and what was found."""
    for traces in (100, 1000, 10_000):
        for workers in (10, 100, 1000):
            p = model.Parameters(traces, workers, **parameters)
            yield "", p, model.simulate(p)
    for task in TASKS:
        p = model.Parameters(10_000, 1000, **(parameters | {"task": task}))
        yield "shorter tasks" if task < 60 else "", p, model.simulate(p)
    whole = model.Parameters(10_000, 1000, **parameters)
    half = model.simulate(whole, finished=whole.traces * whole.passes // 2)
    yield "stopped half way, again", whole, half
    dying = model.Parameters(10_000, 1000, lives=3600.0, **parameters)
    yield "a worker lives an hour", dying, model.simulate(dying)
    listing = model.Parameters(10_000, 1000, **(parameters | {"lists_all": True}))
    yield "a task lists the folder", listing, model.simulate(listing)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulate", action="store_true", help="measure nothing")
    parser.add_argument("--json", metavar="FILE", help="write all figures")
    options = parser.parse_args()
    found, parameters = ({}, {}) if options.simulate else measure()
    for name, figures in found.items():
        print(f"measured, {name}: {json.dumps(figures)}")
    if found:
        print(f"measured on {os.cpu_count()} processors, {platform.machine()}\n")
    print("simulated, in virtual time: seconds, million requests, TB read, GB written")
    print(
        f"{'':<26} traces workers  task  begin  makespan    end    use  sched   req/s   req M   TB in  GB out  again"
    )
    rows = []
    for name, p, one in simulations(parameters):
        print(row(name, p, one))
        rows.append({"name": name, "parameters": vars(p), "simulated": vars(one)})
    p = model.Parameters(10_000, 1000, **parameters)
    print(f"\nThe scheduler keeps 1,000 workers waiting where tasks take less than {model.limit(p):.1f} s.")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"measured": found, "simulated": rows}, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
