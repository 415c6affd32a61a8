"""The agent's own list of what is to do: `TodoWrite`, and `TaskCreate`/`TaskUpdate` of newer versions."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Any, Final

from hikidashi.capture.passages import Passage, Place

__all__ = ["TASK_TOOLS", "Tasks"]

TASK_TOOLS: Final = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate"})

#: Items kept of one list, and characters of one item.
MAX_ITEMS: Final = 40
MAX_ITEM: Final = 140

_TASK_NUMBER: Final = re.compile(r"#(\w+)")


@lru_cache(maxsize=256)  # a list comes again with each step
def _digest(words: str) -> str:
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=5).hexdigest()


class Tasks:
    """The last list, item by item."""

    def __init__(self) -> None:
        #: Key -> (words, status); keys are positions for `TodoWrite`, numbers for tasks.
        self.items: dict[str, tuple[Passage, str]] = {}
        #: Digests of the items' words, by which a new list is told from progress in the old one.
        self._digests: set[str] = set()
        #: Where the list was changed last.
        self.place: Place | None = None
        #: Number of the prompt during which it was changed last.
        self.prompt = 0
        #: Items were given to others of a team, who tick them off in sessions of their own.
        self.shared = False

    @property
    def open(self) -> list[Passage]:
        """Items that are not done, in order; none of a list whose state stands elsewhere."""
        return [] if self.shared else self.unticked

    @property
    def unticked(self) -> list[Passage]:
        """Items that are not ticked off here, in order."""
        return [words for words, status in self.items.values() if status not in ("completed", "deleted", "cancelled")]

    @property
    def pending(self) -> int:
        """How many items nobody began."""
        return sum(1 for _words, status in self.items.values() if status == "pending")

    @property
    def done(self) -> list[Passage]:
        """Items that are done, in order."""
        return [words for words, status in self.items.values() if status == "completed"]

    def write(self, todos: object, place: Place, prompt: int) -> bool:
        """`TodoWrite`: the whole list anew. Gives whether it is a new list rather than progress in the old one."""
        if not isinstance(todos, list):
            return False
        items: dict[str, tuple[Passage, str]] = {}
        digests = set()
        for number, todo in enumerate(todos[:MAX_ITEMS]):
            if isinstance(todo, dict) and isinstance(todo.get("content"), str):
                items[str(number)] = (Passage(todo["content"], place, MAX_ITEM), str(todo.get("status", "pending")))
                digests.add(_digest(todo["content"]))
        fresh = self._digests.isdisjoint(digests)
        if items:
            self.items, self.place, self.prompt, self.shared, self._digests = items, place, prompt, False, digests
        return fresh and bool(items)

    def create(self, given: dict[str, object], output: str, place: Place, prompt: int) -> bool:
        """`TaskCreate`: one more item. Gives whether it is the first of a new list."""
        subject = given.get("subject")
        if not isinstance(subject, str) or len(self.items) >= MAX_ITEMS:
            return False
        fresh = not self.unticked
        if fresh:
            self.items, self.shared = {}, False
        match = _TASK_NUMBER.search(output)
        self.items[match.group(1) if match else f"+{len(self.items)}"] = (Passage(subject, place, MAX_ITEM), "pending")
        self.place, self.prompt = place, prompt
        return fresh

    def update(self, given: dict[str, object], place: Place, prompt: int) -> None:
        """`TaskUpdate`: one item's status."""
        key, status = str(given.get("taskId", "")), given.get("status")
        self.shared = self.shared or bool(given.get("owner"))
        if key in self.items and isinstance(status, str):
            self.items[key] = (self.items[key][0], status)
            self.place, self.prompt = place, prompt

    def to_state(self) -> list[Any]:
        """The JSON form."""
        items = [[key, words.text, status] for key, (words, status) in self.items.items()]
        return [items, self.place.to_state() if self.place else None, self.prompt, self.shared, sorted(self._digests)]

    @classmethod
    def from_state(cls, data: Any) -> Tasks:
        """Read `to_state`'s form."""
        tasks = cls()
        tasks.place = Place.from_state(data[1]) if data[1] else None
        tasks.prompt, tasks.shared, tasks._digests = data[2], data[3], set(data[4])
        if tasks.place is not None:
            for key, words, status in data[0]:
                tasks.items[key] = (Passage(words, tasks.place, MAX_ITEM, clean=True), status)
        return tasks
