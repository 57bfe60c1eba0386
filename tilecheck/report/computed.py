"""What an instruction computes, as text."""

from __future__ import annotations

from collections.abc import Collection

from tilecheck.spec import Computed, Entries, Narrow, Product
from tilecheck.spec.computed import Choice


def result_text(made: Computed) -> str:
    """`d = fma.rn(a, b, c)`, or of packed numbers `d[0] = ..., d[16] = ...`, each from the bit on that is named."""
    whole, by = len(made.results) == 1, ".".join((made.operator, *made.words))

    def part(name: str, bit: int) -> str:
        return name if whole and not bit else f"{name}[{bit}]"

    return "; ".join(
        f"{part(made.dst, one.bit)}: .{one.type} = {by}({', '.join(f'{part(name, bit)}: .{type_}' for name, bit, type_ in one.of)})"
        for one in made.results
    )


def product_text(product: Product, flags: Collection[str] = ()) -> str:
    """`d[m, n] = c[m, n] + sum over k of a[m, k] * b[n, k]`, and what entry each part of an element is. flags: parameters that are true or false."""
    signs = {"mul": "*", "xor": "xor", "and": "and"}
    own = [name for name, _ in product.dst.at]
    sides, factors = (product.left, product.right), product.factors or ()
    implied = {name for side in factors for name, _ in side.at} - {name for name, _ in product.right.at}
    summed = list(dict.fromkeys(name for side in sides for name, _ in side.at if name not in {*own, *implied}))

    def entry(side: Entries) -> str:
        return f"{side.operand}[{', '.join(name for name, _ in side.at)}]"

    count = "the ones of " if product.combine != "mul" else ""
    right, chosen = entry(product.right), ""
    if product.choice is not None:
        index = product.choice.index
        right = f"{product.right.operand}[{', '.join(f'{index} + chosen' if name == index else name for name, _ in product.right.at)}]"
        chosen = f". {choice_text(product.choice)}"
    scales = "".join(f" * {one.operand}[lane {one.lane}, bits from {one.bit} on]" for one in product.scales or ())
    scales += "".join(f" * {entry(one)}" for one in factors)
    terms = f"{count}{entry(product.left)} {signs[product.combine]} {right}{scales}"
    where = "; ".join(
        dict.fromkeys(
            f"{side.operand}: {', '.join(f'{name} = {term}' for name, term in side.at)}"
            for side in (product.dst, *sides, product.addend, *factors)
        )
    )
    start = entry(product.addend) + (f" (0 where {product.accumulates} does not hold)" if product.accumulates else "")
    signs_text = " and ".join(f"-1 where {name} holds" if name in flags else name for name in product.signs)
    times = f", times {signs_text}" if product.signs else ""
    return f"{entry(product.dst)} = {start} + the sum over {', '.join(summed)} of {terms}{times}, where for {where}{chosen}{conditions_text(product)}"


def conditions_text(product: Product) -> str:
    """What else is to be said of a product: whose entries they are, narrow types, flags, masks, and what is not predicted."""
    found: list[str] = []
    sides = (product.dst, product.left, product.right, *(product.factors or ()))
    found += [f"{cta} is 0 in the CTA of the pair whose rank is even, 1 in the other" for cta in {one.cta for one in sides if one.cta}]
    copied = [one.operand for one in sides if one.copy]
    found += [f"copy is the number of the copy of {' and '.join(copied)} that is read"] if copied else []
    for narrow in dict.fromkeys(one.narrow for one in sides if one.narrow):
        whose = " and ".join(one.operand for one in sides if one.narrow == narrow)
        found.append(f"in {whose} {', '.join(map(narrow_text, narrow))}")
    found += [f"each instruction clamps its sums where {product.saturates} holds"] if product.saturates else []
    found += [f"the lanes that {product.skips} names are left alone"] if product.skips else []
    found += [f"no image is predicted with {name}: {why}" for name, why in product.unknown]
    return "".join(f"; {one}" for one in found)


def choice_text(choice: Choice) -> str:
    """Where the bits lie that choose an index, and what each of their values chooses."""
    values = ", ".join(f"{value:#06b}: {' '.join(map(str, offsets))}" for value, offsets in choice.offsets)
    return f"chosen is for entry {choice.entry} by {choice.bits} bits of {choice.operand} in lane {choice.lane} from bit {choice.bit} on ({values})"


def narrow_text(one: Narrow) -> str:
    """`.e2m1 is bits 2..5 of a byte`, or `.e2m1 is 4 bits, 16 side by side at the start of 16 bytes`."""
    if one.run > 1:
        return f".{one.type} is {one.bits} bits, {one.run} side by side at the start of {one.run} bytes"
    return f".{one.type} is bits {one.low}..{one.low + one.bits - 1} of a byte"
