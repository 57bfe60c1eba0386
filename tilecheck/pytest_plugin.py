"""A pytest plugin: `pytest --tilecheck proofs/` collects the claims of check files, each a test that fails with its report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tilecheck.errors import TilecheckError

if TYPE_CHECKING:
    from tilecheck.claims import Claim


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--tilecheck`."""
    group = parser.getgroup("tilecheck")
    group.addoption("--tilecheck", action="store_true", default=False, help="collect the claims of check files (*.py)")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ClaimFile | None:
    """A check file, where asked for."""
    if file_path.suffix != ".py" or not parent.config.getoption("--tilecheck"):
        return None
    from tilecheck.claims import has_claims

    if not has_claims(file_path):
        return None
    return ClaimFile.from_parent(parent, path=file_path)  # type: ignore[reportUnknownMemberType] (pytest leaves it untyped)


class ClaimFile(pytest.File):
    """A check file; its items are its claims."""

    def collect(self) -> Iterator[ClaimItem]:
        """The claims, in the order they are written."""
        from tilecheck.claims import collect

        try:
            claims = collect(self.path)
        except TilecheckError as error:
            raise self.CollectError(str(error)) from error
        for one in claims:
            yield ClaimItem.from_parent(self, name=one.name, claim=one)  # type: ignore[reportUnknownMemberType] (pytest leaves it untyped)


class ClaimFailedError(Exception):
    """A claim came out otherwise than it says; the text is the report."""


class ClaimItem(pytest.Item):
    """One claim: passes where every call it returns comes out as the claim says."""

    def __init__(self, *, claim: Claim, **others: object) -> None:
        super().__init__(**others)  # type: ignore[reportArgumentType]
        self.claim = claim

    def runtest(self) -> None:
        """Checks the calls of the claim."""
        from tilecheck.report.items import check_items, claim_items
        from tilecheck.report.text import screen

        outcomes = check_items(claim_items(self.claim))
        wrong = [outcome for outcome in outcomes if not outcome.as_expected]
        if wrong:
            raise ClaimFailedError("".join(screen(outcome) for outcome in wrong))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:  # type: ignore[override]  # noqa: ARG002 (pytest's signature)
        """The report of a claim that failed, the message of one that cannot be checked, a traceback for anything else."""
        if isinstance(excinfo.value, ClaimFailedError | TilecheckError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the claim stands."""
        return self.path, self.claim.line - 1, f"claim {self.name}"
