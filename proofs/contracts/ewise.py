"""Claims about scalar compositions, and theorems about their order and their table."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tilecheck import S, Tensor, Theorem, TileLayout, axis, claim, eq, ewise, le, lt, ne, theorem
from tilecheck.call import Call, Launch
from tilecheck.scalar import Function
from tilecheck.scalar.compose import written
from tilecheck.scalar.types import PTX
from tilecheck.spec import Composition, Contract, data, find_contract
from tilecheck.spec.contract import listed
from tilecheck.symbolic import terms

WARP, LANE = axis("warpid"), axis("laneid")
SILU = Function((("x", "float32"), ("scale", "float32"), ("bias", "float32")), "float32", "let y = x / (1 + exp(-x)) in y * scale + bias")
DOUBLE = Function((("x", "float32"),), "float32", "x + x")


def tile(name: str, dtype: str = "float32", tensor: str | None = None) -> Tensor:
    """Four elements for each of 64 threads."""
    layout = TileLayout(S[(2, 32, 4) : (1 @ WARP, 1 @ LANE, 1)])
    return Tensor(name, (2, 32, 4), dtype, space="register", layout=layout, tensor=tensor)


def row(name: str = "R") -> Tensor:
    """Eight registers of one thread."""
    return Tensor(name, (8,), "float32", space="register", tensor="R")


@claim
def silu_scale_and_bias() -> Call:
    r = tile("R", tensor="R")
    return ewise(SILU, r, r, 2.0, 1.0, scope="cta", launch=Launch((64,)))


@claim
def a_bias_for_every_element_of_a_row() -> Call:
    bias = Tensor("B", (2, 32, 1), "float32", space="register", layout=TileLayout(S[(2, 32, 1) : (1 @ WARP, 1 @ LANE, 1)]))
    return ewise(SILU, tile("D"), tile("X"), 2.0, bias.broadcast(2, 32, 4), scope="cta", launch=Launch((64,)))


@claim(refuted="bias.shape")
def a_bias_without_a_broadcast() -> Call:
    bias = Tensor("B", (2, 32, 1), "float32", space="register", layout=TileLayout(S[(2, 32, 1) : (1 @ WARP, 1 @ LANE, 1)]))
    return ewise(SILU, tile("D"), tile("X"), 2.0, bias, scope="cta", launch=Launch((64,)))


@claim(refuted="x.type")
def integers_for_floats() -> Call:
    return ewise(DOUBLE, tile("D"), tile("X", "int32"), scope="cta", launch=Launch((64,)))


@claim(refuted="x.storage")
def halves_for_floats() -> Call:
    return ewise(DOUBLE, tile("D"), tile("X", "float16"), scope="cta", launch=Launch((64,)))


@claim(refuted="x.storage")
def shared_memory() -> Call:
    return ewise(DOUBLE, Tensor("D", (4,), "float32", space="register"), Tensor("X", (4,), "float32", space="shared"))


@claim(refuted="x.owner")
def an_input_of_the_other_warp() -> Call:
    layout = TileLayout(S[(2, 32, 4) : (-1 @ WARP, 1 @ LANE, 1)] + 1 @ WARP)
    other = Tensor("X", (2, 32, 4), "float32", space="register", layout=layout)
    return ewise(DOUBLE, tile("D"), other, scope="cta", launch=Launch((64,)))


@claim(refuted="operands")
def an_exponential_that_ptx_does_not_have() -> Call:
    return ewise(
        Function((("x", "float64"),), "float64", "exp(x)"), tile("D", "float64"), tile("X", "float64"), scope="cta", launch=Launch((64,))
    )


@claim(hazard="alias")
def one_place_up() -> Call:
    return ewise(DOUBLE, row()[1:8], row()[0:7])


@claim
def one_place_down_and_in_place() -> Iterator[Call]:
    yield ewise(DOUBLE, row()[0:7], row()[1:8])
    yield ewise(DOUBLE, row()[0:7], row()[0:7])


@theorem
def nothing_is_overwritten_before_it_is_read_at_or_below_the_source(t: Theorem) -> None:
    """In the order of elements: element i writes slot d + i, a later one j reads slot s + j."""
    d, s, i, j = (t.symbol(name, min=0, max=1 << 20) for name in ("d", "s", "i", "j"))
    t.given(lt(i, j))
    t.given(le(d, s))
    t.show(ne(terms.add(d, i), terms.add(s, j)), "never")


@theorem
def what_is_written_above_the_source_is_read_later(t: Theorem) -> None:
    """Element i writes the slot that element i + d - s reads, which is there if the distance is less than the count."""
    d, s, i, count = (t.symbol(name, min=0, max=1 << 20) for name in ("d", "s", "i", "count"))
    later = terms.add(i, terms.sub(d, s))
    t.given(lt(s, d))
    t.given(lt(later, count))
    t.show(lt(i, later), "a later element")
    t.show(eq(terms.add(d, i), terms.add(s, later)), "the same slot")


def table() -> tuple[Contract, Composition]:
    """The contract without a function, and what functions are made of."""
    found = find_contract("ewise")
    assert isinstance(found, Contract)
    assert found.scalar is not None
    return found, found.scalar


@theorem
def the_table_has_each_operation_once_and_survives_json(t: Theorem) -> None:
    contract, composition = table()
    keys = [(one.op, one.types, one.result) for one in composition.instructions]
    t.holds(len(set(keys)) == len(keys), "instructions")
    names = [(one.op, one.type) for one in composition.definitions]
    t.holds(len(set(names)) == len(names), "definitions")
    t.holds(not {(op, result) for op, _, result in keys} & set(names), "no definition of an instruction")
    plain = data(contract)
    t.holds(json.loads(json.dumps(plain)) == listed(plain), "JSON")


@theorem
def every_statement_ends_in_the_result_and_reads_every_argument(t: Theorem) -> None:
    _, composition = table()
    for one in composition.instructions:
        text = " ".join(one.statements)
        arguments = [f"${name}" for name, _ in zip("abc", one.types, strict=False)]
        label = f"{one.op} of {', '.join(one.types)} to {one.result}"
        t.holds(" $d, " in one.statements[-1] and all(name in text for name in arguments), label)


@theorem
def a_cast_to_every_type_and_back_has_ptx(t: Theorem) -> None:
    _, composition = table()
    for type_ in PTX:
        for other in PTX:
            found = written(composition, Function((("x", type_),), other, f"{other}(x)"))
            t.holds(found.fault is None, f"{type_} to {other}")
