"""Third parties add contracts by entry point; tests/example_plugin is one, read here without being installed."""

from __future__ import annotations

import importlib.metadata
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tilecheck.document import read_call
from tilecheck.errors import TilecheckError
from tilecheck.evaluate import Model
from tilecheck.prove.check import check
from tilecheck.spec import BadSpelling, Contract, data, find_contract, find_entry, table

PLUGIN = Path(__file__).parent.parent / "example_plugin"


def declared() -> list[EntryPoint]:
    """The entry points that the plugin's pyproject.toml declares."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [EntryPoint(name, value, group) for group, points in project["entry-points"].items() for name, value in points.items()]


def install(patch: pytest.MonkeyPatch, points: list[EntryPoint]) -> list[str]:
    """As if the points were installed; the groups that were asked for."""
    asked: list[str] = []

    def entry_points(*, group: str) -> list[EntryPoint]:
        asked.append(group)
        return [point for point in points if point.group == group]

    patch.setattr(importlib.metadata, "entry_points", entry_points)
    patch.setattr(table, "_contracts", {})
    return asked


@pytest.fixture
def plugin(monkeypatch) -> Iterator[list[str]]:
    monkeypatch.syspath_prepend(str(PLUGIN))
    yield install(monkeypatch, declared())
    sys.modules.pop("toy_contracts", None)


def pair(align: int = 8, opcode: str = "toy.global.b32", layout: str = "S[2:1]"):
    return read_call(
        {
            "schema": "tilecheck/call@1",
            "opcode": opcode,
            "scope": "thread",
            "operands": [
                {"name": "R", "space": "register", "dtype": "float32", "shape": [2], "layout": "S[2:1]"},
                {"name": "A", "space": "global", "dtype": "float32", "shape": [2], "layout": layout, "align": align},
            ],
        }
    )


def test_the_plugin_declares_one_entry_point_of_our_group():
    assert [(point.group, point.name, point.value) for point in declared()] == [("tilecheck.contracts", "toy", "toy_contracts:FAMILY")]


@pytest.mark.usefixtures("plugin")
def test_its_mnemonic_has_a_contract():
    found = find_contract("toy.global.b32")
    assert isinstance(found, Contract)
    assert (found.mnemonic, found.arch, found.suffix) == ("toy", "sm_80", (2,))


@pytest.mark.usefixtures("plugin")
def test_its_calls_are_proved_and_refuted():
    assert check(pair()).status == "proved"
    assert [clause.id for clause in check(pair(align=4)).failing] == ["src.aligned"]
    assert [clause.id for clause in check(pair(layout="S[2:3]")).failing] == ["src.contiguous"]


@pytest.mark.usefixtures("plugin")
def test_the_evaluator_reads_its_contract_as_data():
    found = find_contract("toy.global.b32")
    assert isinstance(found, Contract)
    assert Model(data(found), pair(align=4).to_json()).check().status == "refuted"
    assert Model(data(found), pair().to_json()).check().status == "proved"


@pytest.mark.usefixtures("plugin")
def test_its_illegal_spellings_are_refused():
    found = find_contract("toy.local.b32")
    assert isinstance(found, BadSpelling)
    assert (found.qualifier, found.nearest[:1]) == (".local", ("toy.global.b32",))
    assert [clause.id for clause in check(pair(opcode="toy.b32")).failing] == ["opcode"]


def test_without_the_plugin_nobody_knows_the_mnemonic(monkeypatch):
    install(monkeypatch, [])
    assert check(pair()).status == "error"


def test_entry_points_are_asked_for_unknown_mnemonics_only(plugin):
    assert isinstance(find_contract("ld.global.b32"), Contract)
    assert isinstance(find_contract("ldmatrix.sync.aligned.m8n8.x1.shared.b16"), Contract)
    assert plugin == []
    assert find_contract("frob.b32") is None
    assert plugin == ["tilecheck.contracts"]


def test_a_plugin_cannot_replace_a_built_in_mnemonic(monkeypatch):
    install(monkeypatch, [EntryPoint("ld", "no_such_module:FAMILY", "tilecheck.contracts")])
    entry = find_entry("ld")
    assert entry is not None
    assert entry.grammar.source.startswith("PTX ISA")


def test_an_entry_point_that_is_no_family_is_an_error_that_names_it(monkeypatch):
    install(monkeypatch, [EntryPoint("bad", "json:loads", "tilecheck.contracts")])
    with pytest.raises(TilecheckError, match="bad = json:loads"):
        find_contract("frob.b32")


def test_entry_points_are_asked_in_the_order_of_their_names(monkeypatch, plugin):
    loaded: list[str] = []

    class Point:
        group = "tilecheck.contracts"
        value = "x"

        def __init__(self, name: str) -> None:
            self.name = name

        def load(self) -> object:
            loaded.append(self.name)
            return declared()[0].load()

    points = [Point("b"), Point("a")]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: points)
    assert find_contract("frob.b32") is None
    assert loaded == ["a", "b"]
