"""Replacement policies of your own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from . import _native
from ._native import UsageError

#: The names of the classes that are registered.
_NAMES: dict[type[Replacement], str] = {}


class Replacement:
    """A policy that decides which pages stay in DRAM.

    A simulation makes an object for each machine. Pages are numbered from 0 in the order in which
    they are first touched. The policy hears of touches in batches, always of all of them before it
    has to decide. A page is in DRAM from its first touch until :meth:`evict` returns it.

    >>> class Mru(Replacement):
    ...     "The page that was touched last leaves."
    ...
    ...     def __init__(self, capacity, seed):
    ...         self.pages = {}
    ...
    ...     def touch(self, page, write):
    ...         self.pages.pop(page, None)
    ...         self.pages[page] = write
    ...
    ...     def evict(self):
    ...         return self.pages.popitem()[0]
    ...
    >>> import terrace_sim as ts
    >>> loop = ts.open([4096 * page for page in range(10)] * 10)
    >>> found = ts.pages(loop, dram="8p", replacement=["lru", Mru], memory="pcm")
    >>> [run["misses"] for run in found.to_dict()["runs"]]
    [100, 30]
    """

    #: What settings and results call the policy; from the name of the class without it.
    name: str

    def __init__(self, capacity: int, seed: int) -> None:
        """Begin with an empty DRAM.

        A policy is made once with `capacity=1` before it is first used, to see whether it can be.

        Args:
            capacity: Pages that DRAM has.
            seed: A number for random choices.
        """

    def touches(self, pages: Iterable[int], writes: Iterable[bool]) -> None:
        """Hear of touches in their order. A faster policy overrides this.

        Args:
            pages: The pages, as a view of unsigned numbers of 32 bits.
            writes: Whether each is written, as a view of booleans.
        """
        for page, write in zip(pages, writes):
            self.touch(page, write)

    def touch(self, page: int, write: bool) -> None:
        """Hear that a page is touched, which is in DRAM now."""
        raise NotImplementedError(f"{type(self).__name__} needs a method `touch(page, write)`")

    def evict(self) -> int:
        """Return the page that leaves DRAM now, and forget it."""
        raise NotImplementedError(f"{type(self).__name__} needs a method `evict()`")

    def fetch(self, page: int) -> None:
        """Hear that a page comes into DRAM before it is touched; it counts as a touch here."""
        self.touch(page, False)

    def remove(self, page: int) -> None:
        """Hear that a page of DRAM was given back by the program, and forget it."""
        raise NotImplementedError(
            f"{type(self).__name__} needs a method `remove(page)`: the program gives memory back"
        )


def named(policy: type[Replacement]) -> str:
    """Return the name of a policy, which is registered from then on."""
    if policy in _NAMES:
        return _NAMES[policy]
    given = policy.__dict__.get("name")
    name = given or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", policy.__name__).lower()
    name = re.sub(r"[^a-z0-9]+", "-", name).strip("-") if given is None else name
    described = str(policy.__doc__ or "").strip()
    summary = described.splitlines()[0] if described else "a policy of Python"
    taken, number = name, 1
    # A notebook makes the class of a cell anew each time, and `Lru` is the first that people write.
    while taken in _NAMES.values() or given is None and taken in _native.policies():
        number += 1
        taken = f"{name}-{number}"
    try:
        _native.register(taken, summary, policy)
    except UsageError as error:
        raise UsageError(f"{policy.__name__}: {error}") from None
    _NAMES[policy] = taken
    return taken
