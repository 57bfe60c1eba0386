"""The solvers that can re-check: the Python packages of z3, cvc5 and bitwuzla, loaded when asked for."""

# The packages have no type stubs.
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from tilecheck.certificates.obligations import SAT, UNKNOWN, UNSAT
from tilecheck.errors import InputError

Answer = tuple[str, str]
"""(unsat, sat or unknown; for unknown, why)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may cost. rlimit: in the solver's own units, the same on every machine (bitwuzla has none); seconds: by the clock."""

    rlimit: int | None = None
    seconds: int = 60


@dataclass(frozen=True, slots=True)
class Solver:
    """A solver: the package it comes in, the logics it reads (None: all), its resource limit where none is given, and how it is asked."""

    package: str
    logics: frozenset[str] | None
    rlimit: int | None
    ask: Callable[[str, str, Limits], Answer]

    def require(self, name: str) -> str:
        """The version of the package; InputError where it is missing."""
        from importlib.metadata import PackageNotFoundError
        from importlib.metadata import version as installed

        try:
            importlib.import_module(name)
            return installed(self.package)
        except (ImportError, PackageNotFoundError):
            raise InputError(
                f"{name} cannot be imported; install tilecheck[recheck], or the package {self.package}", where="--solver"
            ) from None


def _plain(answer: object, why: str = "") -> Answer:
    word = str(answer).rsplit(".", 1)[-1].lower()
    return (word, "") if word in {UNSAT, SAT} else (UNKNOWN, why or "no answer within the limits")


def _z3(text: str, logic: str, limits: Limits) -> Answer:
    import z3

    solver = z3.SolverFor(logic, ctx=z3.Context())
    solver.set("timeout", 1000 * limits.seconds)
    if limits.rlimit is not None:
        solver.set("rlimit", limits.rlimit)
    solver.from_string(text)
    answer = solver.check()
    return _plain(answer, solver.reason_unknown() if answer == z3.unknown else "")


def _cvc5(text: str, logic: str, limits: Limits) -> Answer:
    import cvc5

    del logic  # the file sets it
    manager = cvc5.TermManager()
    solver = cvc5.Solver(manager)
    solver.setOption("tlimit-per", str(1000 * limits.seconds))
    if limits.rlimit is not None:
        solver.setOption("rlimit-per", str(limits.rlimit))
    symbols = cvc5.SymbolManager(manager)
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "certificate")
    answer = ""
    while not (command := parser.nextCommand()).isNull():
        answer = command.invoke(solver, symbols).strip() or answer
    return _plain(answer, answer)


def _bitwuzla(text: str, logic: str, limits: Limits) -> Answer:
    import bitwuzla

    del logic
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, 1000 * limits.seconds)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(text, parse_only=True, parse_file=False)
    return _plain(parser.bitwuzla().check_sat())


SOLVERS: dict[str, Solver] = {
    "cvc5": Solver("cvc5", None, 5_000_000, _cvc5),
    "bitwuzla": Solver("bitwuzla", frozenset({"QF_BV"}), None, _bitwuzla),
    "z3": Solver("z3-solver", None, 100_000_000, _z3),
}
