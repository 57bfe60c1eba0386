"""JSON paths to lines of the text they lead into."""

import json

import pytest

from tilecheck.report.locate import line_of

TEXT = """
{"a": 1,
 "b": [10,
       {"c": [
          [],
          "]"], "d.e": {
          "f": null}},
       30],
 "g" : 7
}"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("$", 2),
        ("$.a", 2),
        ("$.b", 3),
        ("$.b[0]", 3),
        ("$.b[1]", 4),
        ("$.b[1].c[0]", 5),
        ("$.b[1].c[1]", 6),
        ("$.b[1].d.e", 6),
        ("$.b[1].d.e.f", 7),
        ("$.b[2]", 8),
        ("$.g", 9),
    ],
)
def test_a_path_leads_to_the_line_of_its_value(path: str, line: int) -> None:
    json.loads(TEXT)
    assert line_of(TEXT, path) == line


@pytest.mark.parametrize(("path", "line"), [("$.z", 2), ("$.b[9]", 3), ("$.b[1].c[7].x", 4), ("$.a.b", 2), ("$[0]", 2)])
def test_a_path_that_ends_early_leads_to_the_deepest_value_on_the_way(path: str, line: int) -> None:
    assert line_of(TEXT, path) == line


@pytest.mark.parametrize("text", ["", "{", "[", '{"a', "nonsense", "[" * 10_000])
def test_text_that_is_no_json_has_no_line_or_some_line(text: str) -> None:
    assert line_of(text, "$.a[0].b") in {None, 1}
