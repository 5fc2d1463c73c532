"""What schemes save, calculated from the counts of runs."""

# The share of the footprint that is DRAM in the paper.
PAPER_SHARE = 0.25
# Schemes that are applied in runs of their own, because the others are judged with default settings.
APPLIED = ["mfwr:words=2", "mfwr:words=3", "dcw:pin=off"]
# Data comparison at places that hold random data, as the paper assumes without pinning (5.1.2).
RANDOM = "dcw at random data"
PAGE_CELLS = 4096 * 8
# The memory of the paper's figure 9 (4.3, 5.1.3).
DEVICE_CELLS, ENDURANCE = (16 << 30) * 8, 1e7
YEAR_S = 365.25 * 86400


def saved(one, scheme):
    """Returns the share of the cells of the non-inclusive extension that a scheme does not write."""
    if scheme in APPLIED:
        run = one["applied"][scheme]
        return 1 - run["cells"] / run["page"]
    if scheme == RANDOM:
        # Half of the cells differ from random data.
        return 1 - one["cells"]["inclusive"] / 2 / one["cells"]["page"]
    return 1 - one["cells"][scheme] / one["cells"]["page"]


def at_share(results, share):
    """Returns each program's account at the paper's share, or at its own chosen one."""
    for name, program in results["programs"].items():
        yield name, program, program["shares"][str(PAPER_SHARE) if share == "paper" else program["chosen"]]


def lifetime_years(cells, seconds):
    return ENDURANCE * DEVICE_CELLS / (cells / seconds) / YEAR_S if cells else None
