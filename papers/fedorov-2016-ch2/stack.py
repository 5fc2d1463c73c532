"""The shape of hits by stack position, and whether it is that of the paper's figure 2.1.

The figure shows mcf as an example of 4H16. The text describes the shape: most hits fall on the four most
recent ways (2.2), the others get much fewer, and all nearly as many (2.1, 2.2).
"""

from common import mean

HIGH = 4
# What the text leaves open: "much fewer" is at most half as many as the mean of the first four, "nearly
# as many" that the older half of the others gets at least a third of what the younger half gets.
LOW_SHARE, FLATNESS = 1 / 2, 1 / 3


def high_share(positions):
    """Returns the share of hits on the four most recent ways."""
    return sum(positions[:HIGH]) / max(sum(positions), 1)


def lowness(positions):
    """Returns the ratio of the largest of the other ways to the mean of the first four."""
    return max(positions[HIGH:]) / max(mean(positions[:HIGH]), 1)


def flatness(positions):
    """Returns the ratio of the older half of the other ways to the younger half."""
    others = positions[HIGH:]
    middle = len(others) // 2
    return sum(others[middle:]) / max(sum(others[:middle]), 1)


def published(positions):
    """Returns whether the hits have the shape of figure 2.1."""
    return high_share(positions) > 0.5 and lowness(positions) <= LOW_SHARE and flatness(positions) >= FLATNESS
