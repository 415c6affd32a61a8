"""`trust --prompts`: show the prompts of a workspace, and use them once a person agreed."""

from __future__ import annotations

from pathlib import Path

from hikidashi.cli.context import only_person
from hikidashi.cli.output import amount, confirmed, emit_json, say
from hikidashi.config.settings import load_settings
from hikidashi.config.workspace import Workspace, open_workspace
from hikidashi.errors import UsageError
from hikidashi.worker.adopt_prompts import PromptPlan, pin, preview_prompts

__all__ = ["trust_prompts"]


def trust_prompts(folder: Path, *, yes: bool, as_json: bool) -> None:
    """Show what lies in `.hikidashi/prompts/`, ask, and pin it.

    Raises `UntrustedWorkspace`, `BadSettings` for a file that is no usable prompt, `GateClosed` to an agent,
    `UsageError` when nobody agreed.
    """
    workspace = open_workspace(folder)
    plan = preview_prompts(workspace)
    if plan.changes:
        if not as_json:
            _show(plan)
        only_person(load_settings(None), "trust", "--prompts", folder=folder)
        question = "Send this to the model in this workspace?" if plan.found else "Forget them?"
        if not confirmed(question, yes=yes, quiet=as_json, default=False):
            raise UsageError("nothing was changed: look at the prompts, then run `hikidashi trust --prompts --yes`")
        pin(workspace, plan.found)
    if as_json:
        emit_json(_form(workspace, plan))
    elif plan.changes:
        say(f"Trusted: {amount(len(plan.found), 'prompt')} of this workspace, as shown.", "bold")
        say("One that changes is not used any more until you look at it again.")
    elif plan.found:
        say("The prompts of this workspace are trusted already: nothing was changed.", "bold")
    else:
        say("This workspace has no prompts of its own: nothing was changed.", "bold")


def _show(plan: PromptPlan) -> None:
    for prompt, state in zip(plan.found, plan.states, strict=True):
        say(f"{prompt.path} ({state})", "bold")
        if state != "trusted":
            say(prompt.data.decode("utf-8-sig").rstrip(), indent="  ")
            say()
    for name in plan.gone:
        say(f"{name}.md is gone: it would be forgotten.")


def _form(workspace: Workspace, plan: PromptPlan) -> dict[str, object]:
    return {
        "workspace": str(workspace.root),
        "prompts": [
            {"name": prompt.name, "path": str(prompt.path), "was": state, "sha256": prompt.digest}
            for prompt, state in zip(plan.found, plan.states, strict=True)
        ],
        "forgotten": list(plan.gone),
    }
