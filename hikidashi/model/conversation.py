"""The messages of one conversation, and where the server may keep what it has read of them.

A server that caches keeps a prefix of tools, system and messages up to a block that is marked; a later request reads
it back if its bytes are the same up to there. At most 4 blocks may be marked, and the server looks at most 20 blocks
back from a mark for what it kept before. Of the four:

1. the end of the system prompt (or of the tools): the same for every conversation of a kind;
2. the end of the materials: the same for every turn of a conversation;
3. where the request before this one ended: what it kept is found there whatever a turn has added, even if a turn of
   many calls puts it out of the 20 blocks' reach of
4. the end of this request, which the next one will read.

So nothing that was sent may ever change; blocks are only added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from hikidashi.model.messages import Block

__all__ = ["Conversation", "marked"]

_MARK: Final[Block] = {"type": "ephemeral"}

#: Message and block, both counted from 0.
_Place = tuple[int, int]


def marked(block: Block) -> Block:
    """A copy of `block` up to which the server may keep what it read."""
    return {**block, "cache_control": _MARK}


class Conversation:
    """What was said on both sides, in the form that the Messages API takes."""

    def __init__(self, materials: Iterable[str] = (), *, caching: bool = True) -> None:
        """`materials` stand at the beginning of the first message; without `caching` no block is marked."""
        self._messages: list[tuple[str, list[Block]]] = []
        self._caching = caching
        self._kept: _Place | None = None
        self._materials: _Place | None = None
        blocks = [_text(text) for text in materials if text.strip()]
        if blocks:
            self.add("user", blocks)
            self._materials = self._end()

    def add(self, role: str, blocks: Sequence[Block]) -> None:
        """Add to the last message if it is of the same role, else begin one. Empty texts are left out."""
        kept = [block for block in blocks if block.get("type") != "text" or str(block.get("text", "")).strip()]
        if not kept:  # the server takes no message without content
            return
        if self._messages and self._messages[-1][0] == role:
            self._messages[-1][1].extend(kept)
        else:
            self._messages.append((role, kept))

    def tell(self, text: str) -> None:
        """Add a text of the user's side."""
        self.add("user", [_text(text)])

    def note_sent(self) -> None:
        """The request that ended here was answered: what it marked may be read back by the next."""
        self._kept = self._end()

    def request(self) -> tuple[Block, ...]:
        """The messages as they are sent now."""
        places = {self._materials, self._kept, self._end()} if self._caching else set()
        return tuple(
            {
                "role": role,
                "content": [
                    marked(block) if (number, place) in places else block for place, block in enumerate(blocks)
                ],
            }
            for number, (role, blocks) in enumerate(self._messages)
        )

    def _end(self) -> _Place:
        return len(self._messages) - 1, len(self._messages[-1][1]) - 1


def _text(text: str) -> Block:
    return {"type": "text", "text": text}
