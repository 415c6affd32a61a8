"""Whether the input of a tool's call is what the tool's schema asks for.

A model may send anything, and a small local one does. What is wrong is said to the model in one line, so that it
can call again; a tool itself only ever sees input of the right shape. The part of JSON Schema that is known here is
the part that our tools use, and a schema with more in it is refused when the tool is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["misfit", "unknown_keywords"]

_TYPES: Final[dict[str, Callable[[object], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
}

_NOTES: Final = frozenset({"description", "title", "default", "examples"})
_CHECKED: Final = frozenset(
    {
        "type",
        "enum",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
    }
)


def unknown_keywords(schema: Mapping[str, Any]) -> list[str]:
    """Keywords of `schema` and of what is inside it that would not be checked."""
    found = [key for key in schema if key not in _CHECKED | _NOTES]
    if isinstance(schema.get("additionalProperties"), dict):
        found.append("additionalProperties as a schema")
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    for each in inner:
        found += unknown_keywords(each)
    return found


def misfit(schema: Mapping[str, Any], value: object, place: str = "the input") -> str:
    """What is wrong with `value`, in one line; '' when it fits."""
    if "type" in schema:
        types = [schema["type"]] if isinstance(schema["type"], str) else list(schema["type"])
        if not any(_TYPES[name](value) for name in types):
            return f"{place} must be {' or '.join(types)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} must be one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, dict):
        return _misfit_object(schema, value, "" if place == "the input" else f"{place}.")
    if isinstance(value, list):
        return _misfit_list(schema, value, place)
    return _misfit_size(schema, value, place)


def _misfit_object(schema: Mapping[str, Any], value: Mapping[str, Any], prefix: str) -> str:
    properties = schema.get("properties", {})
    if missing := [key for key in schema.get("required", ()) if key not in value]:
        return f"{prefix}{missing[0]} is missing"
    if schema.get("additionalProperties") is False and (strange := sorted(value.keys() - properties.keys())):
        return f"{prefix}{strange[0]} is not known: the keys are {', '.join(properties)}"
    for key, inner in properties.items():
        if key in value and (wrong := misfit(inner, value[key], f"{prefix}{key}")):
            return wrong
    return ""


def _misfit_list(schema: Mapping[str, Any], value: list[Any], place: str) -> str:
    if len(value) < schema.get("minItems", 0):
        return f"{place} needs at least {schema['minItems']}"
    if len(value) > schema.get("maxItems", len(value)):
        return f"{place} may have at most {schema['maxItems']}"
    for number, each in enumerate(value, start=1):
        if "items" in schema and (wrong := misfit(schema["items"], each, f"{place}, number {number},")):
            return wrong
    return ""


def _misfit_size(schema: Mapping[str, Any], value: object, place: str) -> str:
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            return f"{place} must have at least {schema['minLength']} characters"
        if len(value) > schema.get("maxLength", len(value)):
            return f"{place} may have at most {schema['maxLength']:,} characters"
    elif isinstance(value, int | float):
        if "minimum" in schema and value < schema["minimum"]:
            return f"{place} must be at least {schema['minimum']}"
        if "maximum" in schema and value > schema["maximum"]:
            return f"{place} may be at most {schema['maximum']}"
    return ""
