"""A pytest plugin: `pytest --tilecheck proofs/` collects the claims and theorems of check files, each a test that fails with its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tilecheck.errors import TilecheckError

if TYPE_CHECKING:
    from tilecheck.claims import Claim, TheoremClaim
    from tilecheck.report.items import AnyItem


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--tilecheck`."""
    group = parser.getgroup("tilecheck")
    group.addoption("--tilecheck", action="store_true", default=False, help="collect the claims and theorems of check files (*.py)")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ClaimFile | None:
    """A check file, where asked for."""
    if file_path.suffix != ".py" or not parent.config.getoption("--tilecheck"):
        return None
    from tilecheck.claims import has_claims

    if not has_claims(file_path):
        return None
    return ClaimFile.from_parent(parent, path=file_path)  # type: ignore[reportUnknownMemberType] (pytest leaves it untyped)


class ClaimFile(pytest.File):
    """A check file; its items are its claims, and its theorems at each of their ranks."""

    def collect(self) -> Iterator[ClaimItem]:
        """The claims and theorems, in the order they are written."""
        from tilecheck.claims import Claim, collect

        try:
            marked = collect(self.path)
        except TilecheckError as error:
            raise self.CollectError(str(error)) from error
        for one in marked:
            for name, rank in [(one.name, None)] if isinstance(one, Claim) else [(one.case_name(rank), rank) for rank in one.cases]:
                yield ClaimItem.from_parent(self, name=name, marked=one, rank=rank)  # type: ignore[reportUnknownMemberType] (pytest leaves it untyped)


class ClaimFailedError(Exception):
    """A claim came out otherwise than it says, or a theorem is not proved; the text is the report."""


class ClaimItem(pytest.Item):
    """One claim: passes where every call it returns comes out as the claim says. Or one theorem at one rank: passes where it is proved."""

    def __init__(self, *, marked: Claim | TheoremClaim, rank: int | None, **others: object) -> None:
        super().__init__(**others)  # type: ignore[reportArgumentType]
        self.marked = marked
        self.rank = rank

    def runtest(self) -> None:
        """Checks the calls of the claim, or proves the theorem."""
        from tilecheck.report.items import check_items
        from tilecheck.report.text import screen

        wrong = [outcome for outcome in check_items(self._items()) if not outcome.as_expected]
        if wrong:
            raise ClaimFailedError("".join(screen(outcome) for outcome in wrong))

    def _items(self) -> Sequence[AnyItem]:
        from tilecheck.claims import Claim
        from tilecheck.report.items import claim_items
        from tilecheck.report.theorems import TheoremItem

        return claim_items(self.marked) if isinstance(self.marked, Claim) else [TheoremItem(self.marked, self.rank)]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:  # type: ignore[override]  # noqa: ARG002 (pytest's signature)
        """The report of a claim that failed, the message of one that cannot be checked, a traceback for anything else."""
        if isinstance(excinfo.value, ClaimFailedError | TilecheckError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the function stands."""
        return self.path, self.marked.line - 1, f"{self.marked.kind} {self.name}"
