"""Digests of what the code of a class is."""

from __future__ import annotations

import dis
import hashlib
from collections.abc import Iterator
from functools import cached_property, partial, partialmethod
from types import CodeType, FunctionType, ModuleType
from typing import Any

#: What of a class decides nothing, or is another text in another process for the same source.
_ASIDE = {
    "__annotations__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__qualname__",
    "__static_attributes__",
    "__weakref__",
}
_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes, range)


def digest(cls: type, above: type) -> str:
    """Return the digest of a class and of its bases below `above`.

    It depends on the code of functions, their defaults and closures, the values of attributes, and
    the functions, classes and values of the same module that the code names; not on lines and files.
    Processes of one version of Python make the same of the same source.
    """
    told = _Told(above)
    bases = [told.members(base) for base in cls.__mro__ if base not in (above, object)]
    return hashlib.sha256(repr(bases).encode()).hexdigest()[:32]


class _Told:
    """Says what things are, as nested tuples of texts; each function and class once."""

    def __init__(self, above: type) -> None:
        self._above = above
        # The functions and classes that were told, by their identity, with their numbers.
        self._seen: dict[int, int] = {}
        # Containers around the one that is told.
        self._around: list[int] = []

    def members(self, cls: type) -> object:
        """Say what a class is made of."""
        if id(cls) in self._seen:
            return self._seen[id(cls)]
        self._seen[id(cls)] = len(self._seen)
        names = sorted(vars(cls).keys() - _ASIDE)
        return [(name, self.value(vars(cls)[name], cls.__module__)) for name in names]

    def value(self, value: Any, module: str) -> object:
        """Say what a value is that a module has."""
        kind = type(value).__name__
        if isinstance(value, _PLAIN):
            return (kind, repr(value))
        if isinstance(value, CodeType):
            return (kind, self._code(value))
        if isinstance(value, ModuleType):
            return (kind, value.__name__)
        if isinstance(value, (tuple, list, set, frozenset, dict)):
            return (kind, self._container(value, module))
        if isinstance(value, type):
            same = value.__module__ == module and value is not self._above
            return (kind, self.members(value) if same else _name(value))
        if isinstance(value, FunctionType):
            return (kind, self._function(value))
        if isinstance(value, property):
            return (kind, [self.value(one, module) for one in (value.fget, value.fset, value.fdel)])
        if isinstance(value, cached_property):
            return (kind, self.value(value.func, module))
        if isinstance(value, (partial, partialmethod)):
            parts = (value.func, value.args, value.keywords)
            return (kind, [self.value(part, module) for part in parts])
        if hasattr(value, "__wrapped__"):
            return (kind, self.value(value.__wrapped__, module))
        if hasattr(value, "tobytes") and hasattr(value, "dtype") and not value.dtype.hasobject:
            content = hashlib.sha256(value.tobytes()).hexdigest()
            return (kind, str(value.dtype), str(value.shape), content)
        if hasattr(value, "__name__"):
            return (kind, _name(value))
        return (kind, self.value(type(value), module))

    def _container(self, value: Any, module: str) -> object:
        if id(value) in self._around:
            return "itself"
        self._around.append(id(value))
        items = value.items() if isinstance(value, dict) else value
        told = [self.value(item, module) for item in items]
        self._around.pop()
        # The order of a set is another one in each process.
        return sorted(told, key=repr) if isinstance(value, (set, frozenset)) else told

    def _function(self, function: FunctionType) -> object:
        if id(function) in self._seen:
            return self._seen[id(function)]
        self._seen[id(function)] = len(self._seen)
        module = function.__module__
        named = ((name, function.__globals__.get(name, ...)) for name in sorted(set(_named(function))))
        return (
            self._code(function.__code__),
            self.value(function.__defaults__, module),
            self.value(function.__kwdefaults__, module),
            [self._cell(cell, module) for cell in function.__closure__ or ()],
            [(name, self._of_module(value, module)) for name, value in named],
        )

    def _of_module(self, value: Any, module: str) -> object:
        """Say what a global is; only the name of a function of another module."""
        if isinstance(value, FunctionType) and value.__module__ != module:
            return _name(value)
        return self.value(value, module)

    def _cell(self, cell: Any, module: str) -> object:
        try:
            return self.value(cell.cell_contents, module)
        except ValueError:
            return "empty"

    def _code(self, code: CodeType) -> object:
        arguments = code.co_argcount + code.co_kwonlyargcount
        return (
            code.co_code.hex(),
            # Where exceptions go, from Python 3.11 on.
            getattr(code, "co_exceptiontable", b"").hex(),
            self.value(code.co_consts, ""),
            code.co_names,
            code.co_varnames[:arguments],
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
        )


def _named(function: FunctionType) -> Iterator[str]:
    """Yield the names of globals in a function and in those within it."""
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_GLOBAL":
                yield instruction.argval


def _name(of: Any) -> str:
    return f"{getattr(of, '__module__', None)}.{getattr(of, '__qualname__', of.__name__)}"
