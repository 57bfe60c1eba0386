"""The parameters of a call as PTX operands, and the addresses of other CTAs.

An operand or a barrier in another CTA is named by its address in the executing CTA; `mapa` (ISA 9.7.9.23) gives the address of the same offset there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from tilecheck.emit.arithmetic import RING, Arithmetic, fits_64_bits, simplified
from tilecheck.emit.binding import Binding
from tilecheck.emit.errors import EmissionError
from tilecheck.fitting import value_of
from tilecheck.spec.contract import Memory, Parameter
from tilecheck.spec.descriptor import MAJORS
from tilecheck.spec.tmem import TensorMemory
from tilecheck.symbolic import terms
from tilecheck.symbolic.parse import parse
from tilecheck.symbolic.terms import Expr, Term

BARRIER = "%tc_bar"
"""The register that the caller sets to the address of a barrier: this and the parameter's name."""


def values(binding: Binding) -> dict[str, Term]:
    """The values of the parameters that an instruction names, as far as they are terms."""
    found: dict[str, Term] = {}
    for parameter in binding.contract.parameters:
        named = parameter.operand or parameter.kind == "rank"
        value = value_of(binding.call, parameter)
        if not named or parameter.kind in {"chunk", "selector", "immediate", "barrier", "coordinates", "major", "words"}:
            continue
        value = parameter.default if value is None and isinstance(parameter.default, bool) else value
        if value is None and parameter.required:
            raise EmissionError(f"{binding.contract.opcode} needs the parameter {parameter.name}")
        if value is not None:
            found[parameter.name] = checked(binding, parameter.name, value, ring=parameter.kind != "predicate")
    return found


def words(binding: Binding) -> Iterator[tuple[str, list[Term]]]:
    """The parameters that are lists of words, as terms."""
    for parameter in (p for p in binding.contract.parameters if p.kind == "words"):
        given = binding.call.parameter(parameter.name)
        if isinstance(given, tuple):
            parsed = (parse(one) if isinstance(one, str) else one for one in given)
            yield parameter.name, [checked(binding, parameter.name, one, ring=True) for one in parsed if isinstance(one, int | Expr)]


def listed_words(binding: Binding) -> Iterator[Term]:
    """Every word of such a parameter."""
    for _, found in words(binding):
        yield from found


def checked(binding: Binding, name: str, value: Term, *, ring: bool) -> Term:
    """A value over base variables; EmissionError where 64-bit arithmetic does not give it. ring: whether only its lowest 64 bits count."""
    term = simplified(binding.ground(value), binding.ranges)
    wraps = ring and all(isinstance(node, int) or node.op in RING for node in terms.subterms(term))
    if isinstance(term, Expr) and not wraps and fits_64_bits(term, binding.ranges) is not None:
        raise EmissionError(f"{name}: {term} may leave 64 bits")
    return term


def barrier_register(binding: Binding) -> str | None:
    """The register with the address of the barrier in the executing CTA, where the call has one."""
    barrier = binding.contract.barrier
    return None if barrier is None else f"{BARRIER}_{barrier.name}"


class Operands:
    """What stands in the issue template besides registers and addresses; writes the lines that make it."""

    def __init__(self, binding: Binding, arithmetic: Arithmetic, given: Mapping[str, Term]) -> None:
        self.binding, self.arithmetic, self.given = binding, arithmetic, given
        self.barrier = barrier_register(binding)
        self.words = dict(words(binding))
        self.cells = {o.spec.name for o in binding.operands if isinstance(o.spec, TensorMemory)}
        self.target = next((o.spec for o in binding.operands if isinstance(o.spec, Memory) and o.spec.write), None)
        cta = None if self.target is None else self.target.cta
        self.kind = next((p.kind for p in binding.contract.parameters if p.name == cta), "")
        self.where = given[cta] if cta is not None else None
        self.rank = self.narrow(given[cta], 32) if cta is not None and self.kind == "rank" else None

    def fields(self) -> dict[str, str]:
        """The operands by parameter."""
        found: dict[str, str] = {}
        for parameter in (p for p in self.binding.contract.parameters if p.operand):
            text = self._text(parameter)
            if text is not None:
                found[parameter.name] = text
        return found

    def _text(self, parameter: Parameter) -> str | None:
        written = self.binding.call.parameter(parameter.name)
        written = parameter.default if written is None else written
        if parameter.kind == "major":
            return str(MAJORS.index(str(written)))
        if parameter.kind in {"chunk", "selector", "immediate"}:
            return None if written is None else str(written)
        if parameter.kind == "words":
            found = self.words.get(parameter.name)
            return None if found is None else "{" + ", ".join(self.narrow(word, parameter.bits) for word in found) + "}"
        if parameter.kind == "coordinates":
            return None  # those of each instruction are its own
        if parameter.kind == "barrier":
            assert self.barrier is not None
            return self.barrier if self.rank is None else self.mapped(self.barrier, self.rank)
        value = self.given.get(parameter.name)
        if value is None:
            return None
        if parameter.kind == "predicate":
            return self.arithmetic.predicate(value)
        return self.arithmetic.register(value) if parameter.bits == 64 else self.narrow(value, parameter.bits)

    def later(self) -> dict[str, str]:
        """The operands that have another value in all steps but the first."""
        own = [p for p in self.binding.contract.parameters if p.then is not None]
        return {p.name: self.arithmetic.predicate(p.then) for p in own if p.then is not None}

    def listed(self, values: Sequence[Term], bits: int) -> str:
        """Integer operands in braces: numbers as they are, the others in registers."""
        return ", ".join(str(value) if isinstance(value, int) else self.narrow(value, bits) for value in values)

    def narrow(self, value: Term, bits: int) -> str:
        """A register of so many bits with the low ones of a value."""
        wide, narrow = self.arithmetic.register(value), self.arithmetic.fresh("u" if bits == 32 else "h")
        self.arithmetic.write(f"cvt.u{bits}.u64 {narrow}, {wide};")
        return narrow

    def mapped(self, address: str, rank: str) -> str:
        """The address of the same offset in another CTA."""
        found = self.arithmetic.fresh()
        self.arithmetic.write(f"mapa.shared::cluster.u64 {found}, {address}, {rank};")
        return found

    def address(self, spec_name: str, term: Term) -> str:
        """The address operand of a memory operand; tensor memory has addresses of 32 bits."""
        if spec_name in self.cells:
            return self.narrow(term, 32)
        if self.target is not None and spec_name == self.target.name and self.rank is not None:
            return self.mapped(self.arithmetic.register(term), self.rank)
        return self.arithmetic.address(term)

    def accounting(self, pred: Term) -> list[str]:
        """The statements before each instruction that tell the barrier of every CTA it writes how many bytes will come."""
        if self.barrier is None or self.target is None:
            return []
        each = self.target.bits * prod(self.binding.contract.suffix) // 8
        remote = "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64"
        if self.where is None:
            return [self._guarded(pred, f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{self.barrier}], {each};")]
        if self.rank is not None:
            return [self._guarded(pred, f"{remote} [{self.mapped(self.barrier, self.rank)}], {each};")]
        lines: list[str] = []
        for cta in range(self.binding.call.launch.ctas):
            named = terms.ne(terms.mod(terms.shr(self.where, cta), 2), 0)
            lines.append(self._guarded(terms.conj(pred, named), f"{remote} [{self.mapped(self.barrier, str(cta))}], {each};"))
        return lines

    def _guarded(self, pred: Term, statement: str) -> str:
        return statement if pred is True else f"@{self.arithmetic.predicate(pred)} {statement}"
