"""Asynchronous copies as PTX: one instruction a chunk, operands in the ISA's order, every spelling assembled, a kernel that waits."""

from __future__ import annotations

import re

import pytest

from tests.gpu.async_forms import GLOBAL, SHARED, STAGE, async_forms, later_async_forms, run_of
from tilecheck.document import read_call
from tilecheck.emit import assemble, emit, emit_kernel, emit_kernel_unchecked
from tilecheck.emit.assemble import NoAssemblerError
from tilecheck.errors import NotProvedError
from tilecheck.spec import find_entry

FORMS = {form.name: form for form in (*async_forms(), *later_async_forms())}
MNEMONICS = ("cp.async", "cp.async.bulk", "cp.async.bulk.prefetch", "cp.reduce.async.bulk")
REMOTE = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
try:
    assemble("", "sm_90")
    MISSING = False
except NoAssemblerError:
    MISSING = True


def call(name: str):
    return read_call(FORMS[name].document)


@pytest.mark.parametrize("mnemonic", MNEMONICS)
def test_there_is_a_form_of_every_spelling(mnemonic):
    entry = find_entry(mnemonic)
    assert entry is not None
    legal = {entry.grammar.spell(qualifiers) for qualifiers in entry.grammar.legal()}
    assert legal <= {str(form.document["opcode"]) for form in FORMS.values()}


@pytest.mark.skipif(MISSING, reason="no assembler is installed (extra `assemble`)")
@pytest.mark.parametrize("name", list(FORMS))
def test_the_kernel_of_every_form_assembles(name):
    kernel = emit_kernel_unchecked(call(name))
    found = assemble(kernel.ptx, kernel.arch)
    assert found.ok, found.log


@pytest.mark.skipif(MISSING, reason="no assembler is installed (extra `assemble`)")
def test_the_forms_of_sm_90_assemble_for_sm_90():
    for form in async_forms():
        kernel = emit_kernel_unchecked(read_call(form.document), "sm_90")
        assert assemble(kernel.ptx, "sm_90").ok, form.name


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("cp.async.ca.shared.global of 8 bytes", r"cp\.async\.ca\.shared\.global \[\S+\], \[\S+\], 8;"),
        ("cp.async.ca.shared.global of 8 bytes, src_size 1", r"cp\.async\.ca\.shared\.global \[\S+\], \[\S+\], 8, %tc_u\d+;"),
        ("cp.async.cg.shared.global, ignore_src by lane", r"cp\.async\.cg\.shared\.global \[\S+\], \[\S+\], 16, %tc_p\d+;"),
        ("cp.async.cg.shared.global, hint and src_size", r"cp\.async\S+ \[\S+\], \[\S+\], 16, %tc_u\d+, %tc_sym_policy;"),
        ("cp.async.ca.shared.global, pred by lane", r"@%tc_p\d+ cp\.async\.ca\.shared\.global \[\S+\], \[\S+\], 8;"),
        (f"{LOAD}.multicast::cluster, hint", r"cp\.async\.bulk\S+ \[\S+\], \[\S+\], 64, \[%tc_bar_mbar\], %tc_h\d+, %tc_sym_policy;"),
        (f"{REMOTE} from 0 to 1", r"cp\.async\.bulk\S+ \[%tc_s\d+\], \[\S+\], 64, \[%tc_s\d+\];"),
        ("cp.async.bulk.prefetch.L2.global", r"cp\.async\.bulk\.prefetch\.L2\.global \[\S+\], 256;"),
        (
            "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask",
            r"cp\.async\.bulk\S+ \[\S+\], \[\S+\], 64, %tc_sym_policy, %tc_h\d+;",
        ),
    ],
)
def test_operands_stand_in_the_order_of_the_isa(name, pattern):
    emission = emit(call(name))
    assert emission.instructions
    assert all(re.fullmatch(pattern, line) for line in emission.instructions), emission.instructions


def test_a_warp_issues_one_instruction_for_each_chunk_of_a_lane():
    assert len(emit(call("cp.async.ca.shared.global of 4 bytes")).instructions) == 2


def test_destination_and_barrier_of_another_cta_are_mapped_to_its_rank():
    ptx = emit(call(f"{REMOTE}, exchanged")).ptx
    ranks = re.findall(r"mapa\.shared::cluster\.u64 %tc_s\d+, (\S+), (%tc_u\d+);", ptx)
    assert len(ranks) == 3
    assert {rank for _, rank in ranks} == {ranks[0][1]}
    assert sum(address == "%tc_bar_mbar" for address, _ in ranks) == 1


def test_a_snippet_leaves_the_accounting_to_the_caller_and_a_kernel_does_it():
    form = call(f"{LOAD}.multicast::cluster to both")
    snippet, kernel = emit(form), emit_kernel(form)
    assert "expect_tx" not in snippet.ptx
    assert len(re.findall(r"mbarrier\.expect_tx\S+ \[\S+\], 256;", kernel.ptx)) == 4  # two chunks, two CTAs
    assert kernel.emission.instructions == snippet.instructions


def test_a_kernel_waits_for_groups_where_there_is_no_barrier():
    assert "cp.async.wait_all;" in emit_kernel(call("cp.async.ca.shared.global of 4 bytes")).ptx
    store = emit_kernel(call("cp.async.bulk.global.shared::cta.bulk_group of 16 bytes")).ptx
    assert store.index("cp.async.bulk.commit_group;") < store.index("cp.async.bulk.wait_group 0;")


def test_the_async_proxy_is_fenced_before_it_reads_what_was_staged():
    store = emit_kernel(call("cp.async.bulk.global.shared::cta.bulk_group of 16 bytes")).ptx
    assert store.index("fence.proxy.async;") < store.index("cp.async.bulk.global")
    assert "fence.proxy.async" not in emit_kernel(call("cp.async.ca.shared.global of 4 bytes")).ptx


def test_a_copy_to_the_own_cta_is_not_emitted():
    form = run_of("own", REMOTE, 64, SHARED, STAGE, cluster=[2], mbar="shared", remote_cta_id="cbx")
    with pytest.raises(NotProvedError):
        emit(read_call(form.document))


def test_the_window_of_a_cta_needs_isa_8_6():
    window = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes"
    assert ".version 8.6" in emit_kernel(call(window)).ptx
    plain = run_of("plain", LOAD, 64, SHARED, GLOBAL, mbar="shared")
    assert ".version 8.4" in emit_kernel(read_call(plain.document)).ptx
