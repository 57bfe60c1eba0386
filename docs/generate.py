"""The parts of the documentation that are read from the program: a page for each family of contracts, and inserts in other pages.

MkDocs runs this as a hook (`hooks:` in mkdocs.yml); nothing is written into the tree. A line `<!-- generated: NAME ... -->` in a page is
replaced by what `insert` makes of it. `python docs/generate.py` prints the generated pages. The same program gives the same text.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

from tilecheck.document import CONDITIONS, SPACES, WORDS
from tilecheck.layout.axes import AXES
from tilecheck.layout.dtypes import DTYPE_BITS
from tilecheck.report.contracts import evidence
from tilecheck.report.options import FORMATS
from tilecheck.schema import SCHEMAS
from tilecheck.spec import built_in_families
from tilecheck.spec.limits import SHARED_BYTES

sys.path.insert(0, str(Path(__file__).resolve().parent))
from contract_pages import block, code, codes, family_page, index_page, table

ROOT = Path(__file__).resolve().parent.parent
CONTRACTS = "reference/contracts"


@cache
def pages(root: Path = ROOT) -> dict[str, str]:
    """Every generated page by its path under docs/."""
    records = list(evidence(root))
    families = built_in_families()
    found = {f"{CONTRACTS}/index.md": index_page(families)}
    return found | {f"{CONTRACTS}/{family.name}.md": family_page(family, records) for family in families}


# --- inserts ----------------------------------------------------------------------------------------------------------


def help_text(*command: str) -> str:
    """What `tilecheck COMMAND --help` prints, 100 columns wide."""
    from tilecheck.cli import main

    out, before = io.StringIO(), {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR")}
    os.environ.update(COLUMNS="100", NO_COLOR="1")
    try:
        with redirect_stdout(out):
            main([*command, "--help"])
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return block(out.getvalue().replace("usage: __main__.py", "usage: tilecheck"))


def dtypes() -> str:
    """The dtypes by width."""
    widths: dict[int, list[str]] = {}
    for name, bits in DTYPE_BITS.items():
        widths.setdefault(bits, []).append(name)
    return table(("bits", "dtypes"), ((bits, codes(names, ", ")) for bits, names in sorted(widths.items())))


def keys(name: str, definition: str = "") -> str:
    """The keys of a schema (or of one of its definitions): whether they must be there, and what they hold."""
    schema: Any = SCHEMAS[name]()
    part = schema["$defs"][definition] if definition else schema
    rows = [(code(key), "yes" if key in part["required"] else "", holds(value)) for key, value in part["properties"].items()]
    return table(("key", "required", "holds"), rows)


def holds(schema: Any) -> str:
    """What a schema admits, in words."""
    if schema is True:
        return "anything"
    if "$ref" in schema:
        return str(schema["$ref"]).split("/")[-1].replace("urn:tilecheck:", "")
    if "anyOf" in schema or "oneOf" in schema:
        return " or ".join(holds(one) for one in schema.get("anyOf") or schema["oneOf"])
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return codes(schema["enum"], ", ") if len(schema["enum"]) < 12 else "a dtype"
    if "description" in schema:
        return str(schema["description"])
    if schema.get("type") == "array":
        inner = f"a list of {holds(schema['items'])}" if "items" in schema and "prefixItems" not in schema else "a list"
        return inner + (f", at most {schema['maxItems']}" if "maxItems" in schema else "")
    if schema.get("type") == "object":
        return "an object: " + codes(schema["properties"], ", ") if schema.get("properties") else "an object"
    least = f" of at least {schema['minimum']}" if "minimum" in schema else ""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    words = {"string": "text", "integer": "an integer", "number": "a number", "boolean": "true or false", "null": "null"}
    return " or ".join(words.get(kind, kind) for kind in kinds) + least


def shared_limits() -> str:
    """The largest shared allocation by architecture."""
    return table(("architecture", "bytes"), ((f"sm_{number}", size) for number, size in SHARED_BYTES))


INSERTS: dict[str, Callable[..., str]] = {
    "help": help_text,
    "dtypes": dtypes,
    "keys": keys,
    "axes": lambda: codes(AXES, ", ") + "\n",
    "spaces": lambda: codes(SPACES, ", ") + "\n",
    "words": lambda: codes(sorted(WORDS), ", ") + "\n",
    "conditions": lambda: codes(sorted(CONDITIONS), ", ") + "\n",
    "formats": lambda: codes(FORMATS, ", ") + "\n",
    "shared-limits": shared_limits,
}
_MARK = re.compile(r"^<!-- generated: ([a-z-]+)((?: [a-z-]+)*) -->$", re.MULTILINE)


def insert(markdown: str) -> str:
    """The page with every mark replaced."""
    return _MARK.sub(lambda match: INSERTS[match[1]](*match[2].split()).rstrip("\n"), markdown)


# --- MkDocs -----------------------------------------------------------------------------------------------------------


def on_config(config: Any) -> Any:
    """Puts the generated pages into the navigation, behind reference/contracts/index.md."""
    mine = [path for path in pages() if not path.endswith("index.md")]

    def extended(items: list[Any]) -> list[Any]:
        found: list[Any] = []
        for item in items:
            found.append({k: extended(v) if isinstance(v, list) else v for k, v in item.items()} if isinstance(item, dict) else item)
            if item == f"{CONTRACTS}/index.md" or (isinstance(item, dict) and f"{CONTRACTS}/index.md" in item.values()):
                found.extend(mine)
        return found

    config.nav = extended(config.nav)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the generated pages."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replaces the marks of a page."""
    return insert(markdown)


if __name__ == "__main__":
    for where, text in pages().items():
        print(f"<!-- {where} -->\n{text}")
