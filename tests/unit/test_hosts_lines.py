"""One bad line never costs the file, and nothing is dropped without being counted."""

from __future__ import annotations

import io
import json
import re

import pytest

from hikidashi.hosts.claude_lines import SHAPE
from hikidashi.hosts.lines import parse_line, read_lines
from hikidashi.hosts.transcript import Position, ReadReport

GOOD = {"parentUuid": None, "type": "user", "sessionId": "s", "text": "grüße 𝄞"}
GOOD_BYTES = json.dumps(GOOD, ensure_ascii=False, separators=(",", ":")).encode()
OTHER = {"type": "summary", "summary": "x", "leafUuid": "u"}
OTHER_BYTES = json.dumps(OTHER, separators=(",", ":")).encode()
TORN = b'{"parentUuid":"234065dd-0000-4000-8000-bd'


def lines_of(
    data: bytes, *, start: Position | None = None, limit: int = 1 << 20, chunk: int = 64
) -> tuple[list[tuple[int, int, bytes]], ReadReport]:
    report = ReadReport()
    found = read_lines(
        io.BytesIO(data), start=start or Position(), report=report, max_line_bytes=limit, chunk_bytes=chunk
    )
    return list(found), report


@pytest.mark.parametrize(
    ("raw", "objects", "skipped"),
    [
        pytest.param(GOOD_BYTES, [GOOD], {}, id="whole"),
        pytest.param(GOOD_BYTES + b"\r", [GOOD], {}, id="carriage return"),
        pytest.param(b"\xef\xbb\xbf" + GOOD_BYTES, [GOOD], {}, id="byte order mark"),
        pytest.param(b"", [], {"empty": 1}, id="empty"),
        pytest.param(b" \r", [], {"empty": 1}, id="blank"),
        pytest.param(b"\0" * 3369, [], {"nul": 1}, id="only NUL"),
        pytest.param(b"\0" * 9 + GOOD_BYTES, [GOOD], {"nul": 1}, id="NUL before"),
        pytest.param(GOOD_BYTES + b"\0" * 9, [GOOD], {"nul": 1}, id="NUL behind"),
        pytest.param(GOOD_BYTES + b"\0\0" + OTHER_BYTES, [GOOD, OTHER], {"nul": 1}, id="NUL between"),
        pytest.param(b'{"type":"us\0\0\0' + GOOD_BYTES, [GOOD], {"nul": 1, "fragment": 1}, id="torn, NUL, whole"),
        pytest.param(GOOD_BYTES + OTHER_BYTES, [GOOD, OTHER], {}, id="two objects"),
        pytest.param(GOOD_BYTES + b" \r " + OTHER_BYTES, [GOOD, OTHER], {}, id="two objects and blanks"),
        pytest.param(TORN + GOOD_BYTES, [GOOD], {"fragment": 1}, id="interleaved"),
        pytest.param(TORN + GOOD_BYTES + OTHER_BYTES, [GOOD, OTHER], {"fragment": 1}, id="interleaved, then two"),
        pytest.param(GOOD_BYTES + b'-mixing-swan"}', [GOOD], {"fragment": 1}, id="tail of another behind"),
        pytest.param(b'-mixing-swan"}' + GOOD_BYTES, [GOOD], {"fragment": 1}, id="tail of another before"),
        pytest.param(b'-mixing-swan"}', [], {"unreadable": 1}, id="tail of another alone"),
        pytest.param(TORN, [], {"unreadable": 1}, id="cut"),
        pytest.param(b"[1,2]", [], {"not-an-object": 1}, id="list"),
        pytest.param(b"17", [], {"not-an-object": 1}, id="number"),
        pytest.param(b"[" * 200_000, [], {"too-deep": 1}, id="too deep"),
        pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, [], {"too-deep": 1}, id="too deep objects"),
        pytest.param(b'{"type":"user","n":1e999}', [{"type": "user", "n": float("inf")}], {}, id="out of range"),
        pytest.param(b'{"n":' + b"9" * 5000 + b"}", None, None, id="endless number"),
        pytest.param(b'{"t":"caf\xe9"}', [{"t": "caf�"}], {"invalid-utf8": 1}, id="latin-1"),
        pytest.param(b'{"t":"\\ud83d!"}', [{"t": "�!"}], {"lone-surrogate": 1}, id="half an emoji"),
        pytest.param(b'{"t":"\\\\ud83d"}', [{"t": "\\ud83d"}], {}, id="escaped escape"),
        pytest.param(b'{"\\udc00":["\\ud83d\\ude00"]}', [{"�": ["😀"]}], {"lone-surrogate": 1}, id="in a key"),
        pytest.param(b'{"t":"a\tb"}', [{"t": "a\tb"}], {}, id="raw control character"),
    ],
)
def test_what_is_whole_on_a_damaged_line_is_kept_and_the_rest_is_counted(
    raw: bytes, objects: list[object] | None, skipped: dict[str, int] | None
) -> None:
    report = ReadReport()
    found = parse_line(raw, report, SHAPE)
    if objects is not None:
        assert found == objects
        assert report.skipped == skipped
    else:
        assert len(found) + sum(report.skipped.values()) >= 1


def test_an_object_nested_in_a_torn_line_is_no_line() -> None:
    nested = b'{"parentUuid":"p","type":"progress","data":{"message":{"type":"user","message":{"content":"hi"}}},"x'
    report = ReadReport()
    assert parse_line(nested, report, SHAPE) == []
    assert report.skipped == {"unreadable": 1}


def test_endless_false_starts_do_not_make_a_line_quadratic() -> None:
    report = ReadReport()
    assert parse_line(b'{"type":"a' * 100_000, report, SHAPE) == []
    assert parse_line(b'{"type":' * 100_000, report, SHAPE) == []
    assert report.skipped == {"unreadable": 1, "too-deep": 1}


def test_only_the_newline_byte_ends_a_line() -> None:
    text = '{"t":"a\u2028b\u2029c\u0085d\x0be"}'
    found, _ = lines_of((text + "\n" + text + "\n").encode())
    assert [raw.decode() for _, _, raw in found] == [text, text]


@pytest.mark.parametrize("chunk", [1, 2, 7, 64, 10_000])
def test_lines_do_not_depend_on_the_size_of_the_reads(chunk: int) -> None:
    data = b"".join(b'{"n":"' + b"x" * size + b'"}\n' for size in (0, 1, 5, 62, 63, 64, 65, 500, 3))
    found, report = lines_of(data, chunk=chunk)
    assert b"\n".join(raw for _, _, raw in found) + b"\n" == data
    assert [number for number, _, _ in found] == list(range(9))
    assert found[-1][1] == len(data)
    assert report.skipped == {}


@pytest.mark.parametrize("chunk", [16, 64, 10_000])
def test_a_line_above_the_limit_is_passed_over_and_keeps_its_number(chunk: int) -> None:
    data = b'{"a":1}\n' + b'{"a":"' + b"x" * 900 + b'"}\n' + b'{"a":2}\n'
    found, report = lines_of(data, limit=500, chunk=chunk)
    assert [(number, raw) for number, _, raw in found] == [(0, b'{"a":1}'), (2, b'{"a":2}')]
    assert report.skipped == {"too-long": 1}
    assert found[-1][1] == len(data)


@pytest.mark.parametrize("tail", [b'{"a":1', b'{"a":"}', b"{", b"\0\0\0", b"12", b'{"a":1}{', b'{"a":1} x'])
def test_a_last_line_that_is_not_whole_waits(tail: bytes) -> None:
    found, report = lines_of(b'{"b":0}\n' + tail)
    assert [raw for _, _, raw in found] == [b'{"b":0}']
    assert report.skipped == {}


def test_a_last_line_without_newline_is_taken_when_it_is_whole_and_its_newline_later_adds_nothing() -> None:
    data = b'{"b":0}\n{"a":1}'
    found, _ = lines_of(data)
    assert found[-1] == (1, len(data), b'{"a":1}')
    later, report = lines_of(data + b'\n{"c":2}\n', start=Position(offset=len(data), line=2))
    assert [(number, raw) for number, _, raw in later] == [(2, b'{"c":2}')]
    assert report.skipped == {}


def test_what_is_written_behind_a_taken_last_line_keeps_that_lines_number() -> None:
    data = b'{"b":0}\n{"a":1}'
    later, _ = lines_of(data + b'{"z":1}\n{"c":2}\n', start=Position(offset=len(data), line=2))
    assert [(number, raw) for number, _, raw in later] == [(1, b'{"z":1}'), (2, b'{"c":2}')]


def test_the_start_of_a_line_object_is_found_with_and_without_spaces() -> None:
    spaced = json.dumps(GOOD).encode()
    report = ReadReport()
    assert parse_line(TORN + spaced, report, SHAPE) == [GOOD]
    assert re.match(SHAPE.starts, spaced.decode())


def test_a_look_at_the_lines_before_a_place_takes_the_last_one_without_its_newline() -> None:
    data = b'{"a": 1}\n{"b": 2}\n{"c": 3}\n'
    stop = data.index(b"\n", 10)
    found = read_lines(io.BytesIO(data), start=Position(), report=ReadReport(), max_line_bytes=100, stop=stop)
    assert [raw for _, _, raw in found] == [b'{"a": 1}', b'{"b": 2}']
