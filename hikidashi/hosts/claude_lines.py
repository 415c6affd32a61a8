"""The words of Claude Code's line format: types, blocks and tools, and how a torn line is searched."""

from __future__ import annotations

import re
from typing import Final

from hikidashi.hosts.lines import LineShape

__all__ = [
    "BACKGROUND_TOOLS",
    "CALL_BLOCKS",
    "HOST_NAME",
    "LOOKS",
    "SHAPE",
    "SILENT_TYPES",
    "STOPS",
    "TOLD_BLOCKS",
]

#: Name of the host in sources and watermarks.
HOST_NAME: Final = "claude-code"

#: Line types that carry nothing for a memory. Any other unknown type is counted as skipped.
SILENT_TYPES: Final = frozenset(
    {
        "agent-name",
        "agent-setting",
        "api-request",
        "atis-latch",
        "bridge-session",
        "cost-state",
        "file-history-snapshot",
        "frame-link",
        "last-prompt",
        "mode",
        "permission-mode",
        "progress",
        "relocated",
        "result",
        "started",
        "stub",
        "tag",
        "tools-used",
        "worktree-state",
    }
)

#: Blocks of an assistant line that make an event; thinking does not.
TOLD_BLOCKS: Final = frozenset(
    {"text", "tool_use", "server_tool_use", "tool_result", "web_search_tool_result", "mcp_tool_result", "mcp_tool_use"}
)

CALL_BLOCKS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})

#: Tools that look at background calls, and tools that stop them.
LOOKS: Final = frozenset({"BashOutput", "TaskOutput", "AgentOutputTool"})
STOPS: Final = frozenset({"KillShell", "KillBash", "TaskStop"})
BACKGROUND_TOOLS: Final = LOOKS | STOPS

_STARTS: Final = re.compile(
    r'\{\s*"(?:parentUuid|logicalParentUuid|type|uuid|isSidechain|sessionId|leafUuid|messageId|cwd|timestamp)"\s*:'
)


def _is_line_object(value: dict[str, object]) -> bool:
    """Whether an object found inside a torn line is a line of its own.

    A record nested in a sub-agent's progress line has a type too, but neither parent nor session.
    """
    return isinstance(value.get("type"), str) and not value.keys().isdisjoint(
        ("parentUuid", "sessionId", "leafUuid", "snapshot")
    )


#: How a line object of Claude Code is found inside a torn line.
SHAPE: Final = LineShape(starts=_STARTS, whole=_is_line_object)
