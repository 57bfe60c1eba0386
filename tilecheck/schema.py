"""The JSON Schemas (draft 2020-12) of the documents tilecheck reads and writes: `call`, `case`, `kernel`, `verdict`, `theorem`.

A schema says what a document is made of. What it cannot say (that a name is declared, that the sizes of a reshape multiply out,
that an expression parses) is the reader's business: every document that is read follows its schema, not the reverse.
"""

from __future__ import annotations

from tilecheck.call import INDEX_DTYPES, MAX_CLUSTER, SCOPES, VARIES
from tilecheck.document import CALL_SCHEMA, MAX_OPERANDS, MAX_RANK, SPACES, STATUSES
from tilecheck.kernels import KERNEL_SCHEMA, MAX_CALLS
from tilecheck.layout.dtypes import DTYPE_BITS
from tilecheck.scalar.function import MAX_PARAMETERS
from tilecheck.scalar.types import SCALAR_TYPES

Schema = dict[str, object]

VERDICT_SCHEMA = "tilecheck/verdict@1"
THEOREM_SCHEMA = "tilecheck/theorem@1"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
POSITIVE: Schema = {"type": "integer", "minimum": 1}
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
TERM: Schema = {"description": "an integer, or an integer expression", "type": ["integer", "string"]}
CONDITION: Schema = {"description": "true, false, or an expression", "type": ["boolean", "string"]}


def schema(name: str) -> Schema:
    """The schema called `call`, `case`, `kernel`, `verdict` or `theorem`."""
    return SCHEMAS[name]()


def _object(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _list(items: Schema, least: int = 0, most: int | None = None) -> Schema:
    return {"type": "array", "items": items, **({"minItems": least} if least else {}), **({"maxItems": most} if most is not None else {})}


def _choice(values: tuple[str, ...]) -> Schema:
    return {"enum": list(values)}


def _or_null(one: Schema) -> Schema:
    return {"anyOf": [one, {"type": "null"}]}


def call() -> Schema:
    """The schema of tilecheck/call@1."""
    properties: Schema = {
        "schema": {"const": CALL_SCHEMA},
        "id": TEXT,
        "opcode": {"description": "a PTX opcode", "type": "string", "pattern": "^[A-Za-z0-9_.:]{1,300}$"},
        "arch": _arch(),
        "scope": _choice(SCOPES),
        "launch": _or_null(_launch()),
        "guard": _or_null(CONDITION),
        "index_dtype": _or_null(_choice(tuple(INDEX_DTYPES))),
        "symbols": _or_null(_list({"$ref": "#/$defs/symbol"}, most=100)),
        "assume": _or_null(_list(CONDITION, most=1000)),
        "operands": _list({"anyOf": [{"$ref": "#/$defs/view"}, {"$ref": "#/$defs/scalar"}]}, most=MAX_OPERANDS),
        "parameters": _or_null({"type": "object", "additionalProperties": {"$ref": "#/$defs/parameter"}}),
        "function": _or_null(_function()),
    }
    return {
        "$schema": DRAFT,
        "$id": "urn:tilecheck:call@1",
        "title": CALL_SCHEMA,
        "description": "One PTX tile instruction applied to views under a scope, a launch, a guard and facts about symbols.",
        **_object(properties, ("schema", "opcode", "scope", "operands")),
        "$defs": {"symbol": _symbol(), "view": _view(), "scalar": _scalar(), "step": {"oneOf": _steps()}, "parameter": _parameter()},
    }


def _arch() -> Schema:
    return _or_null({"type": "string", "pattern": "^sm_[0-9]{2,3}[af]?$"})


def _launch() -> Schema:
    block: Schema = {"type": "integer", "minimum": 1, "maximum": 1024}
    cluster: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_CLUSTER}
    return _object({"block": _list(block, 1, 3), "cluster": _or_null(_list(cluster, 1, 3))}, ("block",))


def _symbol() -> Schema:
    name: Schema = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
    bounds: Schema = {"min": _or_null(INTEGER), "max": _or_null(INTEGER), "multiple_of": _or_null(POSITIVE)}
    return _object({"name": name, **bounds, "varies": _or_null(_choice(VARIES))}, ("name",))


def _view() -> Schema:
    properties: Schema = {
        "name": NAME,
        "tensor": _or_null(TEXT),
        "space": _choice(SPACES),
        "dtype": _choice(tuple(DTYPE_BITS)),
        "shape": _list({"anyOf": [POSITIVE, TEXT]}, most=MAX_RANK),
        "align": _or_null(POSITIVE),
        "base": _or_null(_object({"mod": POSITIVE, "is": COUNT}, ("mod", "is"))),
        "size_bytes": _or_null(COUNT),
        "layout": _or_null({"description": "S[shape:strides] + R[shape:strides] + offset, swizzles in front", "type": "string"}),
        "view": _or_null(_list({"$ref": "#/$defs/step"}, most=64)),
    }
    return _object(properties, ("name", "space", "dtype", "shape"))


def _scalar() -> Schema:
    return _object({"name": NAME, "value": {"type": ["number", "string"]}}, ("name", "value"))


def _steps() -> list[Schema]:
    terms = _list(TERM, most=MAX_RANK)
    sizes = _or_null({"type": "object", "additionalProperties": TERM})
    steps: tuple[tuple[str, Schema, tuple[str, ...]], ...] = (
        ("slice", {"begin": terms, "extent": _list(_or_null(POSITIVE), most=MAX_RANK)}, ("begin", "extent")),
        ("permute", {"order": _list(COUNT, most=MAX_RANK)}, ("order",)),
        ("rearrange", {"pattern": TEXT, "sizes": sizes}, ("pattern",)),
        ("reshape", {"shape": terms}, ("shape",)),
        ("view", {"dtype": _choice(tuple(DTYPE_BITS))}, ("dtype",)),
        ("broadcast", {"shape": terms}, ("shape",)),
    )
    return [_object({"op": {"const": op}, **properties}, ("op", *required)) for op, properties, required in steps]


def _parameter() -> Schema:
    return {"type": ["integer", "boolean", "string", "array", "null"], "items": {"$ref": "#/$defs/parameter"}}


def _function() -> Schema:
    """A typed scalar function, which `ewise` applies."""
    name: Schema = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}
    pair: Schema = {"type": "array", "prefixItems": [name, _choice(SCALAR_TYPES)], "minItems": 2, "maxItems": 2}
    return _object(
        {"params": _list(pair, most=MAX_PARAMETERS), "result": _choice(SCALAR_TYPES), "body": TEXT}, ("params", "result", "body")
    )


def case() -> Schema:
    """The schema of a case file's entry: a call, or a kernel, with the verdict that is expected of it."""
    what: Schema = {"call": {"$ref": "urn:tilecheck:call@1"}, "kernel": _kernel()}
    one = {**_case(what, ()), "oneOf": [{"required": ["call"]}, {"required": ["kernel"]}]}
    return {"$schema": DRAFT, "title": "a tilecheck case", **one, "$defs": {"call": call()}}


def _case(what: Schema, required: tuple[str, ...]) -> Schema:
    expected: Schema = {"expect": _choice(STATUSES), "clause": _or_null(TEXT), "hazard": _or_null(TEXT)}
    return _object({"id": TEXT, **expected, "why": TEXT, "origin": True, "sure": True, **what}, required)


def kernel() -> Schema:
    """The schema of tilecheck/kernel@1: the calls of one kernel, in the order of its program text."""
    return {
        "$schema": DRAFT,
        "$id": "urn:tilecheck:kernel@1",
        "title": KERNEL_SCHEMA,
        "description": "The calls of one kernel, for what they share; calls without arch and launch have those of the kernel.",
        **_kernel(),
        "$defs": {"call": call()},
    }


def _kernel() -> Schema:
    one: Schema = {"$ref": "urn:tilecheck:call@1"}
    properties: Schema = {
        "schema": {"const": KERNEL_SCHEMA},
        "id": TEXT,
        "arch": {"description": "of the calls that name none", **_arch()},
        "launch": {"description": "of all calls", **_or_null(_launch())},
        "calls": {"description": "call documents, or cases", **_list({"anyOf": [one, _case({"call": one}, ("call",))]}, 1, MAX_CALLS)},
    }
    return _object(properties, ("schema", "calls"))


def verdict() -> Schema:
    """The schema of tilecheck/verdict@1."""
    text_or_null: Schema = {"type": ["string", "null"]}
    count_or_null: Schema = {"type": ["integer", "null"]}
    clause = _all(
        {
            "id": TEXT,
            "status": _choice(STATUSES),
            "method": TEXT,
            "ms": {"type": "number"},
            "statement": TEXT,
            "source": TEXT,
            "reason": text_or_null,
            "counterexample": _or_null({"$ref": "#/$defs/counterexample"}),
        }
    )
    symbol: Schema = {"name": TEXT, "min": INTEGER, "max": INTEGER, "multiple_of": POSITIVE}
    operand: Schema = {"index": COUNT, "name": TEXT, "align": POSITIVE, "base": _all({"mod": POSITIVE, "is": COUNT})}
    fact = _all(
        {
            "text": TEXT,
            "assume": text_or_null,
            "symbol": _or_null(_object(symbol, ("name",))),
            "operand": _or_null(_object(operand, ("index", "name"))),
        }
    )
    premise = _all({"text": TEXT, "weakest": {"type": "boolean"}, "facts": _list(fact, least=1)})
    coordinates = _list(INTEGER)
    counterexample = _all(
        {
            "symbols": {"type": "object", "additionalProperties": INTEGER},
            "cta": count_or_null,
            "warp": count_or_null,
            "lane": count_or_null,
            "group": coordinates,
            "repeat": coordinates,
            "atom": coordinates,
            "expected": TEXT,
            "actual": TEXT,
            "sentence": TEXT,
        }
    )
    properties: Schema = {
        "schema": {"const": VERDICT_SCHEMA},
        "id": TEXT,
        "status": _choice(STATUSES),
        "arch_floor": text_or_null,
        "instructions": count_or_null,
        "reason": text_or_null,
        "clauses": _list({"$ref": "#/$defs/clause"}),
        "hazards": _list(_all({"id": TEXT, "sentence": TEXT})),
        "conditions": _list(TEXT),
        "premises": _list({"$ref": "#/$defs/premise"}),
        "expect": _or_null(_choice(STATUSES)),
        "as_expected": {"type": ["boolean", "null"]},
        "tool": _all({"version": TEXT, "contract_hash": text_or_null}),
    }
    return {
        "$schema": DRAFT,
        "$id": "urn:tilecheck:verdict@1",
        "title": VERDICT_SCHEMA,
        "description": "The answer about one call: its status, clause by clause.",
        **_all(properties),
        "$defs": {"clause": clause, "counterexample": counterexample, "premise": premise},
    }


def theorem() -> Schema:
    """The schema of tilecheck/theorem@1."""
    status = _choice(("proved", "refuted", "unproved", "vacuous"))
    text_or_null: Schema = {"type": ["string", "null"]}
    values: Schema = {"type": "object", "additionalProperties": INTEGER}
    goal = _all({"label": TEXT, "status": status, "method": TEXT, "ms": {"type": "number"}, "values": values, "reason": text_or_null})
    properties: Schema = {
        "schema": {"const": THEOREM_SCHEMA},
        "id": TEXT,
        "status": status,
        "ms": {"type": "number"},
        "reason": text_or_null,
        "goals": _list(goal),
        "as_expected": {"type": "boolean"},
        "tool": _all({"version": TEXT}),
    }
    return {
        "$schema": DRAFT,
        "$id": "urn:tilecheck:theorem@1",
        "title": THEOREM_SCHEMA,
        "description": "The answer about one theorem of a check file: its status, goal by goal.",
        **_all(properties),
    }


def _all(properties: Schema) -> Schema:
    return _object(properties, tuple(properties))


SCHEMAS = {"call": call, "case": case, "kernel": kernel, "verdict": verdict, "theorem": theorem}
