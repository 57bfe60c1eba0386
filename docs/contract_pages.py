"""The reference page of a family of contracts, as Markdown: everything is read from the contracts' data and the evidence files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod
from typing import Any

from tilecheck.report import scalars
from tilecheck.report.box import box_images
from tilecheck.report.explain import computed_text, fragments, issue_text
from tilecheck.spec import (
    Contract,
    Entry,
    Family,
    Memory,
    Operand,
    Register,
    TensorMemory,
    arch_rank,
    contract_hash,
    find_contract,
    mnemonic_of,
)
from tilecheck.spec.contract import parameter_text
from tilecheck.spec.grammar import holds
from tilecheck.symbolic.terms import Term, evaluate

EXAMPLES = {
    "ld": ("ld.global.v4.b32",),
    "st": ("st.global.v2.b64",),
    "ldmatrix": (
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8",
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32",
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64",
    ),
    "cp.async.bulk.tensor": (
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.multicast::cluster",
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
    ),
    "stmatrix": (
        "stmatrix.sync.aligned.m8n8.x4.shared.b16",
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8",
    ),
    "mov": ("mov.b32",),
    "cvt": ("cvt.rn.f16x2.f32", "cvt.rni.s32.f32", "cvt.rn.satfinite.e4m3x2.f32"),
    "add": ("add.f32", "add.f16x2"),
    "fma": ("fma.rn.f32",),
    "max": ("max.f32",),
    "min": ("min.f32",),
    "mul": ("mul.f32", "mul.wide.u32"),
    "div": ("div.rn.f32",),
    "mma": (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    ),
    "cp.async": ("cp.async.ca.shared.global", "cp.async.cg.shared.global.L2::cache_hint"),
    "cp.async.bulk": (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
        "cp.async.bulk.global.shared::cta.bulk_group",
    ),
    "cp.reduce.async.bulk": (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32",
    ),
}
"""Spellings that a page shows in full; the first legal one of a mnemonic that is not here."""
FEW = 200
"""A mnemonic with no more legal spellings than this is shown with all of them."""
WHO = {"thread": "each thread on its own", "warp": "all 32 lanes of a warp together", "warpgroup": "all 128 lanes of a warpgroup together"}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; pipes in cells are escaped."""
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(text: object) -> str:
    """Inline code."""
    return f"`{text}`"


def codes(values: Iterable[object], joiner: str = " ") -> str:
    """Several pieces of inline code."""
    return joiner.join(code(value) for value in values)


def block(text: str, language: str = "text") -> str:
    """A fenced block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def condition_text(condition: Sequence[Any], *, negated: bool = False) -> str:
    """A condition of a grammar in words."""
    kind, *rest = condition
    if kind == "not":
        return condition_text(rest[0], negated=not negated)
    if kind == "is":
        slot, *values = rest
        written, unwritten = [f".{value}" for value in values if value], "" in values
        if not written:
            return f"{code(slot)} is {'written' if negated else 'left out'}"
        if negated:
            return f"{code(slot)} is {'written and ' if unwritten else ''}not {codes(written, ', ')}"
        return f"{code(slot)} is {'one of ' if len(written) > 1 else ''}{codes(written, ', ')}{' or left out' if unwritten else ''}"
    joiner = " or " if (kind == "or") != negated else " and "
    parts = [condition_text(part, negated=negated) for part in rest]
    nested = [len(part) > 1 and isinstance(part[1], tuple) and part[0] != "not" for part in rest]
    return joiner.join(f"({part})" if inner else part for part, inner in zip(parts, nested, strict=True)) or "always"


def spellings(entry: Entry) -> list[Contract]:
    """The contracts that the page shows in full."""
    found: list[Contract] = []
    for opcode in EXAMPLES.get(entry.grammar.mnemonic, ()):
        contract = find_contract(opcode)
        assert isinstance(contract, Contract), opcode
        found.append(contract)
    return found or [entry.contract(next(entry.grammar.legal()))]


def signature(contract: Contract) -> tuple[object, ...]:
    """What a form asks of its operands, the opcode and the space aside."""
    widths = tuple((operand.bits, operand.align_bytes if isinstance(operand, Memory) else 0) for operand in contract.operands)
    suffixes = tuple(contract.shape_text(operand) for operand in contract.operands) if contract.own_atoms else contract.suffix
    return suffixes, widths, contract.move, contract.loops


def legal(entry: Entry, qualifiers: Mapping[str, str]) -> bool:
    """Whether no exclusion forbids a combination."""
    return not any(holds(rule.when, qualifiers) for rule in entry.grammar.exclusions)


def forms(entry: Entry) -> Iterator[Contract]:
    """Every legal form that differs from others in more than its cache behaviour, order or space: where there are many, around the first example."""
    grammar = entry.grammar
    base = dict(spellings(entry)[0].qualifiers)
    few = list(islice(grammar.legal(), FEW + 1))
    if len(few) <= FEW:
        yield from (entry.contract(qualifiers) for qualifiers in few if qualifiers.get("space") == base.get("space"))
        return

    def read(qualifiers: Mapping[str, str]) -> Contract | None:
        return entry.contract(qualifiers) if legal(entry, qualifiers) else None

    start = read(base)
    assert start is not None
    matters: list[str] = []
    for slot in grammar.slots:
        tried = [read({**base, slot.name: value}) for value in (*slot.values, *([] if slot.required else [""]))]
        if any(one is not None and signature(one) != signature(start) for one in tried):
            matters.append(slot.name)
    choices = [("", *slot.values) if not slot.required else slot.values for slot in grammar.slots if slot.name in matters]
    for values in product(*choices):
        found = read({**base, **dict(zip(matters, values, strict=True))})
        if found is not None:
            yield found


def forms_table(entry: Entry) -> str:
    """One row for every combination of atom, width and alignment: a spelling, the alignment, the containers, the floor."""
    rows: dict[tuple[object, ...], list[Contract]] = {}
    for contract in forms(entry):
        rows.setdefault((signature(contract)[0], signature(contract)[1], contract.also), []).append(contract)
    lines: list[Sequence[object]] = []
    for group in rows.values():
        first = group[0]
        memory = next((o for o in first.operands if isinstance(o, Memory)), None)
        align = "-" if memory is None else first.alignment_text(memory)
        floor = ", ".join((min((one.arch for one in group), key=arch_rank), *first.also))
        others = list(dict.fromkeys(q for one in group[1:] for q in one.qualifiers.values() if q and q not in first.qualifiers.values()))
        also = codes((f".{one}" for one in others), ", ") or "-"
        lines.append((code(first.opcode), also, atom_text(first), width(first.operands[0].bits) if first.operands else "-", align, floor))
    return table(("spelling", "same with", "atom", "element", "rows start at multiples of", "floor"), lines)


def width(bits: int) -> str:
    """`32 bits`, or that any will do."""
    return f"{bits} bits" if bits else "any"


def atom_text(contract: Contract) -> str:
    """The suffix of the views; where operands have their own, that of each."""
    if not contract.own_atoms:
        return contract.atom_text
    return "; ".join(f"{operand.name}: {contract.shape_text(operand)}" for operand in contract.operands)


def coordinates(contract: Contract, operand: Operand | None = None) -> str:
    """`matrix, row, word`."""
    return ", ".join(axis.name for axis in (contract.atom if operand is None else contract.atom_of(operand)))


def operand_rows(contract: Contract) -> Iterator[tuple[str, str, str, str]]:
    """(name, where, elements, what is asked) of each operand."""
    for operand in contract.operands:
        types = (
            codes(operand.dtypes, ", ")
            if operand.dtypes
            else f"any {operand.bits}-bit dtype"
            if operand.bits
            else "any dtype, one width for all operands"
        )
        role = "written" if operand.write else "read"
        if isinstance(operand, Register):
            who = "the executing thread" if operand.lane is None else f"{'lane' if contract.warps == 1 else 'thread'} {code(operand.lane)}"
            asks = f"element ({coordinates(contract, operand)}) is register {code(operand.register)} of {who}"
            asks += "; distinct slots, no replicas" if operand.write else "; any replica may be read"
            if operand.then is not None:
                asks += (
                    f"; read in the first step only of the loops that it lacks, {code(operand.then)} stands in its place in the later ones"
                )
            asks += f"; or a number of type {code(operand.number)}, or an integer expression" if operand.number else ""
            asks += f"; or a view of {codes(operand.paired, ' or ')}, two of which side by side are an element" if operand.paired else ""
            yield code(operand.name), f"registers, {role}", types, asks
            continue
        asks = contract.rows_text(operand)
        if isinstance(operand, TensorMemory):
            yield code(operand.name), f"tensor memory, {role}", types, asks
            continue
        asks += f"; in the CTAs that {code(operand.cta)} names" if operand.cta else ""
        if operand.provider is not None:
            surplus = ", further lanes repeat valid addresses" if operand.surplus == "repeat" else ""
            asks += f"; lane {code(operand.provider)} gives the address of a row{surplus}"
        yield code(operand.name), f"{operand.space} memory, {role}", types, asks


def lane_table(title: str, lane: Term, contract: Contract, axes: Sequence[str]) -> str:
    """The values of a lane expression over the last two of `axes` (outer ones 0)."""
    extents = {axis.name: axis.extent for axis in contract.atom}
    *outer, down, across = axes
    fixed = dict.fromkeys(outer, 0)
    head = (f"{down} \\ {across}", *map(str, range(extents[across])))
    rows = [(f"**{i}**", *(evaluate(lane, {**fixed, down: i, across: j}) for j in range(extents[across]))) for i in range(extents[down])]
    where = f" ({', '.join(f'{name} 0' for name in outer)})" if outer else ""
    return f"{title}{where}:\n\n{table(head, rows)}\n"


def maps(contract: Contract) -> Iterator[str]:
    """The ownership and provider maps as small tables, and where each part of an element goes."""
    if contract.own_atoms:
        yield from (f"{title}:\n\n{block(grid)}" for title, grid in fragments(contract))
    if len(contract.atom) < 2:
        return
    for operand in contract.operands:
        names = [axis.name for axis in contract.atom]
        if isinstance(operand, Register) and operand.lane is not None:
            yield lane_table(f"Lane that holds {code(operand.name)}[{coordinates(contract)}]", operand.lane, contract, names)
        elif isinstance(operand, Memory) and operand.provider is not None:
            rows = [name for name in names if name not in operand.row]
            if len(rows) >= 2:
                yield lane_table(f"Lane that gives the address of row ({', '.join(rows)})", operand.provider, contract, rows)


def image_table(contract: Contract) -> str:
    """For contracts that move parts of elements between rows and registers: where each value of the rows of matrix 0 is held."""
    register = next((o for o in contract.operands if isinstance(o, Register) and o.lane is not None), None)
    if register is None or len(contract.atom) != 3 or not contract.move.parts or not any(isinstance(o, Memory) for o in contract.operands):
        return ""
    held = value_places(contract, register)
    rows, columns = (1 + max(place[k] for place in held) for k in range(2))
    lines = [(f"**{i}**", *(held.get((i, j), "?") for j in range(columns))) for i in range(rows)]
    halves = prod(part.extent for part in contract.move.parts) == 2
    says = "`l` is the low half of its register, `h` the high half" if halves else "`3:1.2` is lane 3, register 1, byte 2"
    title = f"Where the shared value at (row, column) of a matrix is held; {says}:"
    head = ("row \\ column", *map(str, range(columns)))
    return f"{title}\n\n{table(head, lines)}\n"


def value_places(contract: Contract, register: Register) -> dict[tuple[int, int], str]:
    """(row, column) of the shared values of matrix 0 -> lane, register and part; a value is what lands in one part, or fills one with zeros."""
    move, names = contract.move, [axis.name for axis in (*contract.atom, *contract.move.parts)]
    unit = register.bits // prod(part.extent for part in move.parts)
    last, lanes = move.parts[-1], register.lane
    assert lanes is not None
    filled = [k for k in range(last.extent) if move.zero is False or not evaluate(move.zero, {last.name: k})]
    width = unit if move.zero is False else unit * len(filled)
    found: dict[tuple[int, int], str] = {}
    for values in product(range(1), *(range(axis.extent) for axis in (*contract.atom[1:], *move.parts))):
        at = dict(zip(names, values, strict=True))
        if move.zero is not False and at[last.name] != filled[0]:
            continue
        source = dict(zip(names, (evaluate(term, at) for term in move.source), strict=True))
        shared, own = (source, at) if register.name == move.dst else (at, source)
        bit = unit * part_number(contract, shared) + register.bits * shared[names[2]]
        where = unit * part_number(contract, own) // (16 if unit == 16 else 8)
        lane, number = evaluate(lanes, own), evaluate(register.register, own)
        found[shared[names[1]], bit // width] = f"{lane}{'lh'[where]}" if unit == 16 else f"{lane}:{number}.{where}"
    return found


def part_number(contract: Contract, at: Mapping[str, int]) -> int:
    """The number of a part in its element, the last part axis fastest."""
    number = 0
    for part in contract.move.parts:
        number = number * part.extent + at[part.name]
    return number


def move_text(contract: Contract) -> str:
    """`dst[matrix, row, word; half] <- src[...]`."""
    move, count = contract.move, len(contract.atom)
    computed = computed_text(contract)
    if computed is not None:
        return computed
    if contract.box is not None:
        return contract.box.moves
    if not move.dst:
        return "nothing is written"
    left = coordinates(contract) + "".join(f"; {part.name}" for part in move.parts)
    right = ", ".join(map(str, move.source[:count])) + "".join(f"; {term}" for term in move.source[count:])
    zero = "" if move.zero is False else f", 0 where {move.zero}"
    combined = f", combined with what stands there by {move.combine}" if move.combine else ""
    widened = "" if move.unpacks is None else move.unpacks.text
    return f"{move.dst}[{left}] <- {move.src}[{right}]{zero}{combined}{widened}"


def shown(contract: Contract) -> str:
    """One spelling in full."""
    lines = [
        f"### {code(contract.opcode)}\n",
        f"- executes: {WHO.get(contract.collective, contract.collective)}",
        f"- last axes of the views: {atom_text(contract)}"
        if contract.own_atoms
        else f"- atom: {contract.atom_text}, the last axes of every view",
        *([f"- or with other operands: {contract.variants_text}"] if contract.variants else []),
        f"- from {' or '.join(contract.floors)}; {contract.source}; contract {code(contract_hash(contract))}\n",
        "The PTX statement, and what it moves:\n",
        block(f"{issue_text(contract)}\n{move_text(contract)}"),
        table(("operand", "where", "elements", "asks"), operand_rows(contract)),
        *maps(contract),
        image_table(contract),
        *(f"{title}:\n\n{block(grid)}" for title, grid in (box_images(contract.box) if contract.box is not None else ())),
    ]
    return "\n".join(line for line in lines if line)


def parameter_rows(entry: Entry) -> list[tuple[str, str, str]]:
    """(name, kind, when) of every parameter that some form takes."""
    found: dict[str, tuple[str, str, str]] = {}
    base = dict(spellings(entry)[0].qualifiers)
    for slot in entry.grammar.slots:
        for value in (*slot.values, "" if not slot.required else slot.values[0]):
            qualifiers = {**base, slot.name: value}
            if not legal(entry, qualifiers):
                continue
            for one in entry.contract(qualifiers).parameters:
                always = any(p.name == one.name for p in spellings(entry)[0].parameters)
                when = "" if always else f"with {code('.' + value)}" + (", required" if one.required else "")
                when = when or (f"only with {code(one.needs)}" if one.needs else "optional")
                role = " (a PTX operand)" if one.operand else ""
                found.setdefault(one.name, (code(one.name), parameter_text(one, entry.contract(qualifiers).move) + role, when))
    for one in () if entry.grammar.slots else spellings(entry)[0].parameters:
        when = f"only with {code(one.needs)}" if one.needs else "optional"
        found[one.name] = (code(one.name), parameter_text(one, spellings(entry)[0].move), when)
    return list(found.values())


def grammar_text(entry: Entry) -> str:
    """Slots, exclusions and floors."""
    grammar = entry.grammar
    slots = [(code(f".{s.name}"), codes(f".{value}" for value in s.values), "yes" if s.required else "") for s in grammar.slots]
    head = ("slot", "qualifiers, in this place of the order", "must be written")
    parts = [block(grammar.order()), *([table(head, slots)] if slots else [])]
    if grammar.exclusions:
        rules = [(code(f".{rule.at}"), rule.why, condition_text(rule.when)) for rule in grammar.exclusions]
        parts.append("Not in the ISA, hence refuted by `opcode`:\n\n" + table(("at fault", "why", "refused where"), rules))
    if len(grammar.floors) > 1:
        rows = [
            (", ".join((floor.arch, *floor.also)), condition_text(floor.when))
            for floor in sorted(grammar.floors, key=lambda f: arch_rank(f.arch))
        ]
        parts.append("Architecture floors:\n\n" + table(("from", "where"), rows))
    else:
        parts.append(f"Architecture floor: {grammar.floors[0].arch}.\n")
    return "\n".join(parts)


def evidence_text(mnemonic: str, records: Sequence[Mapping[str, object]]) -> str:
    """What stands behind the contract: the document, and what assemblers and GPUs confirmed."""
    mine = [record for record in records if mnemonic_of(str(record.get("opcode", ""))) == mnemonic]
    if not mine:
        return "*Specified* only: no evidence file of this checkout names a form of it.\n"
    groups: dict[tuple[str, ...], list[Mapping[str, object]]] = {}
    for record in mine:
        where = str(record.get("device") or f"none ({record.get('assembler', 'an assembler')})")
        groups.setdefault((where, str(record.get("arch", "-")), str(record.get("driver", "-"))), []).append(record)
    rows: list[Sequence[object]] = []
    for (where, arch, driver), group in sorted(groups.items()):
        right = {str(one["opcode"]) for one in group if one.get("matches") is True and not stale(one)}
        old = {str(one["opcode"]) for one in group if one.get("matches") is True} - right
        wrong = {str(one["opcode"]) for one in group if one.get("matches") is False}
        assembled = {str(one["opcode"]) for one in group if one.get("matches") is None} - right - old
        dates = sorted(str(one["date"])[:10] for one in group if one.get("date"))
        rows.append((where, arch, driver, dates[-1] if dates else "-", len(right), len(assembled), len(old), len(wrong)))
    head = ("device", "architecture", "driver", "date", "reconstructed", "assembled only", "stale", "differ")
    return table(head, rows) + "\nNumbers count opcodes. Stale: the contract has changed since the run.\n"


def stale(record: Mapping[str, object]) -> bool:
    """Whether the contract of a record's opcode has another hash now."""
    if "contract" not in record:
        return False
    contract = find_contract(str(record["opcode"]))
    return not isinstance(contract, Contract) or contract_hash(contract) != record["contract"]


def scalar_parts(contract: Contract) -> Iterator[str]:
    """What a scalar function may be made of."""
    assert contract.scalar is not None
    yield "Operations, `T` a type and `N` its bits in their PTX; `$d` is the result, `$a` to `$c` are the arguments, others are registers of their own:\n"
    lines = ((code(row.written), row.types, code(row.ptx), row.error or "-", row.arch or "-") for row in scalars.rows(contract.scalar))
    yield table(("operation", "types", "PTX, or what defines it", "largest error", "from"), lines)


def mnemonic_page(entry: Entry, records: Sequence[Mapping[str, object]]) -> str:
    """The section of one mnemonic."""
    parameters = parameter_rows(entry)
    about = (entry.contract.__doc__ or "").strip().split("\n")[0]
    parts = [
        f"## {entry.grammar.mnemonic}\n",
        f"{about} Source: {entry.grammar.source}.\n",
        grammar_text(entry),
        *(
            scalar_parts(spellings(entry)[0])
            if spellings(entry)[0].scalar is not None
            else ("Forms, by what they ask of memory (spaces, cache behaviour and ordering change none of it):\n", forms_table(entry))
        ),
        *("" if not parameters else part for part in ("Parameters:\n", table(("name", "value", "when"), parameters))),
        *(shown(contract) for contract in spellings(entry) if contract.scalar is None),
        f"### What stands behind {code(entry.grammar.mnemonic)}\n",
        f"*Specified*: {entry.grammar.source}.\n",
        evidence_text(entry.grammar.mnemonic, records),
    ]
    return "\n".join(part for part in parts if part)


def family_page(family: Family, records: Sequence[Mapping[str, object]]) -> str:
    """The page of one family."""
    module = sys.modules[family.entries[0].contract.__module__]
    about = (module.__doc__ or family.name).strip()
    note = f"*Generated from `contracts/{family.name}.py`.*"
    return "\n".join([f"# {family.name}\n", f"{about}\n\n{note}\n", *(mnemonic_page(entry, records) for entry in family.entries)])


def index_page(families: Sequence[Family]) -> str:
    """The list of all mnemonics."""
    rows = [
        (
            f"[{code(entry.grammar.mnemonic)}]({family.name}.md#{entry.grammar.mnemonic.replace('.', '')})",
            family.name,
            entry.grammar.arch_floor({}),
            entry.grammar.source,
        )
        for family in families
        for entry in family.entries
    ]
    text = "Each contract is one Python function in `contracts/`; these pages are read from its data.\n"
    return f"# Contracts\n\n{text}\n{table(('mnemonic', 'family', 'lowest floor', 'specified in'), rows)}"
