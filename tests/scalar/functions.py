"""Random typed scalar functions, by Hypothesis and by a seed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from hypothesis import strategies as st

from tests.scalar.calls import arity
from tilecheck.contracts.ewise import COMPOSITION
from tilecheck.scalar import SCALAR_TYPES, Node
from tilecheck.scalar.types import BITS, BOOL, FLOATS, float_bits

APPROXIMATE = frozenset({"exp", "exp2", "log", "log2", "tanh", "rsqrt"})
SIGNATURES = (
    *((one.op, one.types, one.result) for one in COMPOSITION.instructions),
    *((one.op, (one.type,) * arity(one), one.type) for one in COMPOSITION.definitions),
)
EXACT = tuple(one for one in SIGNATURES if one[0] not in APPROXIMATE)
SMALL = (0, 1, 2, 3, 5, 7, 8, 31, 63, 100)


class Maker:
    """Makes typed nodes with choices that `pick` makes."""

    def __init__(self, pick, signatures: Iterable[tuple[str, tuple[str, ...], str]]) -> None:
        self.pick = pick
        self.by_result: dict[str, list[tuple[str, tuple[str, ...], str]]] = {}
        for one in signatures:
            self.by_result.setdefault(one[2], []).append(one)
        self.bindings = 0

    def expression(self, type_: str, names: Sequence[Node], depth: int) -> Node:
        own = [node for node in names if node.type == type_]
        kind = self.pick(("leaf", "operation", "operation", "operation", "let")) if depth else "leaf"
        if kind == "let":
            return self.binding(type_, names, depth)
        if kind == "operation" and type_ in self.by_result:
            op, types, result = self.pick(self.by_result[type_])
            return Node(op, result, tuple(self.expression(one, names, depth - 1) for one in types))
        return self.pick(own) if own and self.pick((True, True, False)) else self.number(type_)

    def binding(self, type_: str, names: Sequence[Node], depth: int) -> Node:
        self.bindings += 1
        name = f"v{self.bindings}"
        value = self.expression(self.pick((*SCALAR_TYPES, BOOL)), names, depth - 1)
        body = self.expression(type_, [*names, Node("name", value.type, name=name)], depth - 1)
        return Node("let", type_, (value, body), name)

    def number(self, type_: str) -> Node:
        if type_ == BOOL:
            return Node("number", BOOL, bits=self.pick((0, 1)))
        value = self.pick((*SMALL, *(-one for one in SMALL)))
        if type_ in FLOATS:
            bits = float_bits(type_, value / self.pick((1, 2, 3)))
            assert bits is not None
            return Node("number", type_, bits=bits)
        return Node("number", type_, bits=value % (1 << BITS[type_]))

    def function(self, depth: int = 4) -> tuple[list[list[str]], str, Node]:
        """(parameters, result, body)."""
        params = [[name, self.pick(SCALAR_TYPES)] for name in self.pick(("x", "xy", "xyz"))]
        result = self.pick(SCALAR_TYPES)
        return params, result, self.expression(result, [Node("parameter", t, name=n) for n, t in params], depth)


def functions(signatures=SIGNATURES, depth: int = 4) -> st.SearchStrategy[tuple[list[list[str]], str, Node]]:
    """A Hypothesis strategy of functions."""

    @st.composite
    def make(draw):
        return Maker(lambda options: draw(st.sampled_from(options)), signatures).function(depth)

    return make()


def seeded(seed: int, signatures=SIGNATURES, depth: int = 4) -> tuple[list[list[str]], str, Node]:
    """The function of a seed."""
    return Maker(random.Random(seed).choice, signatures).function(depth)
