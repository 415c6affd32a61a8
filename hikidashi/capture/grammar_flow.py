"""Walks the statements of a line and says of each program what the line's end says of it."""

from __future__ import annotations

import time
from typing import Final

from hikidashi.capture.grammar_calls import Call, inner_calls
from hikidashi.capture.grammar_ends import (
    BUILTINS,
    after_exit,
    builtin,
    chain_codes,
    deciding,
    ends_shell,
    harmless,
    wrapped,
)
from hikidashi.capture.grammar_filling import Filling
from hikidashi.capture.grammar_heredocs import lift
from hikidashi.capture.grammar_parts import AndOr, Compound, Part, Pipeline, Script, Simple, Word
from hikidashi.capture.grammar_reading import Code, Dialect
from hikidashi.capture.grammar_state import (
    Place,
    Shell,
    change_folder,
    filter_output,
    filter_words,
    redirected,
    worse,
)
from hikidashi.capture.grammar_tree import parse
from hikidashi.capture.grammar_windows import placed
from hikidashi.capture.grammar_words import scripts_in, unquote
from hikidashi.capture.grammar_wrappers import Stripped, strip

__all__ = ["MAX_PARSED", "MAX_TEXT", "Walk"]

#: Filters that end with 0 whatever they read: under `pipefail` the code is that of the program before them.
_NEVER_FAIL: Final = frozenset(("tail", "head", "tee", "cat", "sort", "wc", "tr", "cut", "uniq", "nl"))

#: Scripts within scripts (`ssh h "bash -c '…'"`, functions that call functions).
_MAX_NESTING: Final = 8

#: Characters that are looked at; without the bodies of heredocs, those that are parsed. A script in quotes is parsed
#: again, so all that a line makes the parser read is bounded too: to four times as much.
MAX_TEXT: Final = 1_000_000
MAX_PARSED: Final = 20_000

#: Seconds that the parser may take for one line, far more than any needs that people write.
_MAX_SECONDS: Final = 0.5


class Walk(Filling):
    """One line's walk."""

    def __init__(self) -> None:
        super().__init__()
        self.nesting = 0
        #: Until when long texts are parsed (`time.monotonic`).
        self.until = time.monotonic() + _MAX_SECONDS
        #: Characters parsed so far, and redirections met.
        self.parsed = 0
        self.redirections = 0
        #: The words being walked were expanded outside: their substitutions have been followed.
        self.expanded = False

    def text(self, text: str, place: Place, shell: Shell, *, expanded: bool = False) -> None:
        """Read a script: the line itself, or a text inside it that a shell is given."""
        if self.nesting >= _MAX_NESTING or self.full:
            self.broken = True
            return
        outer = self.bodies, self.literal, self.expanded
        if expanded or text in self.filled:
            self.expanded = True
            text = text.replace("$?", "${?}")  # the outer shell's, not that of a command in here
        lifted = lift(text[:MAX_TEXT])
        room = MAX_PARSED - self.parsed // 4
        self.parsed += len(lifted.text)
        script, broken = parse(lifted.text[: max(room, 0)], self.until)
        self.broken |= broken or len(lifted.text) > room or len(text) > MAX_TEXT
        self.nesting += 1
        self.literal = {f"{lifted.mark}{n}" for n, literal in enumerate(lifted.literal) if literal}
        self.bodies = {f"{lifted.mark}{n}": body for n, body in enumerate(lifted.bodies)}
        self.script(script, place, shell)
        self.bodies, self.literal, self.expanded = outer
        self.nesting -= 1

    def windows(self, text: str, dialect: Dialect, place: Place, shell: Shell) -> None:
        """Read a PowerShell or cmd line."""
        for statement, there in placed(text, dialect, place):
            shell.exported.update(statement.environ)
            if statement.words and not self.full:
                self.call(statement.words, there, shell, {}, live=False)
            if statement.folder:
                change_folder(shell, statement.folder)

    # -- sequences ---------------------------------------------------------------------------------------------

    def script(self, script: Script, place: Place, shell: Shell) -> None:
        """Statements one after the other."""
        decides, head, exact = deciding(script)
        if self.expanded and decides < len(script) - 1:  # `$?` and `$rc` were the outer shell's
            decides = -1
        for number, statement in enumerate(script):
            if self.full:
                return
            code: Code = "unknown"
            if number == decides:
                code = place.code if decides == len(script) - 1 else place.shell_code
                if code == "last" and (not exact or (decides < len(script) - 1 and (shell.errexit or shell.shaky))):
                    code = "zero"
            if code == "unknown" and shell.errexit and not place.tested and ends_shell(statement):
                code = "zero" if place.shell_code != "unknown" else "unknown"
            there = place if code == place.code else place._replace(code=code)
            if head and number == decides:
                there = there._replace(head=True)
            self.and_or(statement, there, shell)
            if number == 0 and place.failed:
                place = place._replace(failed=False)
            if shell.left:
                place = after_exit(place, shell)
            if place.sure and (shell.errexit or shell.shaky) and not all(map(harmless, statement.pipelines)):
                place = place._replace(sure=False)

    def and_or(self, statement: AndOr, place: Place, shell: Shell) -> None:
        """Pipelines joined by `&&` and `||`."""
        pipelines, operators = statement.pipelines, statement.operators
        if statement.background:
            place = place._replace(code="unknown", shell_code="unknown", background=True)
            shell = shell.copy()
        if not operators:
            self.pipeline(pipelines[0], place, shell)
            return
        codes, sure, works = chain_codes(statement, place), place.sure, True
        for number, pipeline in enumerate(pipelines):
            operator = operators[number - 1] if number else ""
            works = works and (not number or harmless(pipelines[number - 1]))
            sure = sure and operator != "||" and works
            there = place._replace(code=codes[number], sure=sure)
            if number < len(operators):
                there = there._replace(tested=True)
            if number:
                shell_code = place.shell_code if codes[number] != "unknown" else "unknown"
                branch = place.branch or operator == "||" or not works
                there = there._replace(failed=operator == "||", shell_code=shell_code, branch=branch)
            if shell.left:
                there = after_exit(there, shell)
            if operator == "||":
                within = shell.copy()
                self.pipeline(pipeline, there, within)
                if not works:
                    shell.learn(within)
            else:
                self.pipeline(pipeline, there, shell)

    def pipeline(self, pipeline: Pipeline, place: Place, shell: Shell) -> None:
        """Commands joined by `|`: each but a lone one runs in a subshell."""
        parts = pipeline.parts
        if not parts:
            return
        if pipeline.negated:
            place = place._replace(code="unknown", negated=True)
        if len(parts) == 1:
            self.part(parts[0], place, shell)
            return

        def unquoted(raw: str) -> str:
            return unquote(raw, shell.known)

        places = [place._replace(code="unknown", head=False) if place.head else place]
        steady = place.code == "last"
        for number in range(len(parts) - 1, 0, -1):
            behind, words = places[-1], filter_words(parts[number], unquoted)
            code: Code = "unknown"
            if shell.pipefail and place.code != "unknown":
                steady = steady and words[:1] != () and words[0] in _NEVER_FAIL
                code = "last" if steady and number == 1 else "zero"
            output = worse(behind.output, filter_output(parts[number], words, unquoted))
            file = behind.file if output == behind.output else None
            places.append(behind._replace(code=code, output=output, filters=(words, *behind.filters), file=file))
        if place.code == "last" and (shell.shaky or shell.pipefail):
            places[0] = places[0]._replace(code="zero")
        if place.head:
            places[-1] = places[-1]._replace(code=place.code)
        places.reverse()
        fed: str | None = place.stdin
        for part, own in zip(parts, places, strict=True):
            self.part(part, own._replace(stdin=fed, shell_code=own.code, branch=False), shell.copy())
            fed = self.fed(part, shell)

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
                self.script(script, place._replace(shell_code=place.code, branch=False), shell.copy())
        else:
            if part.name:
                shell.known.pop(part.name, None)
            for number, script in enumerate(part.scripts):
                sure = place.sure and number == 0 and (part.kind == "if" or len(part.scripts) > 1) and not part.name
                inside = place._replace(
                    code="unknown",
                    shell_code="unknown",
                    sure=sure,
                    tested=place.tested or part.kind == "if",
                    branch=place.branch or number > 0,
                    failed=False,
                )
                within = shell.copy()
                self.script(script, inside, within)
                shell.learn(within)

    def redirects(self, part: Part, place: Place, shell: Shell) -> Place:
        """The place of a command whose redirections count, and the substitutions in them."""
        if not part.redirects:
            return place
        for redirect in part.redirects:
            if redirect.target.scripts:
                self.substitutions(redirect.target, place, shell)
            elif redirect.target.raw in self.bodies and redirect.target.raw not in self.literal:
                for script in scripts_in(self.bodies[redirect.target.raw]):
                    self.text(script, _in_word(place), shell.copy())
        stdin = self.stdin(part, shell)
        if stdin is not None:
            place = place._replace(stdin=stdin)
        file = redirected(part.redirects, lambda raw: unquote(raw, shell.known))
        if not file:
            return place
        self.redirections += 1
        appends = any(redirect.operator in (">>", "&>>") for redirect in part.redirects)
        return place._replace(output="gone", file=(file, appends, self.redirections))

    def substitutions(self, word: Word, place: Place, shell: Shell, code: Code = "unknown") -> None:
        """The scripts a word runs; their output goes into it."""
        if self.expanded:
            return
        for script in word.scripts:
            inside = _in_word(place)._replace(code=code, shell_code=code)
            within = shell.copy()
            within.errexit = False  # bash turns it off in there
            self.script(script, inside, within)

    def simple(self, part: Simple, place: Place, shell: Shell) -> None:
        """A simple command: what its words run first, then itself."""
        alone = not part.words
        environ = {}
        for name, word in part.assignments:
            if word.scripts:
                decides = alone and word is part.assignments[-1][1]
                self.substitutions(word, place, shell, place.code if decides else "unknown")
            environ[name] = self.value(word.raw, shell)
            if alone:
                self.assign(shell, name, word, environ[name])
        live = False
        for word in part.words:
            if word.scripts:
                live = True
                self.substitutions(word, place, shell)
            elif "exit" in word.raw and "$" in word.raw and word.raw[0] != "'":
                live = True
        place = self.redirects(part, place, shell)
        if alone:
            return
        words = self.values(part, shell)
        if not words or not words[0]:
            return
        if words == ["exec"]:
            if redirected(part.redirects, lambda raw: unquote(raw, shell.known)):
                shell.output = "gone"
            return
        if shell.output != "shown":
            place = place._replace(output=worse(place.output, shell.output))
        self.call(words, place, shell, environ, live)

    def call(self, words: list[str], place: Place, shell: Shell, environ: dict[str, str], live: bool) -> None:
        """A program with its arguments: builtins change the shell, wrappers are taken off, inner calls followed."""
        name = words[0]
        if name in shell.functions and self.nesting < _MAX_NESTING:
            self.add(Stripped(words=words), place, shell, environ)
            self.nesting += 1
            inside = place._replace(code="unknown", shell_code="unknown", sure=False, branch=True)
            self.script(shell.functions[name], inside, shell)
            self.nesting -= 1
            return
        stripped = strip(words)
        place = wrapped(stripped, place)
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
        place = place._replace(stdin=inner.stdin, wrappers=(*place.wrappers, *outer.wrappers, *inner.wrappers))
        if inner.background:
            place = place._replace(background=True, code="unknown")
        if not inner.same_shell:
            within.known, within.functions = dict(within.exported), {}
            within.errexit, within.pipefail, within.shaky = inner.errexit, inner.pipefail, False
            within.left = within.left_well = False
            place = place._replace(shell_code=place.code, tested=False, branch=False)
        if inner.script is not None and inner.dialect != "sh":
            self.windows(inner.script, inner.dialect, place, within)
        elif inner.script is not None:
            self.text(inner.script, place, shell if inner.same_shell else within, expanded=live)
        elif inner.words and self.nesting < _MAX_NESTING:
            self.nesting += 1
            self.call(list(inner.words), place, within, {}, live)
            self.nesting -= 1


def _in_word(place: Place) -> Place:
    """The place of a substitution in a word or a heredoc: its output goes there."""
    return place._replace(
        code="unknown", shell_code="unknown", output="gone", filters=(), stdin=None, file=None, branch=False
    )
