"""explain, contracts, schema, emit, predict and reconstruct as commands."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.gpu.wgmma_forms import Stored, opcode_of, wgmma_document
from tilecheck.cli import main
from tilecheck.document import read_call
from tilecheck.evaluate import Model
from tilecheck.evaluate.predict import UnpredictedError
from tilecheck.spec import Contract, data, find_contract
from tilecheck.spec.table import BUILT_IN

DATA = Path(__file__).parent.parent / "data"
CASES = {case["id"]: case for case in map(json.loads, (DATA / "rules.jsonl").read_text(encoding="utf-8").splitlines())}
REGISTERS = {"name": "R", "space": "register", "dtype": "float32", "shape": [4], "layout": "S[4:1]"}
MEMORY = {
    "name": "A",
    "space": "global",
    "dtype": "float32",
    "shape": [64],
    "align": 16,
    "view": [{"op": "slice", "begin": ["n"], "extent": [4]}],
}
CALL = {
    "schema": "tilecheck/call@1",
    "id": "one",
    "opcode": "ld.global.v4.b32",
    "scope": "thread",
    "assume": ["n != 0"],
    "symbols": [{"name": "n", "min": 0, "max": 60, "multiple_of": 4}],
    "operands": [REGISTERS, MEMORY],
}


@pytest.fixture
def document(tmp_path: Path) -> str:
    path = tmp_path / "call.json"
    path.write_text(json.dumps(CALL), encoding="utf-8")
    return str(path)


def output(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(list(arguments)) == status, capsys.readouterr().err
    return capsys.readouterr().out


def test_explain_shows_what_a_contract_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "explain", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
    flat = " ".join(text.split())
    for words in (
        "PTX ISA 9.7.14.5.15",
        "sm_75 and later",
        "matrix 4, row 8, word 4",
        "{dst0, dst1, dst2, dst3}, [src];",
        "register matrix of lane 4*row + word",
        "starts at a multiple of 16 bytes",
        "lane 8*matrix + row gives the address of a row",
        "dst[matrix, row, word; half] <- src[matrix, 2*word + half, row // 2; row % 2]",
        "pred",
        "float32, int32, uint32",
    ):
        assert words in flat, words
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_explain_gives_the_contract_as_data(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(output(capsys, "explain", "ld.global.v4.b32", "--format", form))
    assert document["status"] == "legal"
    assert document["contract"]["operands"][1]["align_bytes"] == 16
    assert document["arch_floor"] == "sm_75"


def test_explain_names_the_qualifier_at_fault_and_the_legal_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "explain", "ld.global.b32.v4", status=1)
    assert ".v4 is written too late" in " ".join(text.split())
    assert "ld.global.v4.b32" in text
    document = json.loads(output(capsys, "explain", "ld.global.b32.v4", "--format", "json", status=1))
    assert document["status"] == "illegal"
    assert "ld.global.v4.b32" in document["nearest"]


@pytest.mark.parametrize(
    ("opcode", "said"),
    [
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16.f16", ".f16 is superfluous: .d.a.b are written already, as .f32.f16.f16"),
        ("ld.global.shared.b32", ".shared cannot be combined with .global"),
        ("ld.global.global.b32", ".global is written twice"),
    ],
)
def test_explain_tells_one_qualifier_too_many_from_two_that_exclude_each_other(
    opcode: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in " ".join(output(capsys, "explain", opcode, status=1).split())


def test_explain_knows_architectures_and_unknown_mnemonics(capsys: pytest.CaptureFixture[str]) -> None:
    output(capsys, "explain", "ld.global.v8.b32", "--arch", "sm_100")
    assert "needs sm_100" in output(capsys, "explain", "ld.global.v8.b32", "--arch", "sm_90a", status=1)
    assert "no contract knows the mnemonic frobnicate" in output(capsys, "explain", "frobnicate.b32", status=3)
    assert "space.explicit" in " ".join(output(capsys, "explain", "ld.v4.b32").split())


def test_explain_says_that_agree_is_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no instruction, a question about two operands" in " ".join(output(capsys, "explain", "agree").split())
    assert "asks" in json.loads(output(capsys, "explain", "agree", "--format", "json"))
    assert "no contract knows the mnemonic agree" in output(capsys, "explain", "agree.b32", status=3)


@pytest.mark.parametrize("opcode", ["", ".", "..", "ld", "ld.", "ld..b32", "ld." + "v4." * 5000, "\x1b[31m", "[bold]ld", "\ud800"])
def test_explain_takes_any_text(opcode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", opcode]) in {1, 3}
    out, err = capsys.readouterr()
    assert err == ""
    assert all(c == "\n" or c.isprintable() for c in out)


def test_contracts_lists_every_mnemonic(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "contracts")
    assert all(mnemonic in text.split() for mnemonic in BUILT_IN)
    rows = json.loads(output(capsys, "contracts", "--format", "json"))
    assert [row["mnemonic"] for row in rows] == list(BUILT_IN)
    assert all(row["specified"].startswith("PTX ISA ") for row in rows)
    assert len(output(capsys, "contracts", "--format", "jsonl").splitlines()) == len(rows)


def test_contracts_counts_evidence(tmp_path: Path) -> None:
    from tilecheck.report.contracts import rows

    folder = tmp_path / "docs" / "evidence"
    folder.mkdir(parents=True)
    entries = [
        {"opcode": "ld.global.b32", "matches": True, "arch": "sm_90a"},
        {"opcode": "ld.global.b64", "matches": False, "arch": "sm_90a"},
        {"opcode": "ld.global.b32", "matches": True, "arch": "sm_90a"},
        {"opcode": "st.global.v8.b32", "assembled": True, "arch": "sm_100"},
    ]
    (folder / "h200.json").write_text(json.dumps({"schema": "tilecheck/evidence@1", "entries": entries}))
    (folder / "broken.json").write_text("{")
    found = {row.mnemonic: row for row in rows(tmp_path)}
    assert found["ld"].reconstructed == (("sm_90a", 1),)
    assert found["st"].assembled == (("sm_100", 1),)
    assert found["st"].reconstructed == ()


@pytest.mark.parametrize("name", ["call", "case", "verdict"])
def test_schemas_are_schemas(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = json.loads(output(capsys, "schema", name))
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(printed)


@pytest.mark.parametrize("file", ["rules.jsonl", "fuzz.jsonl"])
def test_every_case_follows_the_schema(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    call = jsonschema.Draft202012Validator(json.loads(output(capsys, "schema")))
    case = jsonschema.Draft202012Validator(json.loads(output(capsys, "schema", "case")))
    for line in (DATA / file).read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        call.validate(document["call"])
        if file == "rules.jsonl":
            case.validate(document)


def test_emit_writes_ptx(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "ld.global.v4.b32 {" in output(capsys, "emit", document)
    assert json.loads(output(capsys, "emit", document, "--format", "json"))["opcode"] == "ld.global.v4.b32"
    kernel = output(capsys, "emit", document, "--kernel", "--arch", "sm_90a", "--set", "n=8")
    assert ".target sm_90a" in kernel
    assert kernel.startswith("// n = 8\n")
    assert json.loads(output(capsys, "emit", document, "--kernel", "--format", "json"))["values"] == {"n": 4}
    assert main(["emit", document, "--set", "n=8"]) == 2


def test_predict_prints_the_image(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {"registers": [["R", 0, 0, 0, slot, [["A", 32 + 4 * slot + byte] for byte in range(4)]] for slot in range(4)], "memory": []}
    assert json.loads(output(capsys, "predict", document, "--format", "json", "--set", "n=8")) == expected
    assert json.loads(output(capsys, "predict", document, "--format", "jsonl", "--set", "n=0x8")) == expected
    assert output(capsys, "predict", document).splitlines()[0] == "R cta 0 warp 0 lane 0 slot 0 = A[16..19]"


def test_predict_of_a_store_shows_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = {**CALL, "opcode": "st.global.v4.b32", "operands": [MEMORY, REGISTERS]}
    path = tmp_path / "store.json"
    path.write_text(json.dumps(store))
    assert output(capsys, "predict", str(path)).splitlines()[0] == "A bytes 16..19 = R cta 0 warp 0 lane 0 slot 0 bytes 0..3"


@pytest.mark.parametrize("kind", ["refuted", "vacuous"])
@pytest.mark.parametrize("command", ["predict", "emit", "reconstruct"])
def test_what_is_not_proved_has_no_image_and_no_ptx(kind: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output_path = tmp_path / "call.json", tmp_path / "out"
    call = CASES["ld-base-align-4"]["call"]
    path.write_text(json.dumps(call if kind == "refuted" else {**call, "guard": False}))
    status = main([command, str(path), "--format", "json"])
    out, err = capsys.readouterr()
    assert out == ""
    assert " ".join(err.split()).startswith(f"{kind} ld-base-align-4 (")
    assert status == (1 if command == "predict" or kind == "refuted" else 3)
    assert main([command, str(path), "--output", str(output_path)]) == status
    assert not output_path.exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("n", "expected NAME=INTEGER"),
        ("n=", "expected NAME=INTEGER"),
        ("n=four", "expected NAME=INTEGER"),
        ("n=4.0", "expected NAME=INTEGER"),
        ("n=[4", "expected NAME=INTEGER"),
        ("n=[]", "expected NAME=INTEGER"),
        ("n=[4,8]", "one value for the whole grid"),
        ("n=5", "a multiple of 4"),
        ("n=64", "from 0 to 60"),
        ("n=-4", "from 0 to 60"),
        ("m=4", "declares no symbol 'm'"),
        ("n=0", "contradicts the assumption"),
        ("n=__import__('os')", "expected NAME=INTEGER"),
        ("n=" + "9" * 100_000, "expected NAME=INTEGER"),
    ],
)
def test_a_wrong_setting_ends_in_2(setting: str, words: str, document: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", document, "--set", setting]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert len(err) < 500


def test_a_symbol_is_set_once(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", document, "--set", "n=4", "--set", "n=8"]) == 2
    assert "set twice" in capsys.readouterr().err


def test_a_varying_symbol_takes_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    varying = {**CALL, "symbols": [{**CALL["symbols"][0], "varies": "thread"}], "launch": {"block": [2]}, "scope": "thread", "assume": []}
    path = tmp_path / "varying.json"
    path.write_text(json.dumps(varying))
    image = json.loads(output(capsys, "predict", str(path), "--format", "json", "--set", "n=[4, 12]"))
    starts = {row[3]: row[5][0] for row in image["registers"] if row[4] == 0}
    assert starts == {0: ["A", 16], 1: ["A", 48]}


PITCHED = {
    "schema": "tilecheck/call@1",
    "opcode": "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes",
    "scope": "thread",
    "symbols": [{"name": "M", "min": 0, "max": 64}, {"name": "P", "min": 64, "max": 512}],
    "operands": [
        {"name": "SM", "space": "shared", "dtype": "float16", "shape": [8, 64], "align": 1024},
        {"name": "A", "space": "global", "dtype": "float16", "shape": ["M", 64], "align": 16, "layout": "S[(M,64):(P,1)]"},
    ],
    "parameters": {"coords": [0, 0], "mbar": "shared", "box": [8, 64]},
}


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ([], ["SM bytes 0..127 = A[0..127]", "SM bytes 128..1023 = zero"]),
        (["M=2"], ["SM bytes 0..255 = A[0..255]", "SM bytes 256..1023 = zero"]),
        (["M=2", "P=72"], ["SM bytes 0..127 = A[0..127]", "SM bytes 128..255 = A[144..271]", "SM bytes 256..1023 = zero"]),
        (["P=65"], ["SM bytes 0..127 = A[0..127]", "SM bytes 128..1023 = zero"]),
    ],
)
def test_values_of_an_image_meet_the_conditions(
    settings: list[str], lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pitched.json"
    path.write_text(json.dumps(PITCHED))
    assert output(capsys, "predict", str(path), *(word for one in settings for word in ("--set", one))).splitlines() == lines


@pytest.mark.parametrize("command", [["predict"], ["emit", "--kernel"], ["reconstruct"]])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["M=0"], "M=0 contradicts the condition that the extent of axis 0 of A is from 1 to 2^32"),
        (["M=2", "P=65"], "M=2, P=65 contradicts the condition that the stride of axis 0 of A is a multiple of 16 bytes"),
        (["P=65", "M=0x2"], "M=2, P=65 contradicts the condition that the stride of axis 0 of A is a multiple of 16 bytes"),
    ],
)
def test_values_against_a_condition_are_refused(
    command: list[str], settings: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pitched.json"
    path.write_text(json.dumps(PITCHED))
    assert main([*command, str(path), *(word for one in settings for word in ("--set", one))]) == 2
    out, err = capsys.readouterr()
    assert (out, message in err) == ("", True)


def test_one_document_is_one_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([CALL, CALL]))
    assert main(["predict", str(path)]) == 2
    assert "found 2 calls, expected one" in capsys.readouterr().err


def test_predict_names_no_more_products_than_its_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "large.json"
    form = opcode_of("f16", 256, "f32")
    path.write_text(json.dumps({**wgmma_document(form, None, Stored(), (1, 1, 2)), "id": "large"}))
    assert main(["predict", str(path)]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert "no image: it would name 524288 products, the limit is 262144" in found.err
    assert found.err.count("\n") == 1


def test_the_products_that_are_counted_are_those_that_the_image_names() -> None:
    for document in (
        wgmma_document(opcode_of("f16", 8, "f32"), None, Stored(), (1, 1, 2)),
        wgmma_document(opcode_of("s8", 8, "s32", "u8", sparse=True), None, Stored()),
    ):
        call = read_call(document)
        contract = find_contract(call.opcode)
        assert isinstance(contract, Contract)
        model = Model(data(contract), call.to_json())
        rows = model.predict({}).registers
        named = sum(len(entry["products"]) for row in rows for entry in row[-1]["entries"])
        assert len(model.predict({}, most=named).registers) == len(rows)
        with pytest.raises(UnpredictedError, match=f"it would name {named} products, the limit is {named - 1}"):
            model.predict({}, most=named - 1)
