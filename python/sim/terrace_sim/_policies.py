"""Replacement policies of your own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from threading import RLock

from . import _native
from ._code import digest
from ._native import UsageError

#: The classes that are registered, with their versions then, by name.
_REGISTERED: dict[str, tuple[type[Replacement], str]] = {}
_LOCK = RLock()


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


def version(policy: type[Replacement]) -> str:
    """Return a digest of the code of a policy: what tells its decisions from those of other code.

    It has the functions and attributes of the class and of its bases, and what of their own modules
    they name. It does not have what other modules do, such as NumPy, nor objects of other classes
    than Python's plain ones and arrays: a class that depends on these has an attribute `version`,
    which is changed with them.
    """
    return digest(policy, Replacement)


def named(policy: type[Replacement]) -> str:
    """Return the name of a policy, which is registered from then on."""
    of = version(policy)
    with _LOCK:
        for name, (registered, _) in _REGISTERED.items():
            if registered is policy:
                _register(name, policy, of)
                return name
        given = policy.__dict__.get("name")
        name = given or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", policy.__name__).lower()
        name = re.sub(r"[^a-z0-9]+", "-", name).strip("-") if given is None else name
        if given is not None and not isinstance(given, str):
            raise UsageError(f"the `name` of the class {policy.__name__} is a text, not {given!r}")
        if given is not None and _REGISTERED.get(name, (None, ""))[1] == of:
            # A cell of a notebook that is run again.
            _register(name, policy, of)
            return name
        taken, number = name, 1
        # A notebook makes the class of a cell anew each time, and `Lru` is the first that people
        # write.
        while taken in _REGISTERED or given is None and taken in _native.policies():
            number += 1
            taken = f"{name}-{number}"
        _register(taken, policy, of)
        return taken


def register_as(name: str, policy: type[Replacement]) -> None:
    """Register a policy under this name, unless one of the same version has it already.

    Raises:
        UsageError: another policy has the name.
    """
    of = version(policy)
    with _LOCK:
        theirs, was = _REGISTERED.get(name, (None, ""))
        if theirs is policy or name not in _native.policies():
            _register(name, policy, of)
        elif of != was:
            raise UsageError(
                f"another policy has the name `{name}` in this process; give the class "
                f"{policy.__name__} another `name`, or restart the workers"
            )


def _register(name: str, policy: type[Replacement], of: str) -> None:
    """Register a policy, or what a registered class was changed to since."""
    described = str(policy.__doc__ or "").strip()
    summary = described.splitlines()[0] if described else "a policy of Python"
    if name in _REGISTERED:
        _native.renew(name, of)
        _REGISTERED[name] = (policy, of)
        return
    _REGISTERED[name] = (policy, of)
    try:
        _native.register(name, summary, of, partial(_made, name))
    except UsageError as error:
        del _REGISTERED[name]
        raise UsageError(f"{policy.__name__}: {error}") from None
    except BaseException:
        del _REGISTERED[name]
        raise


def _made(name: str, capacity: int, seed: int) -> Replacement:
    """Make an object of the class that has a name now."""
    return _REGISTERED[name][0](capacity, seed)
