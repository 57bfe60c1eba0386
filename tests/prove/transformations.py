"""Transformations of a call document that must change neither its status nor its failing clauses.

Each takes a document and a random source, and returns another document that means the same, or None where it does not apply.
Each says in its docstring why it means the same.
"""

from __future__ import annotations

import ast
import copy
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tilecheck.call import INDEX_DTYPES, Call
from tilecheck.document import read_call
from tilecheck.layout.dtypes import dtype_bits
from tilecheck.layout.notation import parse_layout
from tilecheck.layout.span import limits, span
from tilecheck.layout.tile import Iter, Layout, TileLayout, base_tile, swizzles, with_tile
from tilecheck.layout.view import View
from tilecheck.scopes import group_kinds, hardware_terms
from tilecheck.spec import Contract, find_contract
from tilecheck.spec.limits import shared_limit
from tilecheck.spec.tmem import COLUMNS
from tilecheck.symbolic.bounds import all_bounds
from tilecheck.symbolic.terms import Expr, replace

Document = dict[str, Any]
Transformation = Callable[[Document, random.Random], Document | None]
EVERY: dict[str, Transformation] = {}
MEMORY = ("global", "shared", "local")


def transformation(function: Transformation) -> Transformation:
    EVERY[function.__name__] = function
    return function


# --- pieces ----------------------------------------------------------------------------------------------------------


def views(document: Document) -> list[Document]:
    return [operand for operand in document["operands"] if "layout" in operand]


def static(operand: Document) -> bool:
    """No symbol in its declaration."""
    tile = base_tile(parse_layout(operand["layout"]))
    numbers = [*(n for one in (*tile.shard, *tile.replica) for n in (one.extent, one.stride)), *(value for _, value in tile.offset)]
    return all(isinstance(n, int) for n in (*operand["shape"], *numbers))


def alone(document: Document, operand: Document) -> bool:
    """No other operand is in its allocation."""
    return operand.get("tensor") is None or sum(one.get("tensor") == operand["tensor"] for one in views(document)) == 1


def rebuilt(
    layout: Layout, *, shard: list[Iter] | None = None, replica: list[Iter] | None = None, offset: Mapping[str, Any] | None = None
) -> str:
    tile = base_tile(layout)
    made = TileLayout(
        tile.shard if shard is None else shard,
        tile.replica if replica is None else replica,
        dict(tile.offset) if offset is None else offset,
    )
    return str(with_tile(layout, made))


def prepend(operand: Document, *steps: Document) -> None:
    operand["view"] = [*steps, *(operand.get("view") or [])]


def append(operand: Document, *steps: Document) -> None:
    operand["view"] = [*(operand.get("view") or []), *steps]


WORDS = ("mbar", "format")
"""Parameters whose text is a word."""


def nested(container: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of every entry of parameters, in lists of lists too."""
    for key in container if isinstance(container, dict) else range(len(container)):
        if isinstance(container[key], list):
            yield from nested(container[key])
        elif key not in WORDS:
            yield container, key


def expressions(document: Document) -> Iterator[tuple[Any, Any]]:
    """(container, key) of every text that is an expression."""
    places: list[tuple[Any, Any]] = [(document, "guard"), *nested(document.get("parameters") or {})]
    places += [(document.get("assume") or [], k) for k in range(len(document.get("assume") or []))]
    for operand in document["operands"]:
        places += [
            (operand, "layout"),
            (operand, "value"),
            (operand, "size_bytes"),
            *((operand.get("shape", []), k) for k in range(len(operand.get("shape", [])))),
        ]
        for step in operand.get("view") or []:
            for field in ("begin", "shape"):
                places += [(step.get(field, []), k) for k in range(len(step.get(field, [])))]
            places += [(step.get("sizes") or {}, name) for name in step.get("sizes") or {}]
    for container, key in places:
        value = container[key] if isinstance(container, list) else container.get(key)
        if isinstance(value, str):
            yield container, key


def period_bytes(operand: Document) -> int:
    """Bytes after which every swizzle of the layout repeats; a multiple of 256, so of every alignment here."""
    layout, bits = parse_layout(operand["layout"]), dtype_bits(operand["dtype"])
    top = max((one.per_element + one.atom_len + one.swizzle_len for one in swizzles(layout)), default=0)
    return max(256, (1 << top) * bits // 8)


def room(document: Document, operand: Document, more: int) -> bool:
    """Whether a shared allocation may grow by so many bytes without a change of the `backing` clause."""
    if operand["space"] != "shared":
        return True
    bits = dtype_bits(operand["dtype"])
    needed = -(-int(span(parse_layout(operand["layout"]))) * bits // 8)
    limit = shared_limit(document.get("arch"))
    size = max(needed, operand.get("size_bytes") or 0)
    return (size <= limit) == (size + more <= limit)


def shiftable(document: Document, operand: Document) -> bool:
    contract = contract_of(document)
    if contract is not None and contract.box is not None:  # the address of a tensor map is a field of it
        return False
    if operand["space"] == "tmem":  # 512 columns and no more: see columns_shifted
        return False
    return static(operand) and alone(document, operand) and limits(parse_layout(operand["layout"]))[0] >= 0  # type: ignore[operator]


def contract_of(document: Document) -> Contract | None:
    found = find_contract(document["opcode"])
    return found if isinstance(found, Contract) else None


# --- symbols, text, facts --------------------------------------------------------------------------------------------


@transformation
def symbols_renamed(document: Document, rng: random.Random) -> Document | None:
    """Names mean nothing; the order of declaration stays."""
    if not document["symbols"]:
        return None
    new = {
        s["name"]: f"{rng.choice(('zeta', 'x', '_q', 'Tile', 'warpid_'))}{k}_{rng.randint(0, 99)}"
        for k, s in enumerate(document["symbols"])
    }
    for declared in document["symbols"]:
        declared["name"] = new[declared["name"]]
    words = re.compile(r"\b(" + "|".join(map(re.escape, new)) + r")\b")
    for container, key in list(expressions(document)):
        container[key] = words.sub(lambda match: new[match[0]], container[key])
    return document


@transformation
def operands_renamed(document: Document, rng: random.Random) -> Document | None:
    """Names of operands mean nothing; `tensor` keeps saying what is shared."""
    for k, operand in enumerate(document["operands"]):
        operand["name"] = f"operand {rng.randint(0, 9)}" if rng.random() < 0.5 else f"O{k}"
    return document


@transformation
def read_and_written_again(document: Document, rng: random.Random) -> Document | None:
    """The JSON form of a call is lossless."""
    call = read_call(document)
    again = json.loads(json.dumps(call.to_json()))
    assert read_call(again) == call
    return again


@transformation
def facts_restated(document: Document, rng: random.Random) -> Document | None:
    """Bounds and multiples of symbols are facts as assumptions are; so are weaker ones; the order of facts means nothing."""
    if not document["symbols"]:
        return None
    facts = list(document.get("assume") or [])
    for declared in document["symbols"]:
        name, low, high = declared["name"], declared.get("min"), declared.get("max")
        if declared.get("varies", "grid") != "grid":
            continue
        if low is not None and rng.random() < 0.5:
            facts.append(f"{name} >= {low}")
            del declared["min"]
        if high is not None and rng.random() < 0.5:
            facts.append(f"{name} <= {high}")
            del declared["max"]
        if declared.get("multiple_of", 1) != 1 and rng.random() < 0.5:
            facts.append(f"{name} % {declared.pop('multiple_of')} == 0")
        if high is not None:
            facts.append(f"not ({name} > {high + rng.randint(0, 3)})")
    rng.shuffle(facts)
    document["assume"] = facts
    return document


@transformation
def facts_moved_between_guard_and_assumptions(document: Document, rng: random.Random) -> Document | None:
    """An assumption about coordinates is an activity condition as the guard is, a uniform part of the guard is a fact as an assumption is."""
    guard, assume = document.get("guard"), list(document.get("assume") or [])
    if (guard is None and not assume) or any(s.get("varies", "grid") != "grid" for s in document["symbols"]):
        return None
    document["guard"] = " and ".join(f"({fact})" for fact in assume) or "true"
    document["assume"] = [] if guard is None else [str(guard)]
    return document


class _Guard(ast.NodeTransformer):
    """Comparisons mirrored or negated twice, parts of conjunctions exchanged, De Morgan."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) > 1:
            return node
        (operator,), (right,), left = node.ops, node.comparators, node.left
        mirror = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}
        opposite = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
        if self.rng.random() < 0.5:
            return ast.Compare(right, [mirror[type(operator)]()], [left])
        return ast.UnaryOp(ast.Not(), ast.Compare(left, [opposite[type(operator)]()], [right]))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        parts = list(node.values)
        self.rng.shuffle(parts)
        if self.rng.random() < 0.5:
            return ast.BoolOp(node.op, parts)
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return ast.UnaryOp(ast.Not(), ast.BoolOp(other, [ast.UnaryOp(ast.Not(), part) for part in parts]))


TRUE_EVERYWHERE = (
    "0 <= laneid",
    "not (laneid > 31)",
    "warpid >= 0 and tx >= 0",
    "laneid // 32 == 0",
    "(wid_in_wg < 4 or laneid < 0)",
    "cbx >= 0",
)


@transformation
def guard_rewritten(document: Document, rng: random.Random) -> Document | None:
    """The same condition in other words, with conditions that hold for every thread added."""
    text = document.get("guard")
    if text is not None and not isinstance(text, str):
        return None
    if text is None:
        document["guard"] = rng.choice(TRUE_EVERYWHERE)
        return document
    if "//" in text or "%" in text or "<<" in text or ">>" in text:  # order matters to what is reached
        document["guard"] = f"not (not ({text}))"
        return document
    rewritten = ast.unparse(ast.fix_missing_locations(_Guard(rng).visit(ast.parse(text, mode="eval").body)))
    document["guard"] = rng.choice(
        (rewritten, f"({rewritten}) and ({rewritten})", f"{rng.choice(TRUE_EVERYWHERE)} and ({rewritten})", f"not (not ({rewritten}))")
    )
    return document


@transformation
def guard_written_where_there_was_none(document: Document, rng: random.Random) -> Document | None:
    """A guard that every thread satisfies is no guard."""
    if document.get("guard") is not None:
        return None
    document["guard"] = rng.choice(("true", *TRUE_EVERYWHERE))
    return document


def nothing_wraps(call: Call, index_dtype: str) -> bool:
    """Whether interval arithmetic shows that no index expression and no offset leaves the index type."""
    low, high = INDEX_DTYPES[index_dtype]
    if any(s.min is None or s.max is None or s.min < low or s.max > high for s in call.symbols):
        return False
    ranges = {s.name: (s.min or 0, s.max or 0) for s in call.symbols} | {
        "@cta": (0, 15),
        "warpid": (0, 31),
        "laneid": (0, 31),
        "@elected": (0, 31),
    }
    for operand in call.operands:
        if not isinstance(operand, View):
            return False
        largest = 1
        for term in operand.terms():
            grounded = replace(term, hardware_terms(call.launch))
            known = all_bounds(grounded, ranges).values() if isinstance(grounded, Expr) else [(grounded, grounded)]
            if any(first < low or last > high for first, last in known):
                return False
            largest = max(largest, *(max(abs(first), abs(last)) for first, last in known))
        if (2 * largest) ** 2 * 128 > 1 << 31:  # every offset is a sum of at most 128 products of a coordinate and a stride
            return False
        if low == 0 and any(isinstance(t, int) and t < 0 for t in operand.terms()):
            return False
    return True


@transformation
def index_dtype_changed_where_nothing_wraps(document: Document, rng: random.Random) -> Document | None:
    """What fits both index types is the same in both."""
    old = document.get("index_dtype") or "int64"
    call = read_call(document)
    others = [name for name in INDEX_DTYPES if name != old and nothing_wraps(call, name)]
    if not others or not nothing_wraps(call, old):
        return None
    document["index_dtype"] = rng.choice(others)
    return document


# --- layouts and steps -----------------------------------------------------------------------------------------------


@transformation
def repeats_permuted(document: Document, rng: random.Random) -> Document | None:
    """Repeat axes are the same for every operand and in no order that a clause knows."""
    contract, call = contract_of(document), read_call(document)
    if contract is None or len(views(document)) != len(document["operands"]) or len(call.operands) != len(contract.operands):
        return None
    if contract.box is not None or contract.loops:  # the steps of a box are written for each repeat axis, the loops of a product have names
        return None
    front, back = len(group_kinds(call.scope, call.launch, contract.collective)), len(contract.atom)
    ranks = {len(view.shape) for view in call.operands if isinstance(view, View)}
    if len(ranks) != 1 or (rank := ranks.pop()) < front + back + 2:
        return None
    middle = list(range(front, rank - back))
    shuffled = middle[:]
    while shuffled == middle:
        rng.shuffle(shuffled)
    for operand in document["operands"]:
        append(operand, {"op": "permute", "order": [*range(front), *shuffled, *range(rank - back, rank)]})
    return document


@transformation
def offset_shifted_by_periods(document: Document, rng: random.Random) -> Document | None:
    """All offsets move by a multiple of the swizzle period and of every alignment; the allocation grows by as much."""
    eligible = [operand for operand in views(document) if shiftable(document, operand)]
    if not eligible:
        return None
    operand = rng.choice(eligible)
    bits, more = dtype_bits(operand["dtype"]), period_bytes(operand) * rng.randint(1, 5)
    if not room(document, operand, more):
        return None
    layout = parse_layout(operand["layout"])
    offset = dict(base_tile(layout).offset)
    offset["m"] = int(offset.get("m", 0)) + more * 8 // bits
    operand["layout"] = rebuilt(layout, offset=offset)
    if operand.get("size_bytes") is not None:
        operand["size_bytes"] += more
    return document


@transformation
def start_shifted_by_periods(document: Document, rng: random.Random) -> Document | None:
    """The tensor is the second slab of a larger one, whose slabs are a multiple of the period and of every alignment apart."""
    eligible = [operand for operand in views(document) if shiftable(document, operand) and operand["shape"]]
    if not eligible:
        return None
    operand = rng.choice(eligible)
    layout, bits, period = parse_layout(operand["layout"]), dtype_bits(operand["dtype"]), period_bytes(operand)
    more = -(-int(span(layout)) * bits // 8 // period) * period + period * rng.randint(1, 2)
    if not room(document, operand, more):
        return None
    operand["layout"] = rebuilt(layout, shard=[Iter(2, more * 8 // bits), *base_tile(layout).shard])
    shape = list(operand["shape"])
    operand["shape"] = [2, *shape]
    prepend(
        operand,
        {"op": "slice", "begin": [1, *(0 for _ in shape)], "extent": [1, *(None for _ in shape)]},
        {"op": "reshape", "shape": shape},
    )
    if operand.get("size_bytes") is not None:
        operand["size_bytes"] += more
    return document


@transformation
def columns_shifted(document: Document, rng: random.Random) -> Document | None:
    """A tensor of tensor memory starts some columns later, where all of it stays inside the 512: no rule names a column alone."""
    eligible: list[tuple[Document, int]] = []
    for operand in views(document):
        if operand["space"] != "tmem" or not static(operand) or not alone(document, operand):
            continue
        tile = base_tile(parse_layout(operand["layout"]))
        moving = [one for one in (*tile.shard, *tile.replica) if one.axis in ("m", "TCol")]
        last = sum((int(one.extent) - 1) * max(int(one.stride), 0) for one in moving) + sum(
            int(value) for axis, value in tile.offset if axis in ("m", "TCol")
        )
        if last + 32 < COLUMNS:  # in elements or in columns, of which there are never more
            eligible.append((operand, (COLUMNS - 1 - last) // 32))
    if not eligible:
        return None
    operand, most = rng.choice(eligible)
    layout = parse_layout(operand["layout"])
    offset = dict(base_tile(layout).offset)
    offset["TCol"] = int(offset.get("TCol", 0)) + 32 * rng.randint(1, most)
    operand["layout"] = rebuilt(layout, offset=offset)
    return document


def solutions(rules: list[tuple[int, int]]) -> tuple[int, int] | None:
    """(modulus, residue) of the numbers that satisfy all congruences, by trying; None where there is none."""
    modulus, residue = 1, 0
    for other, wanted in rules:
        for _ in range(other):
            if residue % other == wanted % other:
                break
            residue += modulus
        else:
            return None
        step = modulus
        while modulus % other:
            modulus += step
        residue %= modulus
    return modulus, residue


@transformation
def base_said_otherwise(document: Document, rng: random.Random) -> Document | None:
    """`align` and `base` together say base = r mod m: said by `base` alone, or by both."""
    changed = False
    for operand in views(document):
        if operand["space"] not in MEMORY or not alone(document, operand):
            continue
        align = operand.get("align") or max(1, dtype_bits(operand["dtype"]) // 8)
        rules = [(align, 0), *([(operand["base"]["mod"], operand["base"]["is"])] if operand.get("base") else [])]
        found = solutions(rules)
        if found is None or found[0] > 1 << 20:
            continue
        operand["base"] = {"mod": found[0], "is": found[1]}
        if rng.random() < 0.7:
            operand["align"] = 1
        changed = True
    return document if changed else None


def _split(one: Iter, rng: random.Random) -> list[Iter]:
    """S[e:s] is S[(a,b):(b*s,s)] for e = a*b."""
    extent = one.extent
    divisors = [d for d in range(2, min(extent, 4096)) if extent % d == 0] if isinstance(extent, int) else []
    if not divisors or not isinstance(one.stride, int):
        return [one]
    inner = rng.choice(divisors)
    return [Iter(int(extent) // inner, inner * one.stride, one.axis), Iter(inner, one.stride, one.axis)]


@transformation
def factors_split(document: Document, rng: random.Random) -> Document | None:
    """A factor is two: S[e:s] = S[(a,b):(b*s,s)]; the shape stays."""
    changed = False
    for operand in views(document):
        layout = parse_layout(operand["layout"])
        tile = base_tile(layout)
        shard, replica = (
            [piece for one in group for piece in (_split(one, rng) if rng.random() < 0.7 else [one])]
            for group in (tile.shard, tile.replica)
        )
        changed |= (len(shard), len(replica)) != (len(tile.shard), len(tile.replica))
        operand["layout"] = rebuilt(layout, shard=shard, replica=replica)
    return document if changed else None


@transformation
def factors_joined(document: Document, rng: random.Random) -> Document | None:
    """Two neighbours are one: S[(a,b):(b*s,s)] = S[a*b:s]."""
    changed = False
    for operand in views(document):
        layout = parse_layout(operand["layout"])
        shard: list[Iter] = []
        for one in base_tile(layout).shard:
            last = shard[-1] if shard else None
            fits = (
                last is not None
                and last.axis == one.axis
                and all(isinstance(n, int) for n in (last.extent, last.stride, one.extent, one.stride))
            )
            if last is not None and fits and last.stride == one.extent * one.stride and last.extent > 1 and one.extent > 1:  # type: ignore[operator]
                shard[-1] = Iter(last.extent * one.extent, one.stride, one.axis)  # type: ignore[operator]
                changed = True
            else:
                shard.append(one)
        operand["layout"] = rebuilt(layout, shard=shard)
    return document if changed else None


@transformation
def axes_split_and_reshaped_back(document: Document, rng: random.Random) -> Document | None:
    """An axis of the tensor is declared as two and joined by a reshape."""
    eligible = [
        (operand, k)
        for operand in views(document)
        for k, e in enumerate(operand["shape"])
        if static(operand) and any(e % d == 0 for d in range(2, e))
    ]
    if not eligible:
        return None
    operand, k = rng.choice(eligible)
    shape = list(operand["shape"])
    inner = rng.choice([d for d in range(2, shape[k]) if shape[k] % d == 0])
    operand["shape"] = [*shape[:k], shape[k] // inner, inner, *shape[k + 1 :]]
    prepend(operand, {"op": "reshape", "shape": shape})
    return document


@transformation
def view_reshaped_and_back(document: Document, rng: random.Random) -> Document | None:
    """The finished view is flattened and given its shape again."""
    call = read_call(document)
    changed = False
    for operand, view in zip(document["operands"], call.operands, strict=True):
        if not isinstance(view, View) or not all(isinstance(e, int) for e in view.shape) or not view.shape:
            continue
        total = 1
        for extent in view.shape:
            total *= extent  # type: ignore[operator]
        append(operand, {"op": "reshape", "shape": rng.choice(([total], [1, total, 1]))}, {"op": "reshape", "shape": list(view.shape)})
        changed = True
    return document if changed else None


@transformation
def unit_axes_added(document: Document, rng: random.Random) -> Document | None:
    """Axes and factors of extent 1, with any stride, change nothing."""
    changed = False
    for operand in views(document):
        if not static(operand):
            continue
        layout, shape = parse_layout(operand["layout"]), list(operand["shape"])
        shard = list(base_tile(layout).shard)
        shard.insert(rng.randint(0, len(shard)), Iter(1, rng.choice((0, 1, 7, -3, 1 << 20)), rng.choice(("m", "m", "laneid", "warpid"))))
        operand["layout"] = rebuilt(layout, shard=shard)
        wider = shape[:]
        wider.insert(rng.randint(0, len(shape)), 1)
        operand["shape"] = wider
        prepend(operand, {"op": "reshape", "shape": shape})
        changed = True
    return document if changed else None


@transformation
def layouts_printed_otherwise(document: Document, rng: random.Random) -> Document | None:
    """Spaces, other spellings of numbers, a zero offset."""

    def number(match: re.Match[str]) -> str:
        value = int(match[0])
        return rng.choice((match[0], match[0], hex(value), f"({value}+0)", f"1*{value}"))

    for operand in views(document):
        text = str(parse_layout(operand["layout"]))
        front, bracket, rest = text.partition("S[")
        rest = re.sub(r"(?<![A-Za-z_0-9@])\d+(?![A-Za-z_])", number, rest)
        rest = re.sub(r"([,:])", lambda match: match[0] + " " * rng.randint(0, 2), rest)
        operand["layout"] = front.replace(",", " , ") + bracket + " " + rest + rng.choice(("", "  ", " + 0"))
    return document


@transformation
def ownership_spelt_otherwise(document: Document, rng: random.Random) -> Document | None:
    """`warpid` and `laneid` are `tx` in a one-dimensional block (32*warpid + laneid), `tid_in_wg` and `wid_in_wg` in one of at most 4 warps.

    The lane of every element lies in 0..31, so that the sum names one warp and one lane.
    """
    call, contract = read_call(document), contract_of(document)
    if call.scope == "thread" or contract is None or len(call.launch.block) > 1:
        return None
    small = call.launch.warps <= 4
    if call.scope == "warp" and call.launch.warps > 1:
        small = False
    changed = False
    for operand in views(document):
        if operand["space"] != "register" or not static(operand):
            continue
        layout = parse_layout(operand["layout"])
        tile = base_tile(layout)
        used = {one.axis for one in tile.shard if one.effective} | {name for name, _ in tile.offset}
        begins = [b for step in operand.get("view") or [] for b in step.get("begin", ())]
        low, high = limits(layout, "laneid")
        if (
            tile.replica
            or not used & {"laneid", "warpid"}
            or used & {"tx", "tid_in_wg", "wid_in_wg", "wgid"}
            or any(isinstance(b, str) for b in begins)
        ):
            continue
        if not 0 <= low <= high <= 31 or any(isinstance(b, int) and b < 0 for b in begins):  # type: ignore[operator]
            continue
        if call.scope in {"warp", "warpgroup"} and call.launch.warps > 1 and not {"laneid", "warpid"} <= used:
            continue  # the other coordinate need not be 0 there
        names = [{"laneid": (1, "tx"), "warpid": (32, "tx")}]
        names += (
            [{"laneid": (1, "tid_in_wg"), "warpid": (32, "tid_in_wg")}, {"laneid": (1, "laneid"), "warpid": (1, "wid_in_wg")}]
            if small
            else []
        )
        axes = rng.choice(names)
        shard = [Iter(one.extent, axes[one.axis][0] * one.stride, axes[one.axis][1]) if one.axis in axes else one for one in tile.shard]  # type: ignore[operator]
        offset: dict[str, int] = {}
        for name, value in tile.offset:
            factor, axis = axes.get(name, (1, name))
            offset[axis] = offset.get(axis, 0) + factor * int(value)  # type: ignore[arg-type]
        operand["layout"] = rebuilt(layout, shard=shard, offset=offset)
        changed = True
    return document if changed else None


def transformed(name: str, document: Mapping[str, Any], rng: random.Random) -> Document | None:
    """A transformed copy, or None where the transformation does not apply."""
    return EVERY[name](copy.deepcopy(dict(document)), rng)
