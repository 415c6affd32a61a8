"""Lines and JSON objects of a transcript, with bounded memory and without giving up on a damaged line.

Agents are killed while they write, two processes append to one file, and disks fill blocks with NUL after a
crash. One bad line never costs the file; every piece that is skipped or repaired is counted in
`ReadReport.skipped` under one of these reasons:

    too-long         a line above the limit; it was never read into memory
    empty            a line with nothing on it
    nul              a run of NUL bytes (what stood beside it on the line is kept)
    fragment         the torn rest of an object, beside one that could be read
    unreadable       a line without any object that could be read
    not-an-object    valid JSON, but a number, a text or a list
    too-deep         nested deeper than the parser goes
    invalid-utf8     repaired: bytes that are no UTF-8 became U+FFFD
    lone-surrogate   repaired: an escape of half a character became U+FFFD
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO, Final

import orjson

from hikidashi.hosts.transcript import Position, ReadReport

__all__ = ["CHUNK_BYTES", "Block", "Line", "LineShape", "parse_line", "past_newline", "read_blocks", "read_lines"]

#: One read of the file. A line longer than this is measured first and read in one piece afterwards.
CHUNK_BYTES: Final = 1 << 20

#: Starts of an object inside a torn line that are tried before the rest of the line is given up. Each try may
#: read to the end of the line, so an endless supply of false starts must not become quadratic.
MAX_RESYNCS: Final = 64

#: What a line is: its 0-based number, the offset behind it (and behind its newline), its bytes without newline.
Line = tuple[int, int, bytes]

#: Lines that follow each other: the number and the offset of the first, their bytes with a newline behind each, and
#: how many of those newlines the file does not hold yet: 1 for a last line without one. Lines are many, so a step
#: for each of them is dear.
Block = tuple[int, int, list[bytes], int]

_NUL_RUN: Final = re.compile(rb"\0+")
_BLANK: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = re.compile(r"[ \t\r\n\ufeff]*")
_DECODER: Final = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineShape:
    """How a host's own line objects are told from objects nested in them, when a torn line is searched."""

    #: Finds the start of a line object inside a torn line.
    starts: re.Pattern[str]
    #: Whether an object found that way is a whole line of the host.
    whole: Callable[[dict[str, object]], bool]


def read_lines(
    stream: BinaryIO,
    *,
    start: Position,
    report: ReadReport,
    max_line_bytes: int,
    stop: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[Line]:
    """The lines of `read_blocks`, one by one."""
    blocks = read_blocks(
        stream, start=start, report=report, max_line_bytes=max_line_bytes, stop=stop, chunk_bytes=chunk_bytes
    )
    for first, offset, lines, missing in blocks:
        for number, raw in enumerate(lines, first):
            offset += len(raw)
            yield number, offset - missing, raw[:-1]


def read_blocks(
    stream: BinaryIO,
    *,
    start: Position,
    report: ReadReport,
    max_line_bytes: int,
    stop: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
) -> Iterator[Block]:
    """The lines of `stream` after `start`, up to the offset `stop` if given, as they come from each read.

    Only the byte `\\n` ends a line. A line above `max_line_bytes` is passed over and counted. A last line without
    newline is given only when it is one whole JSON object; else it stays for the pass that finds it complete.
    `start` may lie behind such a line, before the newline that came later: what follows on that line then still
    carries its number. The stream must not be moved by others meanwhile.
    """
    offset, number = start.offset, start.line
    inside = number > 0 and not _at_line_start(stream, offset)
    number -= inside
    stream.seek(offset)
    rest = b""
    while chunk := stream.read(chunk_bytes if stop is None else min(chunk_bytes, stop - offset - len(rest))):
        lines, rest = _split(rest + chunk if rest else chunk)
        if inside and lines and not lines[0].strip(b"\r\n"):
            # The newline of a line that was taken without it.
            offset, number, inside = offset + len(lines.pop(0)), number + 1, False
        if lines:
            inside = False
            size = sum(map(len, lines))
            if size <= max_line_bytes:
                yield number, offset, lines, 0
            else:
                yield from _within(lines, number, offset, max_line_bytes, report)
            offset, number = offset + size, number + len(lines)
        if len(rest) >= chunk_bytes:
            further = _bytes_to_newline(stream, chunk_bytes, stop)
            if further is None:
                break
            length = len(rest) + further + 1
            rest = b""
            if length - 1 <= max_line_bytes:
                stream.seek(offset)
                yield number, offset, [stream.read(length)], 0
            else:
                report.skip("too-long")
            offset, number = offset + length, number + 1
            stream.seek(offset)
    if rest:
        yield from _unfinished(stream, offset, number, max_line_bytes, stop)


def _split(data: bytes) -> tuple[list[bytes], bytes]:
    """The whole lines of `data`, each with its newline, and what stands behind the last of them."""
    lines = BytesIO(data).readlines()
    return lines, b"" if lines[-1].endswith(b"\n") else lines.pop()


def _within(lines: list[bytes], number: int, offset: int, max_line_bytes: int, report: ReadReport) -> Iterator[Block]:
    """Each line as a block of its own, without those above the limit."""
    for raw in lines:
        if len(raw) - 1 <= max_line_bytes:
            yield number, offset, [raw], 0
        else:
            report.skip("too-long")
        offset += len(raw)
        number += 1


def past_newline(stream: BinaryIO, start: Position) -> Position:
    """`start`, moved behind the newline of a line that was taken before the newline was written."""
    if start.line == 0 or _at_line_start(stream, start.offset):
        return start
    stream.seek(start.offset)
    ending = stream.read(2)
    width = 1 if ending.startswith(b"\n") else 2 if ending == b"\r\n" else 0
    return Position(offset=start.offset + width, line=start.line)


def _at_line_start(stream: BinaryIO, offset: int) -> bool:
    if offset == 0:
        return True
    stream.seek(offset - 1)
    return stream.read(1) == b"\n"


def _bytes_to_newline(stream: BinaryIO, chunk_bytes: int, stop: int | None) -> int | None:
    """Bytes from here to the next newline; None when the file ends first."""
    passed = 0
    while chunk := stream.read(chunk_bytes if stop is None else min(chunk_bytes, stop - stream.tell())):
        found = chunk.find(b"\n")
        if found >= 0:
            return passed + found
        passed += len(chunk)
    return None


def _unfinished(stream: BinaryIO, offset: int, number: int, max_line_bytes: int, stop: int | None) -> Iterator[Block]:
    """The last line, which has no newline yet: only when it is whole. A cut object never parses."""
    stream.seek(offset)
    raw = stream.read(max_line_bytes + 1 if stop is None else min(max_line_bytes + 1, stop - offset))
    if len(raw) > max_line_bytes or b"\n" in raw or not raw.rstrip(_BLANK).endswith(b"}"):
        return
    try:
        whole = isinstance(json_value(raw), dict)
    except (ValueError, RecursionError):
        return
    if whole:
        yield number, offset, [raw + b"\n"], 1


def json_value(raw: bytes) -> object:
    """The JSON value of `raw`. Raises `ValueError`, or `RecursionError` when it is nested too deep."""
    try:
        return orjson.loads(raw)
    except ValueError:
        return json.loads(raw)


def parse_line(raw: bytes, report: ReadReport, shape: LineShape) -> list[dict[str, object]]:
    """All objects that stand on a line, in order; what is not taken is counted."""
    try:
        value = orjson.loads(raw)
    except ValueError:
        return _recover(raw, report, shape)
    if type(value) is dict:
        return [value]
    report.skip("not-an-object")
    return []


def _recover(raw: bytes, report: ReadReport, shape: LineShape) -> list[dict[str, object]]:
    pieces = [raw]
    if b"\0" in raw:
        report.skip("nul")
        pieces = [piece for piece in _NUL_RUN.split(raw) if piece.strip(_BLANK)]
        if not pieces:
            return []
    found: list[dict[str, object]] = []
    reasons: list[str] = []
    for piece in pieces:
        found += _objects(piece.removeprefix(_BOM).strip(_BLANK), reasons, shape)
    for reason in reasons:
        # A torn rest is a lesser loss where an object beside it was saved.
        report.skip("fragment" if found and reason == "unreadable" else reason)
    return found


def _objects(piece: bytes, reasons: list[str], shape: LineShape) -> list[dict[str, object]]:
    if not piece:
        reasons.append("empty")
        return []
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        reasons.append("invalid-utf8")
        text = piece.decode("utf-8", "replace")
    found: list[dict[str, object]] = []
    at, resyncs, torn = 0, 0, False
    while at < len(text):
        value, end, reason = _decode(text, at, reasons)
        if reason == "" and (not torn or (isinstance(value, dict) and shape.whole(value))):
            torn = False
            if isinstance(value, dict):
                found.append(value)
            else:
                reasons.append("not-an-object")
            at = _space_end(text, end)
            continue
        if not torn:
            reasons.append(reason or "unreadable")
            torn = True
        resyncs += 1
        start = shape.starts.search(text, at + 1) if resyncs <= MAX_RESYNCS else None
        if start is None:
            break
        at = start.start()
    return found


def _decode(text: str, at: int, reasons: list[str]) -> tuple[object, int, str]:
    """The value that begins at `at`, the index behind it, and '' or the reason why there is none."""
    try:
        value, end = _DECODER.raw_decode(text, at)
        value = _without_surrogates(value, reasons)
    except RecursionError:
        return None, at, "too-deep"
    except ValueError:
        return None, at, "unreadable"
    return value, end, ""


def _space_end(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _without_surrogates(value: object, reasons: list[str]) -> object:
    """`value` with halves of characters replaced, which no file or database could take."""
    try:
        orjson.dumps(value)
    except (TypeError, orjson.JSONEncodeError):
        mended = _mend(value)
        if mended != value:
            reasons.append("lone-surrogate")
        return mended
    return value


def _mend(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mend(item) for item in value]
    if isinstance(value, dict):
        return {str(_mend(key)): _mend(item) for key, item in value.items()}
    return value
