"""Reconstruction of scalar compositions on a device without a GPU: it runs the statements of each element by a model of the ISA."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.gpu.ewise_forms import SAMPLES, ewise_forms
from tests.scalar.calls import document, operation_document
from tests.scalar.machine import Machine
from tests.scalar.mutants import MUTANTS, mutated
from tilecheck.document import read_call
from tilecheck.emit.kernel import Kernel
from tilecheck.fitting import contract_for
from tilecheck.reconstruct import run
from tilecheck.reconstruct.arena import Arena, Bytes
from tilecheck.reconstruct.device import DeviceInfo
from tilecheck.reconstruct.products import Registers
from tilecheck.reconstruct.scalars import computed_rows, sources_of
from tilecheck.scalar.compose import composed

FORMS = {form.name: form for form in ewise_forms()}


class Simulated:
    """What a launch does to the arena: copies the banks, then computes every element. spoil: changes the arena afterwards."""

    arch = "sm_90"
    info = DeviceInfo("simulated", "9.0", "", "")

    def __init__(self, call, values=None, contract=None, spoil=None) -> None:
        self.call, self.values, self.contract, self.spoil = call, values or {}, contract, spoil

    def memory(self, _: int) -> int:
        return 1 << 40

    def runs(self, kernel: Kernel, arena: Arena) -> Sequence[Bytes]:
        found = []
        for number in range(4):
            content = arena.fill(number)
            before = content.copy()
            for region in arena.regions:
                if region.role == "after":
                    old = arena.region("before", region.name)
                    content[region.at : region.end] = before[old.at : old.end]
            self.compute(kernel, arena, before, content)
            if self.spoil is not None:
                self.spoil(arena, content)
            found.append(content)
        return found

    def compute(self, kernel: Kernel, arena: Arena, before: Bytes, content: Bytes) -> None:
        """Every element from what the registers held before (no call here reads what it wrote)."""
        x, y, z = kernel.block
        registers = Registers(arena, kernel.tensors, x * y * z)
        rows = list(computed_rows(run.predicted(self.call, self.values, 0)))
        if not rows:
            return
        held: dict[str, np.ndarray] = {}
        fields = {"@": "", "dst": "%out"}
        contract = contract_for(self.call)
        for k, operand in enumerate(contract.operands[1:]):
            source = [sources_of(made)[k] for _, made in rows]
            size = max(operand.bits, 16) // 8
            fields[operand.name] = f"%in{k}"
            if not isinstance(source[0], list):
                return  # numbers are the kernel's own business
            words = [before[at : at + n].tobytes() for at, n in (registers.at("before", one[0], one[1]) for one in source)]
            held[f"%in{k}"] = np.array([int.from_bytes(word, "little") for word in words], dtype=np.dtype(f"u{size}"))
        machine = Machine(held)
        issue = contract.issue if self.contract is None else composed(self.contract, self.call.function).issue
        machine.run(issue.format(**fields))
        for (row, _), value in zip(rows, machine.registers["%out"].tolist(), strict=True):
            at, size = registers.at("after", row[0], row[1:5])
            content[at : at + size] = np.frombuffer((value % (1 << (8 * size))).to_bytes(size, "little"), dtype=np.uint8)


@pytest.fixture
def device(monkeypatch):
    def use(call, **rest):
        monkeypatch.setattr(run, "gpu", lambda _: Simulated(call, **rest))

    return use


@pytest.mark.parametrize(
    "name", [name for name, form in FORMS.items() if " of " not in name and not any("value" in o for o in form.document["operands"])]
)
def test_a_form_matches(name, device):
    form = FORMS[name]
    call = read_call(form.document)
    device(call, values=form.values)
    found = run.reconstruct(call, form.values)
    assert found.matches, found.differences
    counts = found.evidence["compared"]
    assert counts["exact"] + counts["within_error"] > 0 or form.values == {"n": 0}


@pytest.mark.parametrize("mutant", MUTANTS[::6], ids=lambda one: f"{one[0]}: {one[3]}")
def test_a_wrong_table_is_noticed(mutant, device):
    op, types, result, _, change = mutant
    from tests.scalar.calls import name_of

    call, wrong = read_call(operation_document(name_of(op, types, result))), mutated((op, types, result), change)
    device(call, contract=wrong)
    observed, image = run.observe_scalars(call, contract=wrong)
    differences, counts = run.compared_scalars(call, observed, image)
    assert counts["different"] > 0
    assert differences


def test_a_register_that_nobody_wrote_is_compared_too(device):
    def spoil(arena, content):
        after = arena.region("after", "X")
        content[after.at + 5] ^= 1

    call = read_call(document([["x", "float32"]], "float32", "x + 1"))
    device(call, spoil=spoil)
    found = run.reconstruct(call)
    assert not found.matches
    assert [str(one) for one in found.differences] == ["X: thread 0, slot 1, byte 1 after: expected what it held, found another value"]


def test_every_sample_has_a_reference_that_agrees_with_the_evaluator():
    from tests.gpu.ewise import arrays
    from tests.scalar.samples import rows
    from tilecheck.evaluate.scalar_numbers import decoded
    from tilecheck.evaluate.scalar_values import ScalarFunction, just
    from tilecheck.spec import data, find_contract

    scalar = data(find_contract("ewise"))["scalar"]
    for one in SAMPLES:
        made = {"params": [list(pair) for pair in one.params], "result": one.result, "body": one.body}
        function = ScalarFunction(made, scalar)
        points = rows([type_ for _, type_ in one.params], 200)
        columns = [np.array([decoded(type_, point[k]) for point in points]) for k, (_, type_) in enumerate(one.params)]
        with np.errstate(all="ignore"):
            exact, error = one.reference(*columns)
        bound = np.broadcast_to(np.asarray(error, dtype=np.float64), exact.shape)
        for k, point in enumerate(points):
            value = function.value([just(type_, decoded(type_, bits)) for (_, type_), bits in zip(one.params, point, strict=True)])
            if value.low is None or any(not abs(float(column[k])) <= 16 for column in columns) or np.isnan(float(exact[k])):
                continue
            assert value.low - bound[k] <= exact[k] <= value.high + bound[k], (one.name, point, value, exact[k], bound[k])
    assert arrays is not None
