"""Who is speaking in a prompt of Codex.

What a person typed is told by `user_message` events (`item_completed` of a `UserMessage` in newer clients). The
messages of role `user` beside them hold the prompt again, and everything that the client puts in front of it.
Even the events hold words of the client: an editor's context, canned prompts, an approved plan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["PLAN_PREFIX", "Heard", "hear", "proposed_plan"]

#: How an approved plan that the client sends on begins, in every host's events.
PLAN_PREFIX: Final = "Implement the following plan:\n\n"

#: The client's words when a person accepts a plan, in the same context and in a fresh one.
_ACCEPTED: Final = "Implement the plan."
_ACCEPTED_AFRESH: Final = "A previous agent produced the plan below"
#: So long are the client's words at most.
_MAX_ACCEPTED: Final = 240

#: An editor or the desktop program writes this in front of what was typed.
_REQUEST: Final = re.compile(r"^## My request for Codex:[ \t]*", re.MULTILINE)

#: A prompt that starts like this holds no typed word at all, whatever follows.
_NOBODY: Final = (
    "# AGENTS.md instructions",
    "Another language model started to solve this problem",
    "Continue working toward the active thread goal",
    "Generate a file named AGENTS.md that serves as a contributor guide",
    "This block is automatically supplied",
    _ACCEPTED_AFRESH,
)
_BLOCK_NAMES: Final = (
    r"environment_context|user_instructions|turn_aborted|user_shell_command|subagent_notification|hook_prompt"
    r"|skills?(?:_instructions)?|user_action|image|permissions instructions|collaboration_mode|personality_spec"
    r"|model_switch|loaded_context|goal_context|codex_internal_context|apps_instructions|plugins_instructions"
    r"|recommended_plugins|stdin|INSTRUCTIONS|system-reminder|hikidashi[a-z0-9:_-]*"
)
#: A block up to its own end; one that is never closed reaches to the end of the text. And the end of one in another.
_BLOCK: Final = re.compile(rf"<({_BLOCK_NAMES})(?:\s[^<>]*)?>.*?(?:</\1>|\Z)|</(?:{_BLOCK_NAMES})>", re.DOTALL)
#: Where an image stood; alone it is no word.
_IMAGES: Final = re.compile(r"(?:\[Image[^\[\]]{0,200}\]\s*)+\Z")
#: Text that still holds injected blocks after this many rounds was built to; it is nobody's speech.
_MAX_LAYERS: Final = 8

_PLAN: Final = re.compile(r"<proposed_plan>\s*(.*?)\s*</proposed_plan>", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a prompt holds: typed words, or that a plan was accepted, with the plan if the prompt repeats it."""

    words: str = ""
    accepts: bool = False
    plan: str = ""


def hear(text: str) -> Heard:
    """The typed part of a prompt (design section 5.5)."""
    text = text.strip()
    if text.startswith(_ACCEPTED) and len(text) <= _MAX_ACCEPTED and "\n" not in text:
        return Heard(words=text, accepts=True)
    if text.startswith(_ACCEPTED_AFRESH):
        return Heard(accepts=True, plan=text.partition("\n\n")[2].strip())
    for _ in range(_MAX_LAYERS):
        request = _REQUEST.search(text)
        if request:
            text = text[request.end() :].strip()
        if text.startswith(_NOBODY):
            return Heard()
        if "<" not in text or not _BLOCK.search(text):
            return Heard(words="" if _IMAGES.match(text) else text)
        text = _BLOCK.sub("", text).strip()
    return Heard()


def proposed_plan(text: str) -> str:
    """The plan that an answer proposes; '' for none."""
    found = _PLAN.search(text) if "<proposed_plan>" in text else None
    return found[1] if found else ""
