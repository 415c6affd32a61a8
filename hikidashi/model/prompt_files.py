"""Where the prompts of a workspace come from: its own pinned files, the user's, and the package's."""

from __future__ import annotations

from hikidashi.config.folders import config_folder
from hikidashi.config.prompt_pins import pinned_prompts
from hikidashi.config.workspace import Workspace
from hikidashi.prompts.template import PromptSources

__all__ = ["prompt_sources"]


def prompt_sources(workspace: Workspace | None) -> PromptSources:
    """What to hand to `prompt_text`; without a workspace only the user's files and ours count."""
    user_folder = config_folder() / "prompts"
    if workspace is None:
        return PromptSources(user_folder=user_folder)
    return PromptSources(
        user_folder=user_folder,
        workspace_folder=workspace.home / "prompts",
        pinned=pinned_prompts(workspace),
    )
