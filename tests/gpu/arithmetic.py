"""Random terms as PTX: what a GPU computes against `terms.evaluate`."""

from __future__ import annotations

import random

import numpy as np

from tilecheck.emit.arithmetic import Arithmetic
from tilecheck.emit.kernel import version
from tilecheck.symbolic import terms
from tilecheck.symbolic.terms import Expr, Term, evaluate, var

NAMES = ("a", "b", "c")
RANGES = {"a": (-1000, 1000), "b": (-70, 90), "c": (0, 31)}
BIG = 1 << 63


def random_term(rng: random.Random, depth: int) -> Term:
    """An integer term; divisors and shift amounts are mostly positive."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*map(var, NAMES), *map(var, NAMES), rng.randint(-40, 40)])
    op = rng.choice(("+", "-", "*", "//", "%", "tdiv", "tmod", "^", "&", "|", "<<", ">>", "min", "max", "select", "table"))
    a = random_term(rng, depth - 1)
    if op in {"//", "%", "tdiv", "tmod"}:
        b: Term = rng.choice((1, 2, 3, 4, 5, 7, 8, 12, 32, 100, 128, terms.add(var("c"), 1), terms.add(var("b"), 71), var("b"), -3))
    elif op in {"<<", ">>"}:
        b = rng.choice((1, 2, 5, 9, terms.mod(var("c"), 7)))
    elif op == "select":
        return terms.build("select", (random_truth(rng, depth - 1), a, random_term(rng, depth - 1)))
    elif op == "table":
        return terms.table(var("c"), tuple(rng.randint(-9, 9) for _ in range(32)))
    else:
        b = random_term(rng, depth - 1)
    return terms.build(op, (a, b))


def random_truth(rng: random.Random, depth: int) -> Term:
    """A condition."""
    op = rng.choice(("==", "<", "<=", "and", "or", "not", "true_in"))
    if op == "true_in":
        return terms.true_in(var("c"), tuple(rng.random() < 0.5 for _ in range(32)))
    if op in {"and", "or"} and depth > 0:
        return terms.build(op, (random_truth(rng, depth - 1), random_truth(rng, depth - 1)))
    if op == "not" and depth > 0:
        return terms.negate(random_truth(rng, depth - 1))
    return terms.build(op if op in {"==", "<", "<="} else "<", (random_term(rng, max(0, depth - 1)), random_term(rng, max(0, depth - 1))))


def samples(seed: int, count: int) -> list[dict[str, int]]:
    """Values of the variables, ends and zeros among them."""
    rng = random.Random(seed)
    ends = [{"a": a, "b": b, "c": c} for a in (-1000, -1, 0, 1000) for b in (-70, 0, 90) for c in (0, 31)]
    rest = [{name: rng.randint(*RANGES[name]) for name in NAMES} for _ in range(count - len(ends))]
    return [*ends, *rest]


def problems(seed: int, count: int) -> list[Term]:
    """Terms, none constant."""
    rng = random.Random(seed)
    found: list[Term] = []
    while len(found) < count:
        one = random_term(rng, 4) if len(found) % 4 else terms.select(random_truth(rng, 3), 1, 0)
        if isinstance(one, Expr):
            found.append(one)
    return found


def module(problem: list[Term], arch: str) -> str:
    """A kernel: thread t reads its three values at 24*t and writes the value of term k at 8*(k*threads + t)."""
    a = Arithmetic({"a": "%a", "b": "%b", "c": "%c"}, RANGES)
    lines: list[str] = []
    for k, term in enumerate(problem):
        register = a.register(term)
        lines += [*a.lines, f"st.global.b64 [%out], {register};", "add.u64 %out, %out, %step;"]
        a.lines = []
        a._memo = {} if k % 5 == 4 else a._memo
    return (
        "\n".join(
            [
                f".version {version(arch)}",
                f".target {arch}",
                ".address_size 64",
                ".visible .entry arithmetic(.param .u64 p0, .param .u64 p1)",
                "{",
                ".reg .b64 %a, %b, %c, %in, %out, %t, %step; .reg .b32 %u;",
                *a.declarations(),
                "mov.u32 %u, %tid.x; cvt.u64.u32 %t, %u; ld.param.u64 %in, [p0]; ld.param.u64 %out, [p1];",
                "mad.lo.u64 %in, %t, 24, %in; ld.global.b64 %a, [%in]; ld.global.b64 %b, [%in+8]; ld.global.b64 %c, [%in+16];",
                "mad.lo.u64 %out, %t, 8, %out; mov.u32 %u, %ntid.x; cvt.u64.u32 %step, %u; shl.b64 %step, %step, 3;",
                *lines,
                "ret;",
                "}",
            ]
        )
        + "\n"
    )


def inside(term: Term, values: dict[str, int]) -> int | None:
    """The value, or None where some subterm is undefined or leaves 64 bits."""
    try:
        for node in terms.subterms(term):
            if isinstance(node, Expr) and not -BIG <= evaluate(node, values) < BIG:
                return None
        return int(evaluate(term, values))
    except (ZeroDivisionError, ValueError, OverflowError):
        return None


def run(seed: int = 1, count: int = 400, threads: int = 128) -> tuple[int, list[str]]:
    """(values compared, disagreements) on GPU 0."""
    from tilecheck.reconstruct.device import gpu

    machine = gpu(0)
    problem, points = problems(seed, count), samples(seed, threads)
    loaded = machine.load_text(module(problem, machine.arch), machine.arch, "arithmetic")
    address = machine.memory(24 * threads + 8 * count * threads)
    machine.write(address, np.array([[point[name] for name in NAMES] for point in points], dtype=np.int64))
    machine.launch(loaded, (1, 1, 1), (threads, 1, 1), 0, (address, address + 24 * threads))
    found = machine.read(address + 24 * threads, np.empty(8 * count * threads, dtype=np.uint8)).view(np.int64).reshape(count, threads)
    wrong: list[str] = []
    compared = 0
    for k, term in enumerate(problem):
        for t, point in enumerate(points):
            wanted = inside(term, point)
            if wanted is not None:
                compared += 1
                if wanted != int(found[k, t]):
                    wrong.append(f"{term} at {point}: {int(found[k, t])}, expected {wanted}")
    return compared, wrong
