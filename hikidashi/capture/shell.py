"""Reading a shell command: its pipelines, the one that matters, and the form under which two runs are the same.

It is a reader for judging, not for running: quotes, heredocs, `cd x &&`, environment prefixes, wrappers,
filters and redirections are understood as far as they change which program ran and whose exit code counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from hikidashi.capture.vocabulary import word_list

__all__ = ["MAX_COMMAND", "Command", "Segment", "exit_counts", "plain", "read_command"]

#: Characters of a command that are looked at; what a longer one does at its end is not known.
MAX_COMMAND: Final = 6_000

#: Characters of it, without heredocs, that are taken apart.
_MAX_PARSED: Final = 1_000

#: A run of words and spaces, a quotation, or what stands between commands.
_TOKEN: Final = re.compile(
    r"""(?P<words>[^'"\\;|&<>\n]+)|(?P<quoted>'[^']*'|"(?:\\.|[^"\\])*")|(?P<escaped>\\.)"""
    r"""|(?P<join>&&|\|\||;|\n|\|&?)|(?P<redirect>>&\d|&>>?\s*\S+|>>?\s*\S+|<\s*\S+)|(?P<amp>&)|(?P<rest>.)""",
    re.DOTALL,
)

_HEREDOC: Final = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1")

#: Stands for a heredoc whose body was taken out.
_HEREDOC_MARK: Final = "<<HEREDOC"

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")

#: Programs that only run another one.
_WRAPPERS: Final = word_list(
    "command env exec nice nohup stdbuf sudo time timeout unbuffer",
)

#: Runners in front of a program, taken off so that `npx jest` and `jest` are one.
_RUNNERS: Final = {
    ("npx",), ("bunx",), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec"), ("poetry", "run"), ("uv", "run"),
    ("pipenv", "run"), ("bundle", "exec"), ("python", "-m"), ("python3", "-m"), ("mise", "exec"), ("dotenv",),
}  # fmt: skip

_DURATION: Final = re.compile(r"\d+(?:\.\d+)?[smhd]?")


@dataclass(slots=True)
class Segment:
    """One simple command of a line."""

    words: list[str] = field(default_factory=list)
    #: What stands after it: `&&`, `||`, `;`, `|`, `&` or ''.
    after: str = ""
    #: A heredoc is fed to it.
    heredoc: bool = False
    #: Its output goes to a file.
    writes: str = ""

    @property
    def program(self) -> str:
        """The name of the program without its folder; '' for none."""
        return self.words[0].rpartition("/")[2] if self.words else ""


@dataclass(slots=True)
class Command:
    """A command line as it was read."""

    segments: list[Segment]
    #: The part that the line was run for.
    main: Segment
    #: `set -o pipefail` is on.
    pipefail: bool


def _drop_heredocs(text: str) -> str:
    """`text` with the bodies of its heredocs taken out."""
    match = _HEREDOC.search(text)
    while match:
        line_end = text.find("\n", match.end())
        if line_end < 0:
            return text[: match.start()] + f" {_HEREDOC_MARK}" + text[match.end() :]
        close = re.compile(rf"^\s*{match.group(2)}\b", re.MULTILINE).search(text, line_end + 1)
        tail = text[close.end() :] if close else ""
        text = text[: match.start()] + f" {_HEREDOC_MARK}" + text[match.end() : line_end] + tail
        match = _HEREDOC.search(text, match.start() + 10)
    return text


def _redirect(segment: Segment, target: str) -> None:
    if target == _HEREDOC_MARK:
        segment.heredoc = True
    elif ">" in target and "&" not in target[:3]:
        segment.writes = target.lstrip("0123456789>").strip()


def _segments(text: str) -> list[Segment]:
    segments, current, word, before = [], Segment(), "", ""
    for match in _TOKEN.finditer(text):
        kind, piece = match.lastgroup, match.group()
        if kind == "words":
            before = piece
            first, *others = piece.replace("\t", " ").split(" ")
            word += first
            if others:
                current.words += [found for found in (word, *others[:-1]) if found]
                word = others[-1]
            continue
        before, words = "", before
        if kind in ("quoted", "escaped", "rest"):
            word += piece[1:-1] if kind == "quoted" else "" if piece == "\\\n" else piece
            continue
        if piece[0] == ">" and words[-1:].isdecimal() and (len(words) == 1 or words[-2].isspace()):
            word, piece = word[:-1], word[-1] + piece  # `2>`: a digit that stands alone is a part of it
        if word:
            current.words.append(word)
            word = ""
        if kind == "redirect":
            _redirect(current, piece)
            continue
        current.after = {"\n": ";", "|&": "|"}.get(piece, piece)
        if current.words or current.heredoc:
            segments.append(current)
        current = Segment()
    if word:
        current.words.append(word)
    if current.words:
        segments.append(current)
    return segments


#: Programs that wrap nothing and that no wrapper form starts with.
_PLAIN_PROGRAMS: Final = word_list(
    "git cd ls cat grep rg find echo head tail sed awk sort wc go cargo make mise npm docker gh curl mkdir rm cp",
    "mv",
)


def _after_wrapper(words: list[str]) -> list[str]:
    """What a wrapper runs: without its flags, their values and a time limit."""
    rest = words[1:]
    while rest and (rest[0].startswith("-") or _DURATION.fullmatch(rest[0])):
        rest = rest[2:] if rest[0] in ("-u", "-g", "-k", "--signal") else rest[1:]
    return rest


def _unwrap(segment: Segment) -> Segment:
    words = segment.words
    if not words:
        return segment
    first = words[0]
    if first in _PLAIN_PROGRAMS:
        return segment
    while words:
        if _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif words[0].rpartition("/")[2] in _WRAPPERS:
            words = _after_wrapper(words)
        elif len(words) > 2 and words[0] in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc"):
            inner = _segments(words[2])
            return _unwrap(inner[-1]) if inner else segment
        else:
            break
    for length in (2, 1):
        if len(words) > length and (words[0].rpartition("/")[2], *words[1:length]) in _RUNNERS:
            words = [word for word in words[length:] if word not in ("-y", "--yes", "-q")] or words
            break
    return Segment(words=words, after=segment.after, heredoc=segment.heredoc, writes=segment.writes)


_SIDE: Final = word_list(
    ". : cd clear date echo exit export mkdir popd printf pushd pwd set sleep source true unset wait",
)


def read_command(text: str) -> Command | None:
    """Read a command line; None when there is nothing in it that runs."""
    text = text[:MAX_COMMAND]
    if "<<" in text:
        text = _drop_heredocs(text)
    text = text[:_MAX_PARSED]
    segments = [s for s in map(_unwrap, _segments(text)) if s.words]
    if not segments:
        return None
    heads = [n for n, s in enumerate(segments) if n == 0 or segments[n - 1].after != "|"]
    candidates = [n for n in heads if segments[n].program not in _SIDE] or heads
    index = candidates[-1]
    for n in candidates:  # `cmd || true`, `cmd; echo $?`: the first of an alternative is what was wanted
        if segments[n].after == "||":
            index = n
            break
    return Command(segments=segments, main=segments[index], pipefail="pipefail" in text)


def exit_counts(command: Command, segment: Segment) -> bool:
    """Whether the line's exit code is that of `segment` (else a filter, `|| true` or a later command hides it)."""
    place = next(n for n, other in enumerate(command.segments) if other is segment)
    rest = command.segments[place:]
    if rest[-1].after == "&":
        return False
    harmless = ("&&", "|") if command.pipefail else ("&&",)
    return all(s.after in harmless for s in rest[:-1])


#: Words that change how much a command says, not what it does.
_CHATTER: Final = word_list(
    "--color=always --no-color --quiet --silent --verbose -q -s -v -vv -x",
)


def plain(segment: Segment) -> str:
    """The segment in one line, without wrappers, filters, redirections and chatter: equal for equal work."""
    words = [word if len(word) <= 200 else word[:200] for word in segment.words]
    kept = [word for n, word in enumerate(words) if n == 0 or word not in _CHATTER]
    kept[0] = segment.program if kept[0].startswith(("/", "~", "./node_modules", ".venv/")) else kept[0]
    return " ".join(" ".join(kept).split())[:300]
