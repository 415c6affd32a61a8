"""Sessions as a model is shown them, for the tests of extraction by a model."""

from __future__ import annotations

from pathlib import Path

from hikidashi.capture.chunks import Chunk, Chunks
from hikidashi.capture.digest import Digest
from hikidashi.capture.pieces import Piece
from tests.transcripts import Session, read

__all__ = ["chunk_of", "four_a_token", "pieces_of"]


def four_a_token(text: str) -> int:
    """A token is four characters."""
    return -(-len(text) // 4)


def pieces_of(session: Session, folder: Path) -> list[Piece]:
    """The pieces of a session."""
    events, _ = read(session.write(folder / f"{session.session_id}.jsonl"))
    digest = Digest()
    return [piece for event in events for piece in digest.feed(event)]


def chunk_of(session: Session, folder: Path) -> Chunk:
    """The whole session as one chunk."""
    chunks = Chunks(host="claude-code", path="/sessions/one.jsonl", limit=1_000_000, estimate=four_a_token)
    for piece in pieces_of(session, folder):
        assert chunks.add(piece) is None
    chunk = chunks.rest()
    assert chunk is not None
    return chunk
