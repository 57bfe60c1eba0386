"""tcgen05.cp and what surrounds tensor memory as PTX: one statement a repeat, descriptors and addresses in registers; assembled for sm_100a and sm_103a."""

from __future__ import annotations

from typing import Any

import pytest

from tests.prove.kernels import alloc, call, close, commit, free, shift
from tests.prove.tmem_copy_cases import column, repeated, staged
from tests.simulator.forms import PACKINGS, copies, copy
from tilecheck import NotProvedError, emit
from tilecheck.call import Call
from tilecheck.contracts.descriptors import TCGEN05
from tilecheck.document import read_call
from tilecheck.emit import assemble
from tilecheck.emit.assemble import NoAssemblerError
from tilecheck.spec.descriptor import decode

CLUSTER = {"block": [128], "cluster": [2]}
OTHERS = (
    alloc(128),
    alloc(512, 2, launch=CLUSTER),
    free(128, "32 * n", symbols=[{"name": "n", "min": 0, "max": 3}]),
    free(64, 0, 2, launch=CLUSTER),
    close(),
    close(2, launch=CLUSTER),
    commit(),
    commit(2, launch=CLUSTER, guard="tx == 0 and cbx == 0"),
    *(call(opcode) for opcode in ("tcgen05.wait::ld.sync.aligned", "tcgen05.wait::st.sync.aligned")),
    *(call(f"tcgen05.fence::{side}_thread_sync", scope="thread") for side in ("before", "after")),
    *(shift("S[(32,8):(1@TLane,1@TCol)] + 32@TLane", group=group, launch=CLUSTER) for group in (1, 2)),
)


def module(call: Call, arch: str) -> tuple[str, tuple[str, ...]]:
    """A kernel around the snippet, with everything that the caller declares, and its instructions."""
    found = emit(call, arch=arch)
    head = [".version 8.8", f".target {arch}", ".address_size 64", ".visible .entry k()", "{"]
    own = (
        [] if "%tc_bar_mbar" not in found.ptx or any("%tc_bar_mbar" in line for line in found.declarations) else [".reg .b64 %tc_bar_mbar;"]
    )
    return "\n".join([*head, *found.declarations, *own, found.ptx, "ret;", "}", ""]), found.instructions


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a"])
def test_every_form_assembles(arch: str) -> None:
    try:
        assemble(".version 8.8\n.target sm_100a\n.address_size 64\n", "sm_100a")
    except NoAssemblerError:
        pytest.skip("no assembler is installed (extra `assemble`)")
    forms = [form for form in copies() if "swizzle 3" in form["id"] or "swizzle 0" in form["id"]]
    forms += [copy(shape, 0, packing, group=2) for shape in ("128x128b", "32x128b.warpx4") for packing in PACKINGS]
    for one in (*map(read_call, forms), *OTHERS):
        text, instructions = module(one, arch)
        done = assemble(text, arch)
        assert done.ok, f"{instructions}: {done.log}\n{text}"


def test_one_statement_for_every_repeat() -> None:
    found = emit(read_call(repeated(4)), arch="sm_100a").instructions
    assert len(found) == len(set(found)) == 4
    assert all(line.startswith("tcgen05.cp.cta_group::1.128x128b [%tc_u") for line in found)


def test_a_predicate_stands_before_the_statement() -> None:
    document = copy("128x128b", 0)
    symbols = [{"name": "n", "min": 0, "max": 9}]
    call = read_call({**document, "parameters": {**document["parameters"], "pred": "n > 3"}, "symbols": symbols})
    assert emit(call, arch="sm_100a").instructions[0].startswith("@%tc_p")


def worked_out(ptx: str, held: dict[str, int]) -> dict[str, int]:
    """What every temporary holds, the lines worked out one after the other."""
    values = dict(held)

    def value(text: str) -> int:
        return values[text] if text.startswith("%") else int(text, 0)

    for line in ptx.splitlines():
        name, _, rest = line.strip().rstrip(";").partition(" ")
        op, parts = name.split(".")[0], [part.strip() for part in rest.split(",")]
        if op not in {"add", "and", "or", "xor", "shr", "shl", "mov", "cvt", "mul", "mad"} or len(parts) < 2:
            continue
        x, y = value(parts[1]), value(parts[2]) if len(parts) > 2 else 0
        z = value(parts[3]) if len(parts) > 3 else 0
        found = {
            "add": x + y,
            "and": x & y,
            "or": x | y,
            "xor": x ^ y,
            "shr": x >> y % 64,
            "shl": x << y % 64,
            "mul": x * y,
            "mad": x * y + z,
        }
        values[parts[0]] = found.get(op, x) % (1 << 64)
    return values


@pytest.mark.parametrize("stage", [0, 1, 3])
def test_the_descriptor_names_the_start_before_the_swizzle(stage: int) -> None:
    call = read_call(staged("n", symbols=[{"name": "n", "min": 0, "max": 3}]))
    found = emit(call, arch="sm_100a")
    word = found.instructions[0].rstrip(";").split(", ")[-1]
    held = worked_out(found.ptx, {"%tc_ptr_SM": 0x4000, "%tc_ptr_TM": 0, "%tc_sym_n": stage})
    fields: dict[str, Any] = decode(TCGEN05, held[word])
    assert fields == {"start_bytes": 0x4000 + 16384 * stage + 32, "ldo_bytes": 16, "sdo_bytes": 1024, "swizzle": 3}


@pytest.mark.parametrize("n", [0, 5, 126])
def test_the_address_is_that_of_the_column(n: int) -> None:
    call = read_call(column("4*n", symbols=[{"name": "n", "min": 0, "max": 127}]))
    found = emit(call, arch="sm_100a")
    register = found.instructions[0].split("[")[1].split("]")[0]
    assert worked_out(found.ptx, {"%tc_ptr_SM": 0, "%tc_ptr_TM": 64, "%tc_sym_n": n})[register] == 64 + 4 * n


def test_what_is_refuted_is_not_emitted() -> None:
    with pytest.raises(NotProvedError):
        emit(read_call(column(2)), arch="sm_100a")


@pytest.mark.parametrize("call", OTHERS, ids=lambda call: call.opcode)
def test_what_surrounds_is_one_statement(call: Call) -> None:
    [line] = emit(call, arch="sm_100a").instructions
    assert line.startswith(f"{call.opcode} ") or line == f"{call.opcode};"
