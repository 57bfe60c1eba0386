"""The pages of the documentation as data: fenced blocks with their marks, links and headings; and running what they show.

Marks stand in a comment on the line above a block: `<!-- run -->` (Python that runs, the blocks of a page one after the other in one
namespace), `<!-- file: NAME -->` (a file that later commands of the page read), `<!-- not run: why -->`. Commands of a `console` block that
begin with `$ tilecheck` are run in a scratch folder and must print what follows them; `...` alone on a line stands for any lines.

`python tests/docs/pages.py --update` writes what the commands really print into the pages.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- (run|file: \S+|not run: [^\n]*?) -->\n\Z")
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the mark above it, and where the text stands in the page."""

    language: str
    text: str
    mark: str
    start: int
    line: int


def pages() -> list[Path]:
    """Every page: README, CONTRIBUTING and all under docs/."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    """The page by its path in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page."""
    for match in _FENCE.finditer(text):
        mark = _MARK.search(text[: match.start()])
        line = text.count("\n", 0, match.start()) + 1
        yield Block(match["info"].strip(), match["text"], mark[1] if mark else "", match.start("text"), line)


def without_code(text: str) -> str:
    """The page without fenced blocks and inline code."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", text))


def links(text: str) -> list[str]:
    """The targets of the links of a page."""
    return _LINK.findall(without_code(text))


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a page."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower()))
    return found


@dataclass(frozen=True)
class Command:
    """One command of a console block, and the output that the page shows."""

    line: str
    shown: str
    start: int
    end: int


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block, with the places of their output in the page."""
    places = [match.start() for match in re.finditer(r"^\$ ", block.text, re.MULTILINE)]
    for place, end in zip(places, [*places[1:], len(block.text)], strict=True):
        line, _, shown = block.text[place:end].partition("\n")
        begin = block.start + place + len(line) + 1
        yield Command(line[2:], shown, begin, block.start + end)


class Runner:
    """Runs the marked blocks of one page in a scratch folder that sees docs/ and proofs/ of the repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.namespace: dict[str, object] = {"__name__": "page"}
        self.status = 0
        for name in ("docs", "proofs"):
            (folder / name).symlink_to(ROOT / name)

    def python(self, block: Block, page: str) -> None:
        """Runs a block; its lines count as those of the page."""
        with chdir(self.folder):
            exec(compile("\n" * block.line + block.text, page, "exec", dont_inherit=True), self.namespace)

    def write(self, block: Block) -> None:
        """Writes the file of a block."""
        path = self.folder / block.mark.removeprefix("file: ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        if path.name == "pyproject.toml":
            self.install(block.text)

    def install(self, project: str) -> None:
        """Makes the entry points of a project in the scratch folder known, as installing it would."""
        described = tomllib.loads(project)["project"]
        folder = self.folder / f"{described['name'].replace('-', '_')}-{described['version']}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: {described['version']}\n", encoding="utf-8"
        )
        groups = described.get("entry-points", {})
        lines = [
            line for group, points in groups.items() for line in (f"[{group}]", *(f"{key} = {value}" for key, value in points.items()))
        ]
        (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def output(self, line: str) -> str | None:
        """What a command prints; None for a command that is not run here."""
        if line == "echo $?":
            return f"{self.status}\n"
        words = shlex.split(line)
        if words[:1] != ["tilecheck"]:
            return None
        from tilecheck.cli import main

        out, before = io.StringIO(), os.environ.get("COLUMNS")
        os.environ["COLUMNS"] = "80"
        try:
            with chdir(self.folder), redirect_stdout(out), redirect_stderr(out):
                sys.path.insert(0, str(self.folder))
                self.status = main(words[1:])
        finally:
            sys.path.remove(str(self.folder))
            if before is None:
                del os.environ["COLUMNS"]
            else:
                os.environ["COLUMNS"] = before
        return out.getvalue()


def normal(text: str) -> str:
    """Output without what differs from run to run: times, and by which methods clauses were decided."""
    text = re.sub(r'"ms": [0-9.]+', '"ms": 0', text)
    text = re.sub(r"\d+\s+goals?\s+in\s+[\d.]+\s+ms\s+\([^)]*\)", "N goals", text)
    text = re.sub(r"\bin [\d.]+ ms$", "in T ms", text, flags=re.MULTILINE)
    text = re.sub(r"\b\d+\s+clauses:\s+(?:\d+\s+by\s+\w+,?\s*)+", "N clauses\n", text)
    return text.rstrip()


def agrees(shown: str, real: str) -> bool:
    """Whether the shown output is the real one; `...` alone on a line stands for any lines."""
    parts = re.split(r"^\.\.\.(?:\n|\Z)", normal(shown), flags=re.MULTILINE)
    return re.fullmatch(".*".join(map(re.escape, parts)), normal(real), re.DOTALL) is not None


def refreshed(page: Path) -> str:
    """The page with the real output of its commands."""
    text = page.read_text(encoding="utf-8")
    changes: list[tuple[int, int, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder))
        for block in blocks(text):
            if block.mark.startswith("file: "):
                runner.write(block)
            elif block.language == "python" and block.mark == "run":
                runner.python(block, name_of(page))
            elif block.language == "console" and not block.mark:
                for command in commands(block):
                    real = runner.output(command.line)
                    if real is not None and command.shown.strip() and not agrees(command.shown, real):
                        blank = "\n" if command.shown.endswith("\n\n") else ""
                        changes.append((command.start, command.end, real.rstrip("\n") + "\n" + blank))
    for start, end, real in reversed(changes):
        text = text[:start] + real + text[end:]
    return text


if __name__ == "__main__":
    for one in pages():
        new = refreshed(one)
        if new != one.read_text(encoding="utf-8"):
            print(f"{name_of(one)}: output differs" + (", written" if "--update" in sys.argv else ""))
            if "--update" in sys.argv:
                one.write_text(new, encoding="utf-8")
