"""Typed scalar functions kept as data: read from text or from Python source, typed, shown, and written as instructions of a contract."""

from tilecheck.scalar.function import Function, function_from_json
from tilecheck.scalar.nodes import Node
from tilecheck.scalar.show import show
from tilecheck.scalar.types import SCALAR_TYPES

__all__ = ["SCALAR_TYPES", "Function", "Node", "function_from_json", "show"]
