"""`from tilecheck import emit` is a function, and `tilecheck.emit` a package of that name: such a package can be called."""

from __future__ import annotations

import sys
from types import ModuleType


class CallablePackage(ModuleType):
    """A package that, called, calls its function of the same name."""

    def __call__(self, *args: object, **keywords: object) -> object:
        """The package's function of its own name."""
        function = getattr(self, self.__name__.rsplit(".", 1)[-1])
        return function(*args, **keywords)


def make_callable(name: str) -> None:
    """Makes the imported package `name` callable."""
    sys.modules[name].__class__ = CallablePackage
