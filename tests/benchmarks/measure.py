"""The measurements: each function gives raw samples in milliseconds, by the clock and on the processor."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any

from tests.benchmarks.documents import KINDS, Document, Kind, different, operand_keys
from tilecheck import check
from tilecheck.document import read_call

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BYTECODE = Path(tempfile.gettempdir()) / f"tilecheck-benchmarks-{os.getuid()}"
IMPORTS = 20
BEFORE = 5
"""Calls of a kind that are checked before the clock starts."""
Record = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """How much is measured: documents of a kind for us and for the peer, fresh processes, calls of check_many, how many of them brute
    force looks at, batches, share of illegal calls, seed."""

    repeats: int
    peer_repeats: int
    processes: int
    many: int
    sample: int
    batches: int
    refuted: float
    seed: int


def measured(sizes: Sizes, peer: str | None, say: Callable[[str], None]) -> Record:
    """Everything, with the machine it ran on."""
    record: Record = {"schema": "tilecheck/benchmarks@1", "sizes": asdict(sizes), "before": machine()}
    record["cases"] = {}
    for kind in KINDS:
        say(f"{kind.name}: {sizes.repeats} documents")
        record["cases"][kind.name] = case(kind, sizes, peer)
    say(f"check_many: {sizes.batches} times {sizes.many} calls")
    record["many"] = [many(sizes, batch, share=0.0) for batch in range(sizes.batches)]
    record["mixed"] = many(sizes, sizes.batches, share=sizes.refuted)
    say("import and command")
    record["import"] = imports()
    record["command"] = command(sizes)
    record["after"] = {"load": list(os.getloadavg())}
    return record


def machine() -> Record:
    """Processor, versions, commit, date and load."""
    model = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return {
        "processor": model,
        "processors": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: installed(name) for name in ("tilecheck", "z3-solver", "numpy", "sympy")},
        "commit": commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "load": list(os.getloadavg()),
    }


def installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def commit() -> str | None:
    """The commit of the sources; with "+" where the sources differ from it."""
    try:
        name = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--", "tilecheck", "contracts"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return name + ("+" if changed.strip() else "")


# --- one kind of call -------------------------------------------------------------------------------------------------


def case(kind: Kind, sizes: Sizes, peer: str | None) -> Record:
    """Samples of one kind; warm, with JSON and cold each on documents of their own, the peer on the first of the warm ones."""
    drawn = different(kind, sizes.seed, 2 * sizes.repeats + sizes.processes + BEFORE)
    rest = iter(drawn)
    before, warm, parsed, cold = (list(islice(rest, count)) for count in (BEFORE, sizes.repeats, sizes.repeats, sizes.processes))
    for document in before:
        check(read_call(document))
    found: Record = {
        "documents": len({json.dumps({**document, "id": ""}, sort_keys=True) for document in drawn}),
        "operands": len({key for document in drawn for key in operand_keys(document)}),
        "contexts": len({json.dumps([document["launch"], document["symbols"], document["index_dtype"]]) for document in drawn}),
        "check": check_alone(warm),
        "json": check_json(parsed),
        "cold": [fresh(document) for document in cold],
    }
    if peer is not None:
        most = min(sizes.peer_repeats, kind.peer_most or sizes.peer_repeats)
        found["peer"] = peer_samples(peer, warm[:most], min(sizes.processes, max(1, most // 3)))
    return found


def proved(status: str, document: Document) -> None:
    """What is timed is the proof: RuntimeError for another verdict."""
    if status != "proved":
        raise RuntimeError(f"{document['id']} is {status}: {json.dumps(document)}")


def check_alone(documents: Sequence[Document]) -> Record:
    """check of calls that are made beforehand."""
    calls = [read_call(document) for document in documents]
    wall: list[float] = []
    cpu: list[float] = []
    for call, document in zip(calls, documents, strict=True):
        started, used = time.perf_counter(), time.process_time()
        verdict = check(call)
        wall.append((time.perf_counter() - started) * 1e3)
        cpu.append((time.process_time() - used) * 1e3)
        proved(verdict.status, document)
    return {"wall_ms": wall, "cpu_ms": cpu}


def check_json(documents: Sequence[Document]) -> Record:
    """From the text of a document to the verdict."""
    wall: list[float] = []
    cpu: list[float] = []
    for document in documents:
        text = json.dumps(document)
        started, used = time.perf_counter(), time.process_time()
        verdict = check(read_call(json.loads(text)))
        wall.append((time.perf_counter() - started) * 1e3)
        cpu.append((time.process_time() - used) * 1e3)
        proved(verdict.status, document)
    return {"wall_ms": wall, "cpu_ms": cpu}


def ours(*arguments: str, text: str = "", options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """A run of our interpreter, which finds the sources of this repository as bytecode, as it finds an installed package."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment["PYTHONPYCACHEPREFIX"] = str(BYTECODE)
    run = subprocess.run(
        [sys.executable, *options, *arguments], input=text, capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )
    if run.returncode:
        raise RuntimeError(f"{' '.join(arguments[:2])} fails: {(run.stderr.strip().splitlines() or ['no message'])[-1]}")
    return run


def fresh(document: Document) -> Record:
    """The first verdict of a process."""
    sample = json.loads(ours(str(HERE / "once.py"), text=json.dumps(document)).stdout)
    proved(sample["status"], document)
    return sample


def peer_samples(peer: str, documents: Sequence[Document], processes: int) -> Record:
    """The peer's pass on programs of the same content, the documents dealt to several processes: the first of each is its cold sample."""
    first: list[Record] = []
    warm: list[Record] = []
    about: Record = {}
    dealt = [documents[k::processes] for k in range(processes)]
    for hand in filter(None, dealt):
        run = subprocess.run([peer, str(HERE / "peer_worker.py")], input=json.dumps(hand), capture_output=True, text=True, check=False)
        if run.returncode:
            raise RuntimeError(f"{peer} fails on {hand[0]['id']} and following: {(run.stderr.strip().splitlines() or ['no message'])[-1]}")
        answer = json.loads(run.stdout)
        samples = answer.pop("samples")
        about = answer
        first.append(samples[0])
        warm += samples[1:]
    return {**about, "first": first, "warm": warm}


# --- the rest ---------------------------------------------------------------------------------------------------------


def many(sizes: Sizes, batch: int, *, share: float) -> Record:
    """check_many in a fresh process; brute force only where some of the calls are refuted. share: of those."""
    sample = sizes.sample if share else 0
    numbers = (100 * sizes.seed + batch, sizes.many, share, sample)
    return json.loads(ours("-m", "tests.benchmarks.many", *map(str, numbers)).stdout)


def timed(*arguments: str) -> tuple[float, float]:
    """Milliseconds of a whole process, by the clock and on the processor."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ours(*arguments)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall * 1e3, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def columns(samples: Sequence[tuple[float, float]]) -> Record:
    return {"wall_ms": [wall for wall, _ in samples], "cpu_ms": [cpu for _, cpu in samples]}


def imports() -> Record:
    """Processes that do nothing, that import tilecheck, and that import what `check` needs, by turns."""
    programs = {"bare": "pass", "tilecheck": "import tilecheck", "check": "from tilecheck import check"}
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    timed("-c", programs["check"])
    for _ in range(IMPORTS):
        for name, program in programs.items():
            samples[name].append(timed("-c", program))
    return {**{name: columns(pairs) for name, pairs in samples.items()}, "slowest": slowest(programs["check"])}


def slowest(program: str, count: int = 12) -> list[tuple[str, float]]:
    """The modules that take the most milliseconds of their own when a program is run."""
    lines = ours("-c", program, options=("-X", "importtime")).stderr.splitlines()
    rows = [line.removeprefix("import time:").split("|") for line in lines if line.startswith("import time:")]
    own = [(row[2].strip(), int(row[0]) / 1e3) for row in rows if row[0].strip().isdigit()]
    return sorted(own, key=lambda pair: -pair[1])[:count]


def command(sizes: Sizes) -> Record:
    """`tilecheck check FILE` on one document, each time another, and what such processes have loaded of the dependencies."""
    documents = [document for kind in KINDS for document in different(kind, -1 - sizes.seed, 2)]
    samples: list[tuple[float, float]] = []
    loaded: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for document in documents:
            path = Path(folder) / "call.json"
            path.write_text(json.dumps(document), encoding="utf-8")
            loaded.update(ours("-c", LOADED, str(path)).stdout.splitlines()[-1].split())
            samples.append(timed("-m", "tilecheck", "check", str(path)))
    return {**columns(samples), "loaded": sorted(loaded)}


LOADED = """
import sys
from tilecheck.cli import main
main(["check", sys.argv[1]])
print(*(name for name in ("z3", "sympy", "numpy", "einops", "rich") if name in sys.modules))
"""
