"""Everything the documentation shows is real: snippets run, commands print what follows them, documents can be read, links lead somewhere."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from pages import DOCS, ROOT, Runner, agrees, anchors, blocks, commands, links, name_of, pages

from tilecheck.document import read_file, read_text
from tilecheck.errors import InputError

PAGES = pages()


@cache
def texts() -> dict[str, str]:
    """Every page that links may lead to, the generated ones included, by its path in the repository."""
    found = {name_of(page): page.read_text(encoding="utf-8") for page in PAGES}
    return found | {f"docs/{path}": text for path, text in generator().pages().items()}


@cache
def generator():
    spec = importlib.util.spec_from_file_location("tilecheck_docs_generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_snippets_run_and_commands_print_what_the_page_shows(page, tmp_path):
    runner = Runner(tmp_path)
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.mark.startswith("file: "):
            runner.write(block)
        elif block.language == "python" and block.mark == "run":
            runner.python(block, name_of(page))
        elif block.language == "console" and not block.mark:
            for command in commands(block):
                real = runner.output(command.line)
                if real is not None and command.shown.strip():
                    assert agrees(command.shown, real), f"{name_of(page)}: `{command.line}` prints\n{real}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_blocks_compile(page):
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "python":
            compile(block.text, f"{name_of(page)}:{block.line}", "exec", dont_inherit=True)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_call_documents_can_be_read(page):
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.mark == "file: broken.json":
            with pytest.raises(InputError):
                read_text(block.text, where=name_of(page))
        elif block.language == "json" and '"tilecheck/call@1"' in block.text:
            assert read_text(block.text, where=f"{name_of(page)}:{block.line}")
        elif block.language == "json":
            json.loads(block.text)


@pytest.mark.parametrize("path", sorted(DOCS.glob("examples/*.json")), ids=name_of)
def test_document_files_can_be_read(path):
    assert read_file(path)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    known = texts()
    for link in links(known[name_of(page)]):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = page if not path else Path(os.path.normpath(page.parent / path))
        name = target.relative_to(ROOT).as_posix()
        assert name in known or target.exists(), f"{name_of(page)} links to {link}"
        if anchor:
            assert anchor in anchors(known[name]), f"{name_of(page)} links to {link}; there are {sorted(anchors(known[name]))}"


def test_the_same_program_generates_the_same_pages():
    def output(seed):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, str(DOCS / "generate.py")], capture_output=True, text=True, check=True, env=environment, cwd=ROOT
        )
        return done.stdout

    first = output("1")
    assert first == output("2")
    assert "## ldmatrix" in first


def test_every_mark_for_generated_text_is_known():
    module = generator()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if "<!-- generated:" in text:
            assert "<!-- generated:" not in module.insert(text), name_of(page)


def test_every_command_of_the_program_stands_in_the_reference():
    from tilecheck.cli import COMMANDS

    text = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"<!-- generated: help {name} -->" not in text] == []


def test_the_book_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "reference" / "contracts" / "matrix" / "index.html").exists()
    pages = list(tmp_path.rglob("*.html"))
    remote = [
        page for page in pages if "fonts.googleapis" in page.read_text(encoding="utf-8") or 'src="http' in page.read_text(encoding="utf-8")
    ]
    assert remote == []
