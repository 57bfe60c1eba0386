"""Random expressions as text, for Hypothesis: integers and conditions over a few names."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

NAMES = ("i", "j", "laneid")
SETTINGS = settings(deadline=None, max_examples=300, derandomize=True, database=None)
"""Derandomised: the same examples in every run. `--hypothesis-seed` has no say; change max_examples to look further."""

numbers = st.one_of(st.integers(0, 9), st.sampled_from([15, 16, 31, 64, 255, 1 << 31, (1 << 63) - 1]))
literals = numbers.flatmap(lambda n: st.sampled_from([str(n), str(n), hex(n), bin(n)]))
leaves = st.one_of(literals, st.sampled_from(NAMES), st.sampled_from(NAMES))
spaces = st.sampled_from(["", " ", "  "])


def _wrapped(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from([text, f"({text})", f"( {text} )"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """One operator around integers; the arms of binary operators are in parentheses half of the time, so that precedence is tried too."""
    pair = st.tuples(inner, inner)
    arm = inner.flatmap(_wrapped)
    return st.one_of(
        st.tuples(arm, spaces, st.sampled_from(["+", "-", "*", "//", "%", "^", "&", "|", "<<", ">>"]), spaces, arm).map("".join),
        arm.map(lambda text: f"-({text})"),
        inner.filter(lambda text: not text.startswith("-")).map(lambda text: f"-{text}"),
        st.tuples(st.sampled_from(["min", "max", "tdiv", "tmod"]), pair).map(lambda made: f"{made[0]}({made[1][0]}, {made[1][1]})"),
        st.tuples(conditions_over(inner), inner, inner).map(lambda made: f"select({made[0]}, {made[1]}, {made[2]})"),
    )


def conditions_over(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Comparisons, chains of them, and what joins them."""
    operator = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    plain = st.tuples(inner, spaces, operator, spaces, inner).map("".join)
    chain = st.tuples(inner, operator, inner, operator, inner).map(" ".join)
    single = st.one_of(plain, plain, chain, st.sampled_from(["true", "false"]))
    joined = st.tuples(single, st.sampled_from([" and ", " or "]), single).map("".join)
    return st.one_of(single, joined, single.map(lambda text: f"not {text}"), joined.map(lambda text: f"not ({text})"), st.tuples(joined, st.just(" or "), single).map("".join))


integers = st.recursive(leaves, _larger, max_leaves=10)
conditions = conditions_over(st.recursive(leaves, _larger, max_leaves=4))
values = st.fixed_dictionaries({
    "i": st.one_of(st.integers(-70, 70), st.integers(-(1 << 40), 1 << 40)), "j": st.integers(-9, 9), "laneid": st.integers(0, 31),
})
