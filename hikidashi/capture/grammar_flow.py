"""Walks the statements of a line and says of each program what the line's end says of it."""

from __future__ import annotations

import re
from typing import Final

from hikidashi.capture.grammar_calls import Call, inner_calls
from hikidashi.capture.grammar_ends import BUILTINS, builtin, deciding, harmless, leaves, may_exit, never_zero
from hikidashi.capture.grammar_heredocs import lift
from hikidashi.capture.grammar_reading import Code, Invocation
from hikidashi.capture.grammar_state import (
    Place,
    Shell,
    filter_output,
    filter_words,
    redirected,
    worse,
)
from hikidashi.capture.grammar_tree import AndOr, Compound, Part, Pipeline, Script, Simple, Word, parse
from hikidashi.capture.grammar_words import SPECIAL, unquote
from hikidashi.capture.grammar_wrappers import Stripped, strip

__all__ = ["Walk"]

#: Filters that end with 0 whatever they read: under `pipefail` the code is that of the program before them.
_NEVER_FAIL: Final = frozenset(("tail", "head", "tee", "cat", "sort", "wc", "tr", "cut", "uniq", "nl"))

#: Scripts within scripts (`ssh h "bash -c '…'"`, functions that call functions).
_MAX_NESTING: Final = 8

#: Invocations of one line; more come only of lines made to be hard.
_MAX_INVOCATIONS: Final = 2_000

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Walk:
    """One line's walk. `found` grows in the order in which the programs start."""

    def __init__(self) -> None:
        self.found: list[Invocation] = []
        self.broken = False
        self.nesting = 0
        #: Place-holders of the heredocs of the text being walked, and their bodies.
        self.bodies: dict[str, str] = {}
        #: The words being walked were expanded outside: their substitutions have been followed.
        self.expanded = False
        #: The line holds an `exit`.
        self.exits = False

    def text(self, text: str, place: Place, shell: Shell, *, expanded: bool = False) -> None:
        """Read a script: the line itself, or a text inside it that a shell is given."""
        if self.nesting >= _MAX_NESTING or len(self.found) >= _MAX_INVOCATIONS:
            self.broken = True
            return
        lifted = lift(text)
        script, broken = parse(lifted.text)
        self.broken |= broken
        self.nesting += 1
        outer = self.bodies, self.expanded, self.exits
        self.expanded |= expanded
        self.exits = "exit" in text or "exec" in text or "return" in text
        self.bodies = {f"{lifted.mark}{n}": body for n, body in enumerate(lifted.bodies)}
        self.script(script, place, shell)
        self.bodies, self.expanded, self.exits = outer
        self.nesting -= 1

    # -- sequences ---------------------------------------------------------------------------------------------

    def script(self, script: Script, place: Place, shell: Shell) -> None:
        """Statements one after the other."""
        decides = deciding(script)
        for number, statement in enumerate(script):
            if number == decides:
                code: Code = place.code if decides == len(script) - 1 else place.shell_code
            elif shell.errexit and not place.tested and not statement.operators and not statement.background:
                code = "zero" if place.shell_code != "unknown" else "unknown"
            else:
                code = "unknown"
            sure = place.sure and not shell.ended
            same = code == place.code and sure == place.sure
            self.and_or(statement, place if same else place._replace(code=code, sure=sure), shell)
            if not place.sure:
                continue
            fails = shell.errexit and not place.tested and not all(map(harmless, statement.pipelines))
            if fails or (self.exits and may_exit(statement)):
                place = place._replace(sure=False)

    def and_or(self, statement: AndOr, place: Place, shell: Shell) -> None:
        """Pipelines joined by `&&` and `||`, from the last to the first as far as exit codes go."""
        pipelines, operators = statement.pipelines, statement.operators
        if statement.background:
            place = place._replace(code="unknown", background=True)
            shell = shell.copy()
        if not operators:
            self.pipeline(pipelines[0], place, shell)
            return
        codes, code = [place.code], place.code
        for number in range(len(operators) - 1, -1, -1):
            if operators[number] == "&&":
                code = "zero" if code != "unknown" else "unknown"
            elif never_zero(pipelines[number + 1]):
                known = place.shell_code if leaves(pipelines[number + 1]) else code
                code = "zero" if known != "unknown" else "unknown"
                codes[-1] = "unknown"
            else:
                code, codes[-1] = "unknown", "unknown"
            codes.append(code)
        codes.reverse()
        sure = place.sure
        for number, pipeline in enumerate(pipelines):
            operator = operators[number - 1] if number else ""
            if operator == "||":
                sure = False
            elif operator == "&&":
                sure = sure and harmless(pipelines[number - 1])
            last = number == len(pipelines) - 1
            within = shell if operator != "||" else shell.copy()
            self.pipeline(
                pipeline, place._replace(code=codes[number], sure=sure, tested=place.tested or not last), within
            )

    def pipeline(self, pipeline: Pipeline, place: Place, shell: Shell) -> None:
        """Commands joined by `|`: each but a lone one runs in a subshell."""
        parts = pipeline.parts
        if pipeline.negated:
            place = place._replace(code="unknown", negated=True)
        if len(parts) == 1:
            self.part(parts[0], place, shell)
            return

        def unquoted(raw: str) -> str:
            return unquote(raw, shell.known)

        places = [place]
        for number in range(len(parts) - 1, 0, -1):
            behind, words = places[-1], filter_words(parts[number], unquoted)
            code: Code = "unknown"
            if shell.pipefail and place.code != "unknown":
                steady = behind.code == "last" and words[:1] and words[0] in _NEVER_FAIL
                code = "last" if steady else "zero"
            output = worse(behind.output, filter_output(parts[number], words, unquoted))
            places.append(
                behind._replace(code=code, output=output, filters=(words, *behind.filters), stdin=place.stdin)
            )
        if shell.pipefail and place.code == "last" and places[1].code == "last":
            places[0] = place._replace(code="zero")
        places.reverse()
        fed: str | None = place.stdin
        for part, own in zip(parts, places, strict=True):
            self.part(part, own._replace(stdin=fed), shell.copy())
            fed = self.fed(part, shell)

    def fed(self, part: Part, shell: Shell) -> str | None:
        """The text that a command puts into the pipe behind it, when the line shows it."""
        if not isinstance(part, Simple) or not part.words:
            return None
        words = [unquote(word.raw, shell.known) for word in part.words]
        if words[0] == "cat" and len(words) == 1:
            return self.stdin(part, shell)
        if words[0] in ("echo", "printf") and not any(word.scripts for word in part.words):
            return " ".join(word for word in words[1:] if word not in ("-e", "-n", "-E", "%s\\n", "%s")) + "\n"
        return None

    # -- commands ----------------------------------------------------------------------------------------------

    def part(self, part: Part, place: Place, shell: Shell) -> None:
        """A simple command or a compound one."""
        if isinstance(part, Simple):
            self.simple(part, place, shell)
        else:
            self.compound(part, place, shell)

    def compound(self, part: Compound, place: Place, shell: Shell) -> None:
        """Scripts inside a command."""
        if part.kind == "function":
            shell.functions[part.name] = part.scripts[0] if part.scripts else []
            return
        for word in part.words:
            self.substitutions(word, place, shell)
        place = self.redirects(part, place, shell)
        if part.kind == "group":
            for script in part.scripts:
                self.script(script, place, shell)
        elif part.kind == "subshell":
            for script in part.scripts:
                self.script(script, place._replace(shell_code=place.code), shell.copy())
        else:
            if part.name:
                shell.known.pop(part.name, None)
            for number, script in enumerate(part.scripts):
                sure = place.sure and number == 0 and (part.kind == "if" or len(part.scripts) > 1) and not part.name
                inside = place._replace(code="unknown", sure=sure, tested=place.tested or part.kind == "if")
                self.script(script, inside, shell.copy())

    def redirects(self, part: Part, place: Place, shell: Shell) -> Place:
        """The place of a command whose redirections count, and the substitutions in them."""
        if not part.redirects:
            return place
        for redirect in part.redirects:
            if redirect.target.scripts:
                self.substitutions(redirect.target, place, shell)
        output = redirected(part.redirects, lambda raw: unquote(raw, shell.known))
        stdin = self.stdin(part, shell)
        if output == "shown" and stdin is None:
            return place
        return place._replace(output=worse(place.output, output), stdin=place.stdin if stdin is None else stdin)

    def stdin(self, part: Part, shell: Shell) -> str | None:
        """The text of a heredoc or here-string."""
        for redirect in reversed(part.redirects):
            if redirect.operator == "<<<":
                return unquote(redirect.target.raw, shell.known)
            if redirect.operator == "<" and redirect.target.raw in self.bodies:
                return self.bodies[redirect.target.raw]
        return None

    def substitutions(self, word: Word, place: Place, shell: Shell, code: Code = "unknown") -> None:
        """The scripts a word runs; their output goes into it."""
        if self.expanded:
            return
        for script in word.scripts:
            inside = place._replace(code=code, shell_code=code, output="gone", filters=(), stdin=None, tested=True)
            self.script(script, inside, shell.copy())

    def simple(self, part: Simple, place: Place, shell: Shell) -> None:
        """A simple command: what its words run first, then itself."""
        alone = not part.words
        environ = {}
        for name, word in part.assignments:
            if word.scripts:
                self.substitutions(word, place, shell, place.code if alone else "unknown")
            environ[name] = self.value(word.raw, shell)
            if alone:
                self.assign(shell, name, word, environ[name])
        live = False
        for word in part.words:
            if word.scripts:
                live = True
                self.substitutions(word, place, shell)
        place = self.redirects(part, place, shell)
        if alone:
            return
        words = self.values(part, shell)
        if not words:
            return
        if words == ["exec"]:
            shell.output = redirected(part.redirects, lambda raw: unquote(raw, shell.known))
            return
        if shell.output != "shown":
            place = place._replace(output=worse(place.output, shell.output))
        self.call(words, place, shell, environ, live)

    def value(self, raw: str, shell: Shell) -> str:
        """A word unquoted, with place-holders of heredocs put back."""
        text = unquote(raw, shell.known) if SPECIAL.search(raw) else raw
        if self.bodies and "__heredoc_" in text:
            for mark, body in self.bodies.items():
                text = text.replace(f"$(cat <{mark}\n)", body.rstrip("\n")).replace(f"<{mark}", "<<EOF")
        return text

    def values(self, part: Simple, shell: Shell) -> list[str]:
        """The words as the program gets them."""
        found = []
        for word in part.words:
            raw = word.raw
            text = self.value(raw, shell)
            if raw[:1] == "$" and text != raw and " " in text:  # an unquoted variable falls apart at its blanks
                found += text.split()
            else:
                found.append(text)
        return found

    def assign(self, shell: Shell, name: str, word: Word, value: str) -> None:
        """`A=b` on its own: a value the line shows, unless it is made by a command or comes from elsewhere."""
        if not _NAME.fullmatch(name) or word.scripts or "$" in value or word.raw.startswith("("):
            shell.known.pop(name.rstrip("+"), None)
        else:
            shell.known[name] = value
            if name in shell.exported:
                shell.exported[name] = value

    def call(self, words: list[str], place: Place, shell: Shell, environ: dict[str, str], live: bool) -> None:
        """A program with its arguments: builtins change the shell, wrappers are taken off, inner calls followed."""
        name = words[0]
        if name in shell.functions and self.nesting < _MAX_NESTING:
            self.add(Stripped(words=words), place, shell, environ)
            self.nesting += 1
            self.script(shell.functions[name], place._replace(code="unknown", sure=False), shell)
            self.nesting -= 1
            return
        stripped = strip(words)
        place = _wrapped(stripped, place)
        self.add(stripped, place, shell, environ)
        if name in BUILTINS:
            builtin(words, place, shell)
            if name != "exec":
                return
        for inner in inner_calls(stripped, place.stdin):
            self.inner(inner, stripped, place, shell, live)

    def inner(self, inner: Call, outer: Stripped, place: Place, shell: Shell, live: bool) -> None:
        """What a program runs in its turn: `bash -c`, `ssh host …`, `docker exec`."""
        within = shell.copy()
        if inner.via:
            within = Shell(functions={})
            place = place._replace(host=inner.host, via=inner.via, sure=False)
        place = place._replace(
            shell_code=place.code, stdin=inner.stdin, wrappers=(*place.wrappers, *outer.wrappers, *inner.wrappers)
        )
        within.errexit, within.pipefail = inner.errexit, inner.pipefail
        if inner.script is not None:
            self.text(inner.script, place, shell if inner.same_shell else within, expanded=live)
        elif inner.words and self.nesting < _MAX_NESTING:
            self.nesting += 1
            self.call(list(inner.words), place, within, {}, live)
            self.nesting -= 1

    def add(self, stripped: Stripped, place: Place, shell: Shell, environ: dict[str, str]) -> None:
        """Note one invocation."""
        if len(self.found) >= _MAX_INVOCATIONS:
            self.broken = True
            return
        if shell.exported or stripped.environ:
            environ = {**shell.exported, **environ, **stripped.environ}
        self.found.append(
            Invocation(
                words=tuple(stripped.words),
                wrappers=(*place.wrappers, *stripped.wrappers),
                environ=environ,
                folder=shell.folder,
                host=place.host,
                via=place.via,
                stdin=place.stdin,
                code=place.code,
                ran="surely" if place.sure else "maybe",
                output=place.output,
                filters=place.filters,
                background=place.background,
                negated=place.negated,
            )
        )


def _wrapped(stripped: Stripped, place: Place) -> Place:
    """What wrappers change about an end."""
    for wrapper in stripped.wrappers:
        if wrapper in ("nohup", "setsid"):
            place = place._replace(background=True)
        elif wrapper == "xargs":
            place = place._replace(sure=False, code="zero" if place.code != "unknown" else "unknown", stdin=None)
        elif wrapper == "watch":
            place = place._replace(code="unknown")
    return place
