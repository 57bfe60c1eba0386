"""Random expressions as text, for Hypothesis: integers and conditions over a few names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

NAMES = ("i", "j", "laneid")
SETTINGS = settings(deadline=None, max_examples=120, derandomize=True, database=None)
"""Derandomised: the same examples in every run."""

Draw = Callable[[st.SearchStrategy[Any]], Any]
LITERALS = st.sampled_from(
    ["0", "1", "2", "3", "4", "7", "8", "9", "15", "16", "31", "64", "0x10", "0b101", "1_0", "2147483648", "9223372036854775807"]
)
INTEGER_KINDS = st.sampled_from(["literal", "name", "name", "binary", "binary", "binary", "minus", "function", "function", "select"])
BINARY = st.sampled_from(["+", "-", "*", "//", "%", "^", "&", "|", "<<", ">>", " + ", " - ", "  *", "// ", " % "])
FUNCTIONS = st.sampled_from(["min", "max", "tdiv", "tmod"])
COMPARISONS = st.sampled_from(["==", "!=", "<", " <= ", "> ", " >="])
CONDITION_KINDS = st.sampled_from(["plain", "plain", "plain", "chain", "constant", "and", "or", "not"])
YES_OR_NO = st.booleans()


def _integer(draw: Draw, depth: int) -> str:
    """One operator around smaller integers; its arms stand in parentheses half of the time, so that precedence is tried too."""
    kind = draw(INTEGER_KINDS) if depth else draw(st.sampled_from(["literal", "name"]))
    if kind == "literal":
        return draw(LITERALS)
    if kind == "name":
        return draw(st.sampled_from(NAMES))
    if kind == "select":
        return f"select({_condition(draw, depth - 1)}, {_integer(draw, depth - 1)}, {_integer(draw, depth - 1)})"
    arms = [_integer(draw, depth - 1) for _ in range(1 if kind == "minus" else 2)]
    if kind == "function":
        return f"{draw(FUNCTIONS)}({arms[0]}, {arms[1]})"
    arms = [f"({arm})" if draw(YES_OR_NO) else arm for arm in arms]
    return f"-{arms[0]}" if kind == "minus" else draw(BINARY).join(arms)


def _condition(draw: Draw, depth: int) -> str:
    """Comparisons, chains of them, and what joins them."""
    kind = draw(CONDITION_KINDS) if depth else draw(st.sampled_from(["plain", "chain"]))
    below = max(0, depth - 1)
    if kind == "constant":
        return draw(st.sampled_from(["true", "false", "True", "False"]))
    if kind == "not":
        return f"not {_condition(draw, 0)}" if draw(YES_OR_NO) else f"not ({_condition(draw, below)})"
    if kind in {"and", "or"}:
        arms = [_condition(draw, below) for _ in range(2)]
        return f" {kind} ".join(f"({arm})" if draw(YES_OR_NO) else arm for arm in arms)
    numbers = [_integer(draw, below) for _ in range(2 if kind == "plain" else 3)]
    return numbers[0] + "".join(draw(COMPARISONS) + number for number in numbers[1:])


@st.composite
def integers(draw: Draw) -> str:
    """An integer expression."""
    return _integer(draw, draw(st.integers(0, 4)))


@st.composite
def conditions(draw: Draw) -> str:
    """A condition."""
    return _condition(draw, draw(st.integers(0, 3)))


values = st.fixed_dictionaries(
    {"i": st.one_of(st.integers(-70, 70), st.integers(-(1 << 40), 1 << 40)), "j": st.integers(-9, 9), "laneid": st.integers(0, 31)}
)
