"""Versions of policies that are written in Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import terrace_sim as ts
from terrace_sim import _policies

SOURCE = """
from collections import OrderedDict
from functools import cached_property, partial, wraps
from heapq import heappush as push

import numpy
import terrace_sim as ts

STEP = 3
WEIGHTS = {"hit": [1, 2]}
TABLE = numpy.arange(4)
UNUSED = 1


class Pair:
    def sum(self):
        return STEP + 1


def weigh(page):
    return WEIGHTS["hit"][0] * page + TABLE[0]


def wrapped(function):
    @wraps(function)
    def called(self):
        return function(self) + STEP

    return called


def bounded(by):
    def method(self, page):
        return min(page, by)

    return method


class Base(ts.Replacement):
    def common(self):
        return 1


class Mine(Base):
    depth = 4
    cut = bounded(5)
    order = OrderedDict
    seventh = partial(weigh, 7)

    def touch(self, page, write, *, often=6):
        super().common()
        try:
            push([], weigh(page))
            page += 1
        except ValueError:
            return page in {"a", "b", "c"}

    def evict(self, far=8):
        return [(lambda: one + 9)() for one in (Pair(),)]

    @property
    def size(self):
        return 10

    @staticmethod
    def still():
        return 11

    @classmethod
    def made(cls):
        return 12

    @cached_property
    def later(self):
        return 13

    @wrapped
    def again(self):
        return 14
"""


def of_source(source: str) -> str:
    """Return the version of the class `Mine` of a module."""
    module = ModuleType("of_source")
    exec(compile(source, "of_source.py", "exec", dont_inherit=True), module.__dict__)
    return _policies.version(module.__dict__["Mine"])


def test_the_version_is_the_same_in_every_process(tmp_path: Path) -> None:
    path = tmp_path / "of_source.py"
    path.write_text(SOURCE + "\nfrom terrace_sim._policies import version\nprint(version(Mine))\n")
    calls = [[str(path)], [str(path)], ["-c", "import of_source"]]
    versions = {of_source(SOURCE)}
    for seed, call in enumerate(calls):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, *call]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        versions.add(done.stdout.strip())
    assert len(versions) == 1, versions


def test_a_class_that_was_sent_has_the_version() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    space: dict[str, Any] = {"__name__": "__main__"}
    # It cannot send a `cached_property`, which has a lock before Python 3.12.
    exec(SOURCE.replace("@cached_property", "@property"), space)
    sent = cloudpickle.dumps(space["Mine"]).hex()
    reader = (
        "import pickle; from terrace_sim._policies import version; "
        f"print(version(pickle.loads(bytes.fromhex('{sent}'))))"
    )
    done = subprocess.run([sys.executable, "-c", reader], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == _policies.version(space["Mine"])


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("STEP = 3", "STEP = 4"),
        ("[1, 2]", "[1, 3]"),
        ("arange(4)", "arange(5)"),
        ("return STEP + 1", "return STEP + 2"),
        ("* page", "+ page"),
        ("min(page, by)", "max(page, by)"),
        ("return 1\n", "return 2\n"),
        ("class Mine(Base)", "class Mine(ts.Replacement)"),
        ("depth = 4", "depth = 4.0"),
        ("depth = 4", "version = 4"),
        ("bounded(5)", "bounded(6)"),
        ("order = OrderedDict", "order = dict"),
        ("partial(weigh, 7)", "partial(weigh, 8)"),
        ("often=6", "often=7"),
        ("*, often", "often"),
        ("super().common", "super().other"),
        ("except ValueError", "except KeyError"),
        # The same instructions, of which others are tried.
        (
            """            page += 1
        except ValueError:
            return page in {"a", "b", "c"}
""",
            """        except ValueError:
            return page in {"a", "b", "c"}
        else:
            page += 1
""",
        ),
        ('"c"}', '"d"}'),
        ("heappush as push", "heappop as push"),
        ("far=8", "far=9"),
        ("one + 9", "one + 10"),
        ("return 10\n", "return 20\n"),
        ("return 11\n", "return 20\n"),
        ("return 12\n", "return 20\n"),
        ("return 13\n", "return 20\n"),
        ("return 14\n", "return 20\n"),
        ("@staticmethod", "@classmethod"),
    ],
)
def test_other_code_has_another_version(was: str, now: str) -> None:
    assert SOURCE.count(was) == 1
    assert of_source(SOURCE.replace(was, now)) != of_source(SOURCE)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("class Mine", "# It is mine.\n\n\nclass Mine"),
        ("UNUSED = 1", "UNUSED = 2\nalso = 1\ntouch = 2"),
        ("class Mine(Base):", 'class Mine(Base):\n    "It is mine."'),
    ],
)
def test_what_decides_nothing_is_not_in_the_version(was: str, now: str) -> None:
    assert of_source(SOURCE.replace(was, now)) == of_source(SOURCE)


def test_what_names_itself_has_a_version() -> None:
    looped: list[Any] = []
    looped.append(looped)

    class Loop(ts.Replacement):
        loop = looped

        def touch(self, page: int, write: bool) -> None:
            Loop.evict(self)

    assert _policies.version(Loop)


def made(of: int) -> type[ts.Replacement]:
    """Return a class of its own, whose code has a number."""

    class Numbered(ts.Replacement):
        number = of

        def __init__(self, capacity: int, seed: int) -> None:
            self.pages: dict[int, bool] = {}

        def touch(self, page: int, write: bool) -> None:
            self.pages[page] = write

        def evict(self) -> int:
            return self.pages.popitem()[0]

    return Numbered


def test_a_name_is_of_one_version() -> None:
    name = "numbered-as"
    trace = ts.open([4096 * page for page in range(10)] * 2)
    _policies.register_as(name, made(1))
    found = ts.pages(trace, dram="5p", replacement=name, memory="none")
    assert found.to_dict()["runs"][0]["settings"]["replacement"] == name
    # The same code again, as another task brings it.
    _policies.register_as(name, made(1))
    with pytest.raises(ts.UsageError, match=f"`{name}`.*another `name`, or restart the workers"):
        _policies.register_as(name, made(2))
    with pytest.raises(ts.UsageError, match="`lru`"):
        _policies.register_as("lru", made(1))
    with pytest.raises(ts.UsageError, match="no name"):
        _policies.register_as("A name", made(1))


def test_a_class_that_is_changed_keeps_its_name() -> None:
    policy: Any = made(1)
    name = _policies.named(policy)
    before = _policies.version(policy)
    policy.number = 2
    assert _policies.named(policy) == name
    assert _policies.version(policy) != before
    # It has its new version under its name.
    _policies.register_as(name, made(2))
    policy.number = 3
    _policies.register_as(name, policy)
    with pytest.raises(ts.UsageError, match=name):
        _policies.register_as(name, made(2))
