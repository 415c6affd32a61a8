"""Search over the records in memory: words, beginnings of words, and any two characters of Chinese, Japanese or Korean.

A query is words, nothing else: signs have no meaning in it. Ranking is BM25 over body, title and slug, with
records that hold more of the query's words first.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from hikidashi.records.record import REMEMBERED, Parsed, Record, RecordKind, Tree, read_record, record_kind
from hikidashi.records.terms import fold, query_terms, terms

__all__ = ["Hit", "search_records"]

#: Longer queries are cut here.
MAX_QUERY: Final = 400
MAX_TERMS: Final = 32
MAX_SNIPPET: Final = 160

_TITLE_WEIGHT: Final = 3
_SLUG_WEIGHT: Final = 2
#: What the beginning of a word counts against the whole word.
_PREFIX_WEIGHT: Final = 0.4
_K1: Final = 1.2
_B: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One record that was found."""

    path: str
    kind: RecordKind
    slug: str
    title: str
    #: Higher is better; comparable within one search only.
    score: float
    #: 1-based line of the file that the snippet is from.
    line: int
    #: That line, cut to 160 characters around the first hit.
    snippet: str


@dataclass(frozen=True, slots=True)
class _Document:
    """A record's terms."""

    weights: dict[str, int]
    ordered: list[str]
    length: int


def search_records(
    tree: Tree, query: str, *, kinds: Collection[RecordKind] | None = None, limit: int = 10
) -> list[Hit]:
    """The best `limit` records (of `kinds`) for `query`; [] when it holds no word, or nothing fits."""
    wanted = query_terms(query[:MAX_QUERY])[:MAX_TERMS]
    found: list[tuple[Parsed, Record, _Document]] = []
    for path, data in tree.items():
        kind = record_kind(path)
        if kind is None or (kinds is not None and kind not in kinds):
            continue
        parsed = read_record(path, data)
        if parsed.record is not None:
            found.append((parsed, parsed.record, _document(path, data)))
    if not wanted or not found or limit < 1:
        return []
    scores = _scores([document for _, _, document in found], wanted)
    ranked = sorted(
        ((score, index) for index, score in enumerate(scores) if score > 0),
        key=lambda row: (-row[0], found[row[1]][1].path),
    )
    return [_hit(found[index][0], found[index][1], score, wanted) for score, index in ranked[:limit]]


@lru_cache(maxsize=REMEMBERED)
def _document(path: str, data: bytes) -> _Document:
    """The terms of a record's file; kept for the next search over the same bytes."""
    record = read_record(path, data).record
    if record is None:
        raise ValueError(f"not a record: {path}")
    words = terms(f"{record.body}\n{record.description}")
    weights = Counter(words)
    for text, weight in ((record.title, _TITLE_WEIGHT), (record.slug, _SLUG_WEIGHT)):
        for term in terms(text):
            weights[term] += weight
    return _Document(dict(weights), sorted(weights), len(words) + 1)


def _scores(documents: list[_Document], wanted: list[tuple[str, bool]]) -> list[float]:
    average = sum(document.length for document in documents) / len(documents)
    norms = [_K1 * (1 - _B + _B * document.length / average) for document in documents]
    scores, matched = [0.0] * len(documents), [0] * len(documents)
    for term, prefix in wanted:
        weights = [_weight(document, term, prefix=prefix) for document in documents]
        holding = sum(1 for weight in weights if weight)
        rarity = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
        for index, weight in enumerate(weights):
            if weight:
                scores[index] += rarity * weight * (_K1 + 1) / (weight + norms[index])
                matched[index] += 1
    return [score * (count / len(wanted)) for score, count in zip(scores, matched, strict=True)]


def _weight(document: _Document, term: str, *, prefix: bool) -> float:
    weight = float(document.weights.get(term, 0))
    if prefix:
        at = bisect_left(document.ordered, term)
        while at < len(document.ordered) and document.ordered[at].startswith(term):
            if document.ordered[at] != term:
                weight += _PREFIX_WEIGHT * document.weights[document.ordered[at]]
            at += 1
    return weight


def _hit(parsed: Parsed, record: Record, score: float, wanted: list[tuple[str, bool]]) -> Hit:
    best, most, first = 0, 0, ""
    lines = record.body.split("\n")
    for number, line in enumerate(lines):
        folded = fold(line)
        there = [term for term, _ in wanted if term in folded]
        if len(there) > most:
            best, most, first = number, len(there), there[0]
    return Hit(
        path=record.path,
        kind=record.kind,
        slug=record.slug,
        title=record.title,
        score=round(score, 4),
        line=parsed.body_line + best,
        snippet=_snippet(lines[best], first),
    )


def _snippet(line: str, term: str) -> str:
    text = " ".join(line.split())
    if len(text) <= MAX_SNIPPET:
        return text
    at = max(fold(text).find(term), 0) if term else 0  # folding may shift it by a few characters
    start = max(0, min(at - MAX_SNIPPET // 3, len(text) - MAX_SNIPPET + 2))
    end = start + MAX_SNIPPET - 2
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
