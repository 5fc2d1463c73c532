"""Comparisons of runs."""


def cut(runs, name, key="misses", base="baseline", program="app"):
    """Returns the share of the baseline's count that one program saves; negative if there is more."""
    return 1 - runs[name][program][key] / runs[base][program][key]


def increase(runs, name, key, base, program="app"):
    return -cut(runs, name, key, base, program)


def work(runs, tables, programs, name, key="misses"):
    """Returns the count of both programs together, for the work that both do in the baseline: the
    application's instructions, and the persistent program's operations, for which each variant needs
    its own number of instructions. `tables` has the variants alone, `programs` each run's variant."""
    base = runs["baseline"]
    app = runs[name]["app"][key] * base["app"]["instructions"] / 1000
    passes = base["persistent"]["instructions"] / tables[programs["baseline"]]["instructions"]
    instructions = passes * tables[programs[name]]["instructions"]
    return app + runs[name]["persistent"][key] * instructions / 1000


def work_cut(runs, tables, programs, name, key="misses"):
    return 1 - work(runs, tables, programs, name, key) / work(runs, tables, programs, "baseline", key)


# Section 4.4: writes of 1 us, reads as DRAM's; the paper gives no figure for the latter, nor says what
# an instruction takes: one cycle of its 1.66 GHz is assumed.
WRITE_S, READ_S, INSTRUCTION_S = 1e-6, 50e-9, 1 / 1.66e9
SHARES = {"one third": 1 / 3, "half": 1 / 2, "all": 1}


def estimated_cut(runs, tables, programs, share=None):
    """Returns the share of the estimated run time that is saved (figure 22): by the paper's models, in
    which this share of the misses saved are writes; or, without a share, by the counted reads and writes."""
    misses = {name: work(runs, tables, programs, name) for name in ("baseline", "all")}
    writes = {name: work(runs, tables, programs, name, "writebacks") for name in ("baseline", "all")}
    base = runs["baseline"]
    instructions = base["app"]["instructions"] + base["persistent"]["instructions"]
    time = instructions * INSTRUCTION_S + misses["baseline"] * READ_S + writes["baseline"] * WRITE_S
    saved = misses["baseline"] - misses["all"]
    if share is not None:
        return saved * (share * WRITE_S + (1 - share) * READ_S) / time
    return (saved * READ_S + (writes["baseline"] - writes["all"]) * WRITE_S) / time
