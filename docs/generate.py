"""Write the parts of the documentation that come from the program, so that they cannot differ from it.

    python docs/generate.py            write them
    python docs/generate.py --check    change nothing; exit 1 if a page is not what would be written

A page is written by hand except between `<!-- generated: NAME -->` and `<!-- end: NAME -->`. To add a part,
put the two lines into a page and a row into `PARTS`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the checkout beside this file, not an installed version

import click  # noqa: E402

from hikidashi import errors  # noqa: E402
from hikidashi.atomic import write_atomic  # noqa: E402
from hikidashi.capture.claim_reasons import REASONS  # noqa: E402
from hikidashi.capture.evidence import VERBS  # noqa: E402
from hikidashi.capture.tool_rows import toolbox  # noqa: E402
from hikidashi.cli.inbox import KEYS  # noqa: E402
from hikidashi.cli.main import COMMANDS, cli  # noqa: E402
from hikidashi.cli.transfer import WithClaudeMemory  # noqa: E402
from hikidashi.config.defaults import OTHER_VARIABLES, SETTINGS, Setting  # noqa: E402
from hikidashi.config.settings import expected  # noqa: E402
from hikidashi.drawer.person import MARKERS, NO_MARKERS, PROGRAMS  # noqa: E402
from hikidashi.drawer.probe_environment import EVERY_PROBE, OF_PROGRAM  # noqa: E402
from hikidashi.model.prices import Rates, own_prices  # noqa: E402
from hikidashi.prompts.template import PROMPTS  # noqa: E402
from hikidashi.records.linter import rules_table  # noqa: E402
from hikidashi.redact.rules import render_table  # noqa: E402
from hikidashi.serve.mcp_tools import TOOLS  # noqa: E402


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _default(setting: Setting) -> str:
    if isinstance(setting.default, bool):
        return f"`{str(setting.default).lower()}`"
    if isinstance(setting.default, str):
        return f"`{setting.default}`" if setting.default else "none"
    number = f"{setting.default:,}"
    return f"{number} {setting.unit}".strip()


def _who(setting: Setting) -> str:
    if not setting.workspace_may_set:
        return "you"
    return "you; a workspace may lower it" if setting.budget else "you, a workspace"


def settings_table() -> str:
    """One table a group: key, default, what it takes, who may set it, what it does."""
    parts = []
    for group in dict.fromkeys(setting.group for setting in SETTINGS):
        rows = [
            [f"`{s.key}`", _default(s), expected(s), _who(s), s.doc + (" Never shown." if s.secret else "")]
            for s in SETTINGS
            if s.group == group
        ]
        parts.append(
            f"### `[{group}]`\n\n" + _table(["key", "default", "takes", "who may set it", "what it does"], rows)
        )
    return "\n\n".join(parts)


def variables_table() -> str:
    """Every environment variable that the program reads."""
    rows = [[f"`{setting.variable}`", f"`{setting.name}`"] for setting in SETTINGS if not setting.file_only]
    rows += [[f"`{name}`", doc] for name, doc in OTHER_VARIABLES.items()]
    return _table(["variable", "sets"], rows)


def exit_codes_table() -> str:
    """Every exit code, the class of `hikidashi.errors` behind it, and when it is given."""
    classes: list[type[errors.HikidashiError]] = [errors.HikidashiError, *errors.HikidashiError.__subclasses__()]
    rows = [["0", "", "Done. A consolidation that found nothing to do, or could do one of its two phases, too."]]
    rows += [
        [str(error.exit_code), f"`{error.__name__}`", (error.__doc__ or "").partition("\n\n")[0]]
        for error in sorted(classes, key=lambda error: error.exit_code)
    ]
    return _table(["code", "error", "when"], rows)


def commands_text() -> str:
    """One section a command: how it is called, what it does, its options.

    Written from the parameters and not by click's own formatter, whose lines differ between versions.
    """
    context = click.Context(cli, info_name="hikidashi")
    parts = [_command_text("hikidashi", cli)]
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if command is None:
            raise ValueError(f"no command {name}")
        parts.append(_command_text(f"hikidashi {name}", command))
        if isinstance(command, WithClaudeMemory):
            parts.append(_command_text(f"hikidashi {name} claude-memory", command.claude_memory()))
    return "\n\n".join(parts)


def _command_text(title: str, command: click.Command) -> str:
    options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    called = [title, *(["[-C FOLDER]", "COMMAND"] if command is cli else [])]
    called += [_option_usage(option) for option in options if command is not cli]
    called += [argument.metavar or (argument.name or "").upper() for argument in arguments]
    text = inspect.cleandoc(command.help or "")
    rows = [[f"`{', '.join(option.opts)}`{_value(option)}", option.help or ""] for option in options]
    table = "\n\n" + _table(["option", "what it does"], rows) if rows else ""
    return f"## `{title}`\n\n```\n{' '.join(called)}\n```\n\n{text}{table}"


def _option_usage(option: click.Option) -> str:
    value = "" if option.is_flag else f" {_metavar(option)}"
    return f"[{option.opts[0]}{value}]"


def _metavar(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    return "FOLDER" if isinstance(option.type, click.Path) else option.type.name.upper().partition(" ")[0]


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    default = f" (default {option.default})" if isinstance(option.default, int) else ""
    return f" `{_metavar(option)}`{default}"


def prompts_table() -> str:
    """Every prompt, what it is for, and its placeholders."""

    def braced(names: tuple[str, ...]) -> str:
        return " ".join(f"`{{{{{name}}}}}`" for name in names)

    rows = [[f"`{name}`", kind.doc, braced(kind.needed), braced(kind.allowed)] for name, kind in PROMPTS.items()]
    return _table(["name", "what it is for", "placeholders it needs", "placeholders it may have"], rows)


def inbox_keys_table() -> str:
    """What each key of the inbox does."""
    return _table(["key", "what it does"], [[f"`{key}`", does] for key, does in KEYS.items()])


def markers_table() -> str:
    """Every variable by which a host is recognised, and how it is known."""
    rows = []
    for marker in MARKERS:
        variable = f"`{marker.variable}={marker.value}`" if marker.value else f"`{marker.variable}`"
        rows.append([marker.host, variable, marker.source])
    return _table(["host", "variable", "known from"], rows)


def programs_table() -> str:
    """Every program by which a host is recognised."""
    return _table(["program", "host"], [[f"`{name}`", host] for name, host in PROGRAMS.items()])


def no_markers_table() -> str:
    """Variables that are no markers."""
    return _table(["variable", "why not"], [[f"`{name}`", why] for name, why in NO_MARKERS.items()])


def probe_variables_table() -> str:
    """What of the environment a probe gets."""

    def shown(names: tuple[str, ...]) -> str:
        return " ".join(f"`{name}…`" if name.endswith("_") or name == "PG" else f"`{name}`" for name in names)

    programs: dict[tuple[str, ...], list[str]] = {}
    for program, names in OF_PROGRAM.items():
        programs.setdefault(names, []).append(f"`{program}`")
    rows = [["every one", shown(("PATH", *EVERY_PROBE))]]
    rows += [[", ".join(those), shown(names)] for names, those in programs.items()]
    return _table(["a check of", "gets"], rows)


def tools_table() -> str:
    """Every verb of the tool table with its tools."""
    tools = toolbox().tools.values()
    rows = []
    for verb in VERBS:
        names = sorted({tool.name for tool in tools if any(call.verb == verb for call in tool.calls)}, key=str.lower)
        rows.append([f"`{verb}`", str(len(names)), ", ".join(names)])
    return f"{len(tools)} tools:\n\n" + _table(["verb", "tools", "which"], rows)


def prices_table() -> str:
    """Every model of the program's own price table."""

    def cells(name: str, rates: Rates, window: str) -> list[str]:
        prices = (rates.input, rates.output, rates.cache_write, rates.cache_read)
        return [name, *(f"{price:f}" for price in prices), window]

    rows = []
    for facts in own_prices().models.values():
        if facts.rates is not None:
            rows.append(cells(f"`{facts.name}`", facts.rates, f"{facts.window:,}, {facts.max_output:,}"))
        if facts.long_rates is not None:
            rows.append(cells(f"… over {facts.long_prompt:,} tokens of prompt", facts.long_rates, ""))
    head = ["model", "input", "output", "written to the cache", "read from it", "window, longest answer"]
    return f"Prices of {own_prices().date}, US dollars a million tokens:\n\n" + _table(head, rows)


#: (page below docs/, name of the part, what writes it).
def reasons_table() -> str:
    """Why a model's claim is dropped."""
    return _table(["code", "the claim"], [[f"`{code}`", words] for code, words in REASONS.items()])


def mcp_tools_table() -> str:
    """The tools of the MCP server."""
    rows = []
    for tool in TOOLS:
        schema = tool["inputSchema"]
        arguments = [f"`{name}`" if name in schema["required"] else f"`{name}`?" for name in schema["properties"]]
        kind = "reads" if tool["annotations"]["readOnlyHint"] else "proposes"
        rows.append([f"`{tool['name']}`", ", ".join(arguments), kind, tool["description"]])
    return _table(["tool", "arguments (? may be left out)", "", "what the model is told"], rows)


PARTS: Final[list[tuple[str, str, Callable[[], str]]]] = [
    ("commands.md", "commands", commands_text),
    ("settings.md", "settings", settings_table),
    ("settings.md", "variables", variables_table),
    ("exit-codes.md", "exit-codes", exit_codes_table),
    ("claims.md", "reasons", reasons_table),
    ("cost.md", "prices", prices_table),
    ("security.md", "secret-shapes", lambda: render_table().rstrip("\n")),
    ("mcp.md", "mcp-tools", mcp_tools_table),
    ("linter.md", "rules", lambda: rules_table().rstrip("\n")),
    ("promotion.md", "tools", tools_table),
    ("prompts.md", "prompts", prompts_table),
    ("gate.md", "inbox-keys", inbox_keys_table),
    ("gate.md", "markers", markers_table),
    ("gate.md", "host-programs", programs_table),
    ("gate.md", "no-markers", no_markers_table),
    ("gate.md", "probe-variables", probe_variables_table),
]


def filled(page: str, name: str, body: str) -> str:
    """`page` with `body` in its part `name`. Raises `ValueError` when the page does not have that part once."""
    start, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
    before, found, rest = page.partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed) or start in after:
        raise ValueError(f"the page needs one {start.strip()} … {end}")
    return f"{before}{start}\n{body}\n\n{end}{after}"


def pages() -> dict[Path, str]:
    """Each generated page as it should be."""
    texts: dict[Path, str] = {}
    for file, name, write in PARTS:
        path = ROOT / "docs" / file
        texts[path] = filled(texts.get(path) or path.read_text(encoding="utf-8"), name, write())
    return texts


def main(arguments: list[str]) -> int:
    """Write or check all pages."""
    stale = [path for path, text in pages().items() if path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            sys.stderr.write(f"docs/{path.name} is out of date: run `make docs`\n")
        return 1 if stale else 0
    for path in stale:
        write_atomic(path, pages()[path].encode(), mode=0o644)
        sys.stdout.write(f"wrote docs/{path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
