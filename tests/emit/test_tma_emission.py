"""Copies of boxes as PTX: the statement, the arguments of the tensor map, and what an assembler says."""

from __future__ import annotations

import copy
import importlib.util
import sys
from pathlib import Path

import pytest

from tilecheck.document import read_call
from tilecheck.emit import EmissionError, assemble, emit, emit_kernel, emit_kernel_unchecked
from tilecheck.emit.assemble import NoAssemblerError
from tilecheck.emit.maps import map_data
from tilecheck.emit.plan import StagedTensor

PROVE = Path(__file__).parent.parent / "prove"
sys.path.insert(0, str(PROVE))
found = importlib.util.spec_from_file_location("tma_cases", PROVE / "test_tma.py")
assert found is not None
assert found.loader is not None
tma = importlib.util.module_from_spec(found)
found.loader.exec_module(tma)
CALLS = tma.LEGAL
try:
    assemble("", "sm_90")
    MISSING = False
except NoAssemblerError:
    MISSING = True


def emitted(name):
    return emit(read_call(CALLS[name]))


def test_coordinates_are_written_innermost_first():
    assert "[%tc_ptr_T, {96, 28}]" in emitted("a box at the end of the tensor").instructions[0]


def test_a_store_names_the_map_before_the_image():
    (statement,) = emitted("store").instructions
    assert statement.endswith(".bulk_group [%tc_ptr_T, {0, 0}], [%tc_ptr_S];")


def test_every_repeat_has_its_step():
    statements = emitted("stages with steps").instructions
    assert [f"{{0, {row}}}" in one for row, one in zip((0, 8, 16, 24), statements, strict=True)] == [True] * 4


def test_gathered_rows_follow_the_column():
    assert "{0, 3, 1, 2, 0}" in emitted("gathered rows").instructions[0]


def test_the_origin_is_the_address_before_the_swizzle():
    text = emitted("a start at phase 1").ptx
    assert "add.s64" in text or "+128]" in text
    assert "128" in text


def test_no_tensor_map_is_prefetched():
    assert all("prefetch.tensormap" not in emitted(name).ptx for name in CALLS)


def test_the_tensor_map_is_data_innermost_first():
    emission = emitted("element strides")
    assert emission.tensor_map is not None
    assert map_data(emission.tensor_map) == {
        "tensor": "T",
        "tensorDataType": 6,
        "tensorRank": 2,
        "globalAddress": 0,
        "globalDim": [128, 32],
        "globalStrides": [256],
        "boxDim": [64, 8],
        "elementStrides": [1, 2],
        "interleave": 0,
        "swizzle": 0,
        "l2Promotion": 0,
        "oobFill": 0,
    }


def test_a_kernel_takes_the_tensor_map_by_value_with_what_the_host_encodes():
    kernel = emit_kernel(read_call(CALLS["element strides"]))
    assert [one["role"] for one in kernel.plan()] == ["staged", "tensor map", "elected"]
    (tensor,) = (one for one in kernel.plan() if one["role"] == "tensor map")
    assert tensor["map"] == map_data(kernel.emission.tensor_map)
    assert (tensor["name"], tensor["bytes"], tensor["align"], tensor["residue"]) == ("T", 8192, 32, 16)
    assert ".param .align 64 .b8 tc_p2[128]," in kernel.ptx
    assert "mov.b64 %tc_ptr_T, tc_p2;\ncvta.param.u64 %tc_ptr_T, %tc_ptr_T;" in kernel.ptx


def test_a_kernel_announces_the_bytes_of_every_box_to_each_cta_that_it_writes():
    assert "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%tc_bar_mbar], 1024;" in emit_kernel(read_call(CALLS["load"])).ptx
    many = emit_kernel(read_call(CALLS["a multicast"])).ptx
    assert many.count("mapa.shared::cluster.u64") == many.count("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64") == 2
    packed = emit_kernel(read_call(CALLS["a packed format"])).ptx
    assert "[%tc_bar_mbar], 512;" in packed  # eight rows of 128 nibbles, without the padding


def test_a_kernel_waits_for_what_it_stores():
    text = emit_kernel(read_call(CALLS["store"])).ptx
    assert text.index("cp.async.bulk.tensor") < text.index("cp.async.bulk.commit_group;") < text.index("cp.async.bulk.wait_group 0;")
    assert "mbarrier" not in text


@pytest.mark.skipif(MISSING, reason="no assembler is installed (extra `assemble`)")
@pytest.mark.parametrize("name", CALLS)
def test_a_legal_copy_assembles(name):
    emission = emitted(name)
    head = [f".version 9.0\n.target {emission.arch}\n.address_size 64", ".visible .entry k() {", *emission.declarations]
    found = assemble("\n".join([*head, emission.ptx, "ret;\n}\n"]), emission.arch)
    assert found.ok, found.log


@pytest.mark.skipif(MISSING, reason="no assembler is installed (extra `assemble`)")
@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_of_a_legal_copy_assembles(name):
    kernel = emit_kernel(read_call(CALLS[name]))
    found = assemble(kernel.ptx, kernel.arch)
    assert found.ok, found.log


def test_a_kernel_needs_the_tensor_behind_a_map():
    document = copy.deepcopy(CALLS["load"])
    document["operands"][1]["space"] = "tensormap"
    with pytest.raises(
        EmissionError, match="tensor T: its map is encoded by the caller; a whole kernel needs the tensor itself, in global memory"
    ):
        emit_kernel_unchecked(read_call(document))


def test_a_kernel_allocates_the_padding_of_a_packed_image():
    parameters = emit_kernel(read_call(CALLS["a packed format"])).parameters
    assert [one.bytes for one in parameters if isinstance(one, StagedTensor)] == [1024]


LATER = {"a packed format": "opcode|need sm_100", "the 64-byte atoms of later machines": "swizzle"}


@pytest.mark.parametrize("name", LATER)
def test_fields_of_the_tensor_map_raise_the_architecture_that_is_emitted_for(name: str):
    call = read_call(CALLS[name])
    assert (emit(call).arch, emit_kernel(call).arch) == ("sm_100", "sm_100")
    assert emit(call, arch="sm_110f").arch == "sm_110f"
    assert emit(read_call(CALLS[name] | {"arch": "sm_103a"})).arch == "sm_103a"
    for write in (emit, emit_kernel):
        with pytest.raises(EmissionError, match=LATER[name]):
            write(call, arch="sm_90a")
    assert emit(read_call(CALLS["load"])).arch == "sm_90"


def test_a_large_allocation_raises_the_architecture_that_is_emitted_for():
    large = copy.deepcopy(CALLS["load"])
    large["opcode"] = "ld.shared.b32"
    large["operands"] = [
        {"name": "R", "space": "register", "dtype": "bits32", "shape": [1], "align": 4},
        {"name": "S", "space": "shared", "dtype": "bits32", "shape": [1], "align": 4, "size_bytes": 200_000},
    ]
    large["parameters"] = {}
    call = read_call(large)
    assert emit(call).arch == "sm_90"
    with pytest.raises(EmissionError, match="sm_86"):
        emit(call, arch="sm_86")
