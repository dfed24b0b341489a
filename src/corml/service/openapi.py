"""The OpenAPI 3.1 description, made from the table of operations."""

from typing import Any

import msgspec
from msgspec.inspect import StructType, type_info

from corml._runtime.version import VERSION
from corml.service.operations import ANYWHERE, PUBLIC, TABLE, Operation
from corml.service.problems import MEDIA_TYPE, STATUSES, Problem
from corml.service.schema import MAX_EXPLAINED

__all__ = ["description"]

REFERENCE = "#/components/schemas/{name}"
# What types cannot say: for whom is said once, and lists that are explained are short.
_ONCE = {"not": {"required": ["user", "history"], "properties": {"history": {"minItems": 1}}}}
_SHORT = {
    "if": {"required": ["explain"], "properties": {"explain": {"const": True}}},
    "then": {"properties": {"k": {"maximum": MAX_EXPLAINED}}},
}


def description() -> dict[str, Any]:
    """The whole description, as JSON has it."""
    bodies = [one.request for one in TABLE if one.request is not None and one.method == "POST"]
    answers = [one.answer for one in TABLE if one.answer is not str]
    _, components = msgspec.json.schema_components([*bodies, *answers, Problem], ref_template=REFERENCE)
    for name in ("Recommend", "Query", "WhyNot", "Explain", "Distance"):
        components[name] |= _ONCE
    components["Recommend"] |= _SHORT
    paths: dict[str, dict[str, Any]] = {}
    for one in TABLE:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "corml",
            "version": VERSION,
            "description": "Top-N recommendation from implicit feedback. Histories come with each request.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Operation) -> dict[str, Any]:
    about: dict[str, Any] = {"operationId": one.name, "summary": one.summary, "responses": _responses(one)}
    if one.access != PUBLIC:
        about["security"] = [{"token": []}]
    if one.request is not None and one.method == "POST":
        schema = {"$ref": REFERENCE.format(name=one.request.__name__)}
        about["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    elif one.request is not None:
        about["parameters"] = _parameters(one.request)
    return about


def _parameters(request: type) -> list[dict[str, Any]]:
    """The fields of a request as parameters of its query."""
    info = type_info(request)
    assert isinstance(info, StructType)
    schema = msgspec.json.schema(request)
    properties = schema["$defs"][request.__name__]["properties"]
    return [
        {"name": field.name, "in": "query", "required": field.required, "schema": properties[field.name]}
        for field in info.fields
    ]


def _responses(one: Operation) -> dict[str, Any]:
    if one.answer is str:
        content: dict[str, Any] = {"text/plain": {"schema": {"type": "string"}}}
    else:
        content = {"application/json": {"schema": {"$ref": REFERENCE.format(name=one.answer.__name__)}}}
    problem = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(name="Problem")}}}
    codes = sorted({*one.problems, *ANYWHERE})
    problems = {str(code): {"description": STATUSES[code], "content": problem} for code in codes}
    answered = {"200": {"description": "Answered", "content": content}}
    if one.name_of is not None:
        answered["200"]["headers"] = {
            "ETag": {"description": "What this version is called.", "schema": {"type": "string"}}
        }
        answered["304"] = {"description": "Still the version that If-None-Match names"}
    return answered | problems
