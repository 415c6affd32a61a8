"""A model that reads sessions, and settings that point to it, for tests of the command line."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

from hikidashi.config.settings import user_file
from hikidashi.testing import FakeMessages, say

__all__ = ["KEY", "age_sessions", "answer_about", "claim", "shown_to", "use_model"]

KEY = "sk-ant-planted-for-this-test-0123456789"


def use_model(fake: FakeMessages, *lines: str) -> None:
    """The user's settings file: the fake is the server, `lines` are further settings of `[memory]`."""
    user_file().parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(["[memory]", f'base_url = "{fake.url}"', *lines])
    user_file().write_text(text + "\n", encoding="utf-8")


def shown_to(body: dict[str, Any]) -> str:
    """All that a request tells the model, without its system prompt."""
    return json.dumps(body["messages"], ensure_ascii=False)


def claim(event: int, said_by: str, quote: str, **more: Any) -> dict[str, Any]:
    """A claim of a decision."""
    base = {"kind": "decision", "title": "pnpm takes the place of npm", "body": "Packages are installed by pnpm."}
    return {**base, "why": "", "since": event, "status": "", "event": event, "said_by": said_by, "quote": quote, **more}


def answer_about(body: dict[str, Any], words: str, *more: dict[str, Any]) -> Any:
    """The answer of an honest model: a decision quoted from the person's event that holds `words`, where one does.

    `more` are claims beside it, in the chunk where it stands.
    """
    claims = []
    text = "\n".join(
        part if isinstance(part, str) else str(part.get("text", ""))
        for message in body["messages"]
        for part in ([message["content"]] if isinstance(message["content"], str) else message["content"])
    )
    for found in re.finditer(r"^=== \w{8} (\d+) person.*\n(.*)$", text, re.MULTILINE):
        if words in found[2]:
            claims = [claim(int(found[1]), "person", words), *more]
    return say(json.dumps({"activities": claims, "facts": []}, ensure_ascii=False))


def age_sessions(home: Path, days: float = 3) -> None:
    """Let all sessions of Claude Code be of some days ago."""
    then = time.time() - days * 86_400
    for file in (home / ".claude").rglob("*.jsonl"):
        os.utime(file, (then, then))
