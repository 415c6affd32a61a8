"""The words of Codex's line format: types of lines, and how a torn line is searched.

Every line is `{timestamp, type, payload}`; newer clients number their lines (`ordinal`).
"""

from __future__ import annotations

import re
from typing import Final

from hikidashi.hosts.lines import LineShape

__all__ = ["HOST_NAME", "LINE_TYPES", "SHAPE", "SILENT_EVENTS", "SILENT_ITEMS", "SILENT_TYPES"]

#: Name of the host in sources and watermarks.
HOST_NAME: Final = "codex"

#: Line types by which a file is known as Codex's.
LINE_TYPES: Final = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})

#: Line types that carry nothing for a memory. Any other unknown type is counted as skipped.
SILENT_TYPES: Final = frozenset(
    {
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "realtime_item",
        "security_risk_score",
        "token_usage_record",  # the numbers of `token_count` again
        "world_state",
    }
)

#: `response_item` payloads that make no event: hidden words, and calls of the model's own server.
SILENT_ITEMS: Final = frozenset(
    {
        "additional_tools",
        "compaction",
        "compaction_summary",
        "compaction_trigger",
        "context_compaction",
        "ghost_snapshot",
        "image_generation_call",
        "other",
        "reasoning",
        "tool_search_call",
        "tool_search_output",
        "tool_search_call_output",
        "web_search_call",
    }
)

#: `event_msg` payloads that make no event: status, and what another line tells.
SILENT_EVENTS: Final = frozenset(
    {
        "agent_message",  # the assistant's `message` again
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "background_event",
        "context_compacted",  # a `compacted` line stands beside it
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
        "elicitation_request",
        "entered_review_mode",
        "error",
        "exec_approval_request",
        "exec_command_begin",
        "exec_command_output_delta",
        "exited_review_mode",
        "image_generation_begin",
        "image_generation_end",
        "item_started",
        "mcp_startup_complete",
        "mcp_startup_update",
        "mcp_tool_call_begin",
        "model_reroute",
        "model_verification",
        "patch_apply_begin",
        "plan_update",
        "request_permissions",
        "request_user_input",
        "session_configured",
        "shutdown_complete",
        "stream_error",
        "sub_agent_activity",
        "task_complete",
        "task_started",
        "terminal_interaction",
        "thread_goal_updated",
        "thread_rolled_back",
        "thread_settings_applied",
        "turn_complete",
        "turn_diff",
        "turn_started",
        "undo_completed",
        "undo_started",
        "view_image_tool_call",
        "warning",
        "web_search_begin",
        "web_search_end",
    }
)

_STARTS: Final = re.compile(r'\{\s*"(?:timestamp|ordinal|type|payload)"\s*:')


def _is_line_object(value: dict[str, object]) -> bool:
    """Whether an object found inside a torn line is a line of its own; items nested in one have no payload."""
    return isinstance(value.get("type"), str) and isinstance(value.get("payload"), dict)


#: How a line object of Codex is found inside a torn line.
SHAPE: Final = LineShape(starts=_STARTS, whole=_is_line_object)
