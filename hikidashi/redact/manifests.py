"""Secrets that the kind of document gives away: Kubernetes Secret manifests, JSON Web Keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hikidashi.redact.families import Secret
from hikidashi.redact.values import is_placeholder, is_variable

__all__ = ["MANIFESTS", "find_json_keys", "find_manifest_secrets"]

#: How a manifest says what it is, in lower case.
MANIFESTS: Final = ("kind: secret", '"secret')
_KIND: Final = re.compile(r"kind\\{0,3}\":[ \t]{0,4}\\{0,3}\Z")
#: How far from `kind` the data may stand.
_REACH: Final = 16 * 1024
_NOT_SECRET: Final = re.compile(r"[A-Za-z]")
_LINE_END: Final = r"(?:\r?\n|\\{1,4}n)"
_INSIDE: Final = r"(?:^|(?<=\n)|(?<=\\n)|(?<=[\"'`]))"
#: What stands before `kind` in a line of its own: spaces, and the dash of a list.
_LINE_BEFORE: Final = re.compile(rf"{_INSIDE}(?P<margin>[ \-]{{0,16}})\Z")
#: `data:` and the lines below it that are indented further.
_BLOCK: Final = re.compile(rf"(?:{_INSIDE}(?P<margin> {{0,12}})(?:stringData|data)|stringData):[ \t]{{0,4}}{_LINE_END}")
_ENTRY: Final = re.compile(
    rf"(?P<margin> {{1,16}})[\"']?[\w.\-]{{1,253}}[\"']?:[ \t]{{0,8}}"
    rf"(?P<quote>[\"']?)(?P<secret>[^\s\"'\\|>&*!]{{3,65536}}+)(?P=quote)[ \t]{{0,8}}(?:{_LINE_END}|\Z)"
)
#: `key: |` and the lines of its text.
_TEXT_ENTRY: Final = re.compile(
    rf"(?P<margin> {{1,16}})[\"']?[\w.\-]{{1,253}}[\"']?:[ \t]{{0,8}}[|>][+\-]?[ \t]{{0,4}}{_LINE_END}"
)
#: The same in a text whose lines were joined: `kind: Secret metadata: name: x data: who: c3dvcmRmaXNoZXM=`.
_JOINED: Final = re.compile(r"(?<![\w\n])(?:stringData|data): (?=[\w.\-]{1,253}: )")
_JOINED_ENTRY: Final = re.compile(r"(?P<key>[\w.\-]{1,253}): (?P<secret>[^\s\"'|>&*!:]{3,65536}+)(?: |(?=[^\w:])|\Z)")
_TEXT_LINE: Final = re.compile(rf" {{2,32}}+(?P<secret>[^\s\\][^\n\\]{{2,4096}}+){_LINE_END}?")
_OBJECT: Final = re.compile(r"\\{0,3}\"(?:stringData|data)\\{0,3}\":(?:\s|\\n){0,8}\{(?P<body>[^{}]{0,65536}+)\}")
_FIELD: Final = re.compile(
    r"\\{0,3}\"[\w.\-]{1,253}\\{0,3}\":(?:\s|\\n){0,8}\\{0,3}\"(?P<secret>[^\"\\]{3,65536}+)\\{0,3}\""
)


def find_manifest_secrets(text: str, low: str) -> Iterator[Secret]:
    """The values of `data` and `stringData` in a manifest of `kind: Secret`, in YAML and in JSON."""
    for needle in MANIFESTS:
        at, done = low.find(needle), 0
        while at >= 0:
            end = at + len(needle)
            # What was read for the one before is not read again. `SecretStore` is another kind, and not every
            # string `secret` is one.
            if at >= done and _NOT_SECRET.match(text, end) is None and (needle[0] == "k" or _is_kind(text, at)):
                start = max(done, text.rfind("\n---", max(0, at - _REACH), at), at - _REACH)
                stop = text.find("\n---", end, end + _REACH)
                stop = stop if stop >= 0 else min(len(text), end + _REACH)
                if needle[0] == "k":
                    line = _LINE_BEFORE.search(text, max(0, at - 32), at)
                    yield from _in_yaml(text, start, stop, None if line is None else len(line["margin"]))
                    yield from _in_one_line(text, start, stop)
                else:
                    yield from _in_json(text, start, stop)
                done = stop
            at = low.find(needle, end)


def _is_kind(text: str, at: int) -> bool:
    return _KIND.search(text, max(0, at - 16), at) is not None


def _in_yaml(text: str, start: int, stop: int, margin: int | None) -> Iterator[Secret]:
    """The values of the blocks whose `data` is a neighbour of the `kind` with that margin, if it has one."""
    for block in _BLOCK.finditer(text, start, stop):
        at = block.end()
        own = len(block["margin"] or "")
        while margin is None or block["margin"] is None or own == margin:
            entry = _ENTRY.match(text, at, stop)
            if entry is not None and len(entry["margin"]) > own:
                at = entry.end()
                if not _says_nothing(entry["secret"]):
                    yield Secret("secret", *entry.span("secret"))
                continue
            entry = _TEXT_ENTRY.match(text, at, stop)
            if entry is None or len(entry["margin"]) <= own:
                break
            at = entry.end()
            inner = len(entry["margin"])
            while (line := _TEXT_LINE.match(text, at, stop)) is not None and line.start("secret") - at > inner:
                yield Secret("secret", *line.span("secret"))
                at = line.end()


def _in_one_line(text: str, start: int, stop: int) -> Iterator[Secret]:
    for block in _JOINED.finditer(text, start, stop):
        at = block.end()
        while (entry := _JOINED_ENTRY.match(text, at, stop)) is not None:
            at = entry.end()
            value = entry["secret"]
            if len(value) >= 6 and any(map(str.isdigit, value)) and not _says_nothing(value):
                yield Secret("secret", *entry.span("secret"))


def _in_json(text: str, start: int, stop: int) -> Iterator[Secret]:
    for found in _OBJECT.finditer(text, start, stop):
        for field in _FIELD.finditer(text, found.start("body"), found.end("body")):
            if not _says_nothing(field["secret"]):
                yield Secret("secret", *field.span("secret"))


def _says_nothing(value: str) -> bool:
    return is_variable(value) or (is_placeholder(value) and not value.endswith("="))


_KEY_TYPE: Final = re.compile(r"\"kty\\{0,3}\"")
#: The private members of a JSON Web Key.
_PRIVATE_MEMBER: Final = re.compile(
    r"\\{0,3}\"(?:d|p|q|dp|dq|qi|k)\\{0,3}\":\s{0,4}\\{0,3}\"(?P<secret>[A-Za-z0-9_\-]{20,2048})\\{0,3}\""
)


def find_json_keys(text: str, low: str) -> Iterator[Secret]:
    """The private members of JSON Web Keys."""
    done = 0
    for match in _KEY_TYPE.finditer(text):
        if match.start() < done:
            continue
        start = max(done, text.rfind("{", max(0, match.start() - 4096), match.start()))
        stop = text.find("}", match.end(), match.end() + 8192)
        done = stop if stop >= 0 else min(len(text), match.end() + 8192)
        for member in _PRIVATE_MEMBER.finditer(text, start, done):
            yield Secret("private-key", *member.span("secret"))
