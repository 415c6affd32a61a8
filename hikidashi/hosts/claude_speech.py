"""Who is speaking in a user line of Claude Code.

The client writes far more into `type: "user"` lines than a person types: results of tools, bodies of slash
commands, reminders, notifications, summaries. Counting any of that as a person's words turns the model's text
into rules of the user. The tables follow what versions 0.2.122 to 2.1.332 write.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["INTERRUPTED", "PLAN_PROMPT", "Speech", "hear", "is_injected", "refusal_words"]

#: What the client writes when the person stopped the agent.
INTERRUPTED: Final = "[Request interrupted by user"

#: What the client sends in the person's place when a plan is accepted with a fresh context.
PLAN_PROMPT: Final = "Implement the following plan:\n\n#"

#: A line whose text starts like this holds no typed word at all, whatever follows.
_NOBODY: Final = (
    "<objective>",
    "Caveat: The messages below",
    "This session is being continued from a previous conversation",
    PLAN_PROMPT,
)
#: Where an image stood; alone it is no word.
_IMAGES: Final = re.compile(r"(?:\[Image[^\[\]]{0,200}\]\s*)+\Z")

#: Blocks that the client, an editor, a hook or this program puts into a line, beside typed words or alone.
_BLOCK_NAMES: Final = (
    r"system-reminder|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)|task-notification"
    r"|teammate-message|ide_[a-z_]+|command-(?:name|message|args|contents)|user-prompt-submit-hook|post-tool-use-hook"
    r"|session-start-hook|user-memory-input|new-diagnostics|hook_prompt|hikidashi[a-z0-9:_-]*"
)
#: A block up to its own end; one that is never closed reaches to the end of the text.
_BLOCK: Final = re.compile(rf"<({_BLOCK_NAMES})(?:\s[^<>]*)?>.*?(?:</\1>|\Z)", re.DOTALL)
_ARGUMENTS: Final = "<command-args>"
_ARGUMENTS_END: Final = "</command-args>"
#: Text that still holds injected blocks after this many rounds was built to; it is nobody's speech.
_MAX_LAYERS: Final = 8

_SAID: Final = "the user said:"
_NOTE: Final = "\n\nNote: The user's next message may contain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """What a text holds: typed words, whether the person stopped the agent, and whether the rest was injected."""

    words: str = ""
    interrupted: bool = False


def hear(text: str) -> Speech:
    """The typed part of a user line's text (design section 5.5).

    The arguments of a slash command are the user's words; its name and body are not. A `!` command is neither.
    """
    interrupted = False
    # Under a removed block the client's own text may begin again (a caveat behind a reminder), so look again.
    if "<" not in text and "[" not in text and not text.lstrip().startswith(_NOBODY):
        return Speech(words=text.strip())  # nothing was put into nearly any prompt
    for _ in range(_MAX_LAYERS):
        text = text.strip()
        if text.startswith(INTERRUPTED):
            interrupted, text = True, text.partition("]")[2]
        elif text.startswith(_NOBODY):
            text = ""
        elif text.startswith("<command-"):
            text = text.partition(_ARGUMENTS)[2].partition(_ARGUMENTS_END)[0]
        elif "<" in text and _BLOCK.search(text):
            text = _BLOCK.sub("", text)
        else:
            return Speech(words="" if _IMAGES.match(text) else text, interrupted=interrupted)
    return Speech(interrupted=interrupted)


def is_injected(line: Mapping[str, object]) -> bool:
    """Whether the flags of a user line say that no person typed it.

    `sourceToolUseID` marks the body of a skill, `planContent` the prompt that the client makes of an approved
    plan, `origin` what came from a task, a channel or a coordinator.
    """
    if line.get("isMeta") is True or line.get("isVisibleInTranscriptOnly") is True:
        return True
    if line.get("sourceToolUseID") or line.get("planContent"):
        return True
    origin = line.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    return isinstance(kind, str) and kind not in ("human", "user", "")


def refusal_words(text: str) -> str:
    """What the person said when refusing a call; '' when the refusal quotes nobody."""
    said = text.partition(_SAID)[2]
    return hear(said.partition(_NOTE)[0]).words if said else ""
