"""Taking over the prompts that lie in a workspace: look at them, then pin what was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hikidashi.config.prompt_pins import pin_prompts, pinned_prompts
from hikidashi.config.workspace import Workspace
from hikidashi.errors import BadSettings
from hikidashi.model.prompt_files import prompt_sources
from hikidashi.prompts.template import FoundPrompt, workspace_prompts

__all__ = ["PromptPlan", "pin", "preview_prompts"]

State = Literal["new", "changed", "trusted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPlan:
    """The prompts of a workspace as they are now, and what pinning them would change."""

    #: By name; every one of them can be used.
    found: tuple[FoundPrompt, ...]
    #: One for each of `found`.
    states: tuple[State, ...]
    #: Names that were pinned and whose file is gone.
    gone: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Whether pinning would change anything."""
        return bool(self.gone) or any(state != "trusted" for state in self.states)


def preview_prompts(workspace: Workspace) -> PromptPlan:
    """What `pin` would do. Raises `BadSettings` for a file that could not be used as a prompt."""
    pinned = pinned_prompts(workspace)
    found = workspace_prompts(prompt_sources(workspace))
    for prompt in found:
        if prompt.trouble:
            raise BadSettings(prompt.trouble)
    names = {prompt.name for prompt in found}
    return PromptPlan(
        found=tuple(found),
        states=tuple(_state(prompt, pinned) for prompt in found),
        gone=tuple(sorted(pinned.keys() - names)),
    )


def pin(workspace: Workspace, found: Sequence[FoundPrompt]) -> None:
    """Use these prompts of the workspace from now on, with the bytes that `found` holds, and no others.

    A file that changed since it was looked at is not used: its bytes are not those that are pinned. Raises
    `StorageFailure`.
    """
    pin_prompts(workspace, {prompt.name: prompt.digest for prompt in found})


def _state(prompt: FoundPrompt, pinned: dict[str, str]) -> State:
    if prompt.is_pinned:
        return "trusted"
    return "changed" if prompt.name in pinned else "new"
