"""Patterns, against einops itself."""

from __future__ import annotations

import re

import pytest

from tilecheck.errors import InputError
from tilecheck.layout import Tensor, trace
from tilecheck.layout.pattern import fit, parse_pattern
from tilecheck.symbolic import var

PATTERNS = [
    ("(r m) w k -> k m r w", (16, 4, 2), {"r": 8, "m": 2}),
    ("(r m) w k -> k m r w", (16, 4, 2), {"m": 2}),
    ("i b j d -> j i (d b)", (15, 2, 7, 2), {}),
    ("a b -> b a", (3, 4), {}),
    ("a ... -> ... a", (3, 4, 5), {}),
    ("... a -> a ...", (3,), {}),
    ("... (a b) -> a ... b", (3, 4, 6), {"a": 2}),
    ("... a -> (... a)", (3, 4, 5), {}),
    ("a ... -> (a ...)", (3, 4, 5), {}),
    ("a ... b -> b (...) a", (3, 4, 5, 2), {}),
    ("a ... b -> b (...) a", (3, 2), {}),
    ("1 a -> a", (1, 4), {}),
    ("a -> 1 a ()", (4,), {}),
    ("() a -> a () 1", (1, 4), {}),
    ("(a 1 b) -> b a", (6,), {"a": 3}),
    ("(a) (b) -> (b a)", (2, 3), {}),
    ("->", (), {}),
    (" a   b->b a ", (2, 3), {}),
    ("for axis -> axis for", (2, 3), {}),
]


@pytest.mark.parametrize(("pattern", "shape", "sizes"), PATTERNS)
def test_a_rearrange_is_the_one_einops_makes(pattern: str, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    numpy = pytest.importorskip("numpy")
    einops = pytest.importorskip("einops")
    import warnings

    data = numpy.arange(int(numpy.prod(shape))).reshape(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = einops.rearrange(data, pattern, **sizes)
    traced = trace(Tensor("T", shape, "uint8", space="shared").rearrange(pattern, **sizes))
    assert traced.shape == expected.shape
    for coords in numpy.ndindex(expected.shape):
        assert traced.locate([int(c) for c in coords]).linear == expected[coords]


@pytest.mark.parametrize(
    ("pattern", "shape", "sizes", "words"),
    [
        ("a b -> a", (2, 3), {}, "found b on one side only"),
        ("a -> a b", (2,), {}, "found b on one side only"),
        ("a a -> a", (2, 2), {}, "duplicate dimension"),
        ("a -> a a", (2,), {}, "duplicate dimension"),
        ("a b", (2, 3), {}, "found 0 arrows"),
        ("a -> b -> a", (2,), {}, "found 2 arrows"),
        ("(a b) -> a b", (6,), {}, "found no sizes for a, b"),
        ("(a b) -> a b", (6,), {"a": 4}, "expected a multiple of 4"),
        ("(a b) -> a b", (6,), {"a": 2, "b": 4}, "expected 8"),
        ("a b -> b a", (2, 3), {"a": 3}, "expected 3"),
        ("a b -> b a", (2, 3), {"q": 3}, "found a size for 'q'"),
        ("a b -> b a", (2, 3, 4), {}, "found a view of rank 3, expected 2"),
        ("a b c ... -> c b a ...", (2, 3), {}, "expected at least 3"),
        ("1 a -> a", (2, 4), {}, "found an axis of extent 2"),
        ("a (...) -> a (...)", (2, 4), {}, "found an ellipsis in brackets on the left"),
        ("a 2 -> 2 a", (2, 2), {}, "found a number as an axis"),
        ("((a) b) -> a b", (2,), {}, "brackets inside brackets"),
        ("a) -> a", (2,), {}, "not balanced"),
        ("a* -> a*", (2,), {}, "Unknown character"),
        ("a.. -> a", (2,), {}, "dots"),
        ("... ... -> ...", (2,), {}, "only one ellipsis"),
        ("... a -> a", (2, 2), {}, "found ... on one side only"),
        ("a" * 2000 + " -> a", (2,), {}, "2005 characters"),
        ("a b -> b a", (2, 3), {"a": 0}, "found size 0"),
        ("² -> ²", (2,), {}, "pattern"),
    ],
)
def test_a_pattern_that_is_no_rearrange_is_an_input_error(pattern: str, shape: tuple[int, ...], sizes: dict[str, int], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        fit(pattern, shape, sizes)


def test_symbolic_extents_divide_as_polynomials() -> None:
    n = var("n")
    assert fit("(a b) c -> b a c", (4 * n, n), {"b": 4}).shape == (4, n, n)
    assert str(fit("a b -> (a b)", (4, n), {}).shape[0]) == "4*n"
    with pytest.raises(InputError, match="expected a multiple of 4"):
        fit("(a b) -> b a", (n,), {"b": 4})


def test_einops_still_offers_the_interface_that_the_pattern_file_uses() -> None:
    assert parse_pattern("(a b) ... 1 -> ... () b a") == ((("a", "b"), ("…",), ()), (("…",), (), ("b",), ("a",)))
