"""PowerShell and cmd lines, read enough not to mislead: statements taken apart, everything doubtful said as such.

Neither is parsed by its own grammar. What stands in a block, behind a condition or in brackets may have run, and no
exit code is known of it; a lone statement at the end is taken to have ended with 0 when the line did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from hikidashi.capture.grammar_reading import Dialect, Output
from hikidashi.capture.grammar_state import Place, worse
from hikidashi.capture.vocabulary import word_list

__all__ = ["Statement", "dialect_of", "placed"]


@dataclass(slots=True)
class Statement:
    """One program of a Windows line."""

    words: list[str] = field(default_factory=list)
    #: For each word, whether it begins with a quote: in PowerShell such a word is a value …
    quoted: list[bool] = field(default_factory=list)
    #: … unless the call operator `&` stands before it.
    called: bool = False
    #: What stands behind it: `;`, `&&`, `||`, `|`, `{`, `}` or ''.
    after: str = ""
    #: It stands in a block or behind a condition.
    maybe: bool = False
    output: Output = "shown"
    background: bool = False
    #: Assignments it makes to the environment of what follows.
    environ: dict[str, str] = field(default_factory=dict)
    #: A folder it changes to.
    folder: str = ""


#: Signs of PowerShell outside quotes: where a statement begins, or anywhere for its own variables.
_POWERSHELL: Final = re.compile(
    r"\$env:[A-Za-z_]\w*|\$LASTEXITCODE\b|\s-ErrorAction\b|\s`\n"
    r"|(?:^|[;{(\n])\s*&\s*(?:[\"']|\$\w|\.{1,2}[\\/])"
    r"|(?:^|[;|&{(\n=])\s*(?:\$\w+\s+=\s|\$(?:null|true|false|_)\b|if\s*\((?:!?\$|-not\b|Test-Path)|foreach\s*\(|try\s*\{"
    r"|\[[A-Z]\w*(?:\.\w+)*\]::"
    r"|(?:Add|Clear|Compress|Convert|ConvertFrom|ConvertTo|Copy|Expand|Export|ForEach|Format|Get|Import|Install|Invoke|Join"
    r"|Measure|Move|New|Out|Pop|Push|Read|Remove|Rename|Resolve|Select|Set|Sort|Split|Start|Stop|Tee|Test|Update|Wait|Where"
    r"|Write)-[A-Z][A-Za-z]+\b)"
)

#: Signs of cmd outside quotes.
_CMD: Final = re.compile(
    r"%[A-Z_][A-Z0-9_()]{2,}%|(?:^|[&|(\n])\s*@?(?:(?:dir|del|rd|rmdir|copy|xcopy|move|erase|type|where|start|taskkill)"
    r"\s+/[a-z?]{1,2}(?![\w/.-])|(?:cd|chdir)\s+/d\s|if\s+(?:not\s+)?(?:exist|errorlevel|defined)\s|echo\s+off\b|setlocal\b|for\s+/[fdlr]\s)|\^\n",
    re.IGNORECASE,
)

#: A path that a POSIX shell would take its backslashes from.
_WINDOWS_PATH: Final = re.compile(r"(?:^|\s)[A-Za-z]:\\[\w.]")

#: What may stand in a Windows line and seldom in another: asked before the patterns above. Each begins with a letter of
#: its own, so that it costs little to find none.
_HINT: Final = re.compile(
    r"\$(?:env:|LAST|\w+ +=|null|true|false|_\b)|-[A-Z][a-z]|::|:\\|\((?:\$|!|-n|T)|y *\{|(?<!&)&\s*[\"'$.]|%[A-Za-z_]"
    r"| (?:/[A-Za-z?]{1,2}(?=\s|$)|`\n|exist |errorlevel |defined )|@echo|setlocal|\^\n|foreach"
)

#: Filters of one output that are looked at.
_MAX_FILTERS: Final = 50

_QUOTED: Final = re.compile(r"""'[^']*'|"(?:[^"\\`]|[\\`].)*\"""", re.DOTALL)


def dialect_of(text: str) -> Dialect:
    """Whose line it is, judged by what stands outside quotes; `sh` unless something speaks for another."""
    if not _HINT.search(text):
        return "sh"
    bare = _QUOTED.sub('""', text[:4_000]).replace("\r", "")
    if _POWERSHELL.search(bare):
        return "powershell"
    if _CMD.search(bare):
        return "cmd"
    return "powershell" if _WINDOWS_PATH.search(bare) else "sh"


_POWERSHELL_TOKEN: Final = re.compile(
    r"""(?P<quoted>@'\n.*?\n'@|@"\n.*?\n"@|'(?:[^']|'')*'|"(?:[^"`]|`.|"")*")|(?P<escaped>`.)|(?P<comment><\#.*?\#>|\#[^\n]*)"""
    r"""|(?P<redirect>[\d*]?>&\d|[\d*]?>>?)|(?P<join>&&|\|\||[;\n|&])|(?P<bracket>[{}()])|(?P<blank>[ \t\r]+)"""
    r"""|(?P<plain>[^\s'"`#<>;|&{}()]+)|(?P<rest>.)""",
    re.DOTALL,
)

_CMD_TOKEN: Final = re.compile(
    r"""(?P<quoted>"[^"\n]*")|(?P<escaped>\^.)|(?P<redirect>\d?>&\d|\d?>>?)|(?P<join>&&|\|\||[\n|&])|(?P<bracket>[()])"""
    r"""|(?P<blank>[ \t\r]+)|(?P<plain>[^\s"^<>|&()]+)|(?P<rest>.)""",
    re.DOTALL,
)

#: Words that begin a block and are no program.
_KEYWORDS: Final = word_list(
    "if elseif else foreach for while do switch try catch finally function filter param return throw trap begin",
    "process end class enum using until in",
)

_FOLDER_CHANGES: Final = word_list("cd chdir sl set-location push-location pushd")


class _Splitter:
    """Goes over the tokens of a line once."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.powershell = dialect == "powershell"
        self.tokens = (_POWERSHELL_TOKEN if self.powershell else _CMD_TOKEN).finditer(text)
        self.found: list[Statement] = []
        self.current = Statement()
        self.word: str | None = None
        #: Open braces (in cmd: brackets) and, inside a statement, open brackets of an expression.
        self.blocks = 0
        self.brackets = 0
        self.quoted = False
        #: What the next word is: `output` a file for standard output, `other` one for something else.
        self.target: Literal["", "output", "other"] = ""

    def end_word(self) -> None:
        if self.word is None:
            return
        if self.target:
            if self.target == "output" and self.word.lower() != "con":
                self.current.output = "gone"
            self.target = ""
        else:
            self.current.words.append(self.word)
            self.current.quoted.append(self.quoted)
        self.word, self.quoted = None, False

    def end(self, after: str) -> None:
        self.end_word()
        self.current.after = after
        self.current.maybe = self.current.maybe or self.blocks > 0
        if self.current.words:
            self.found.append(self.current)
        elif self.found and after in ("|", "&&", "||") and self.found[-1].after in ("}", ""):
            self.found[-1].after = after
        self.current = Statement()
        self.target = ""

    def run(self) -> list[Statement]:
        for match in self.tokens:
            kind, token = match.lastgroup, match.group()
            if kind == "blank":
                self.end_word() if not self.brackets else self.add(token)
            elif kind == "escaped" and token[1:] == "\n":
                self.end_word()
            elif kind in ("quoted", "escaped"):
                self.quoted |= kind == "quoted" and self.word is None
                self.add(_unquoted(token, self.powershell))
            elif kind == "comment" and self.word is None:
                continue
            elif kind == "redirect" and not self.brackets:
                self.end_word()
                self.target = "" if "&" in token else "output" if token[0] in ">1*" else "other"
            elif kind == "join" and not self.brackets:
                self.join(token)
            elif kind == "bracket":
                self.bracket(token)
            else:
                self.add(token)
        self.end("")
        return self.found

    def add(self, text: str) -> None:
        self.word = (self.word or "") + text

    def join(self, token: str) -> None:
        if token == "&" and self.powershell:
            if self.current.words or self.word is not None:  # behind a program: a background job
                self.end_word()
                self.current.background = True
                self.end(";")
            self.current.called = True  # before one: the call operator
            return
        self.end(";" if token in ("\n", "&") else token)

    def bracket(self, token: str) -> None:
        if self.brackets or (token == "{" and self.word is not None and self.word.endswith("@")):
            self.add(token)
            self.brackets += 1 if token in "{(" else -1
        elif token in "{}" or (not self.powershell and self.word is None):
            self.end(token)
            self.blocks = max(self.blocks + (1 if token in "{(" else -1), 0)
        elif not self.powershell and token == ")" and self.blocks:
            self.end("}")
            self.blocks -= 1
        elif self.powershell:
            self.add(token)
            self.brackets = 1 if token == "(" else 0
        else:
            self.current.maybe = True
            self.add(token)


def _unquoted(token: str, powershell: bool) -> str:
    if not powershell:
        return token[1:-1] if token[0] == '"' else token[1:].strip("\n")
    if token[0] == "`":
        return "" if token[1:] == "\n" else token[1:]
    if token[0] == "@":
        return token[3:-3]
    inside = token[1:-1].replace(token[0] * 2, token[0])
    return re.sub(r"`(.)", r"\1", inside) if token[0] == '"' else inside


def _judged(statement: Statement, powershell: bool) -> Statement | None:
    """A statement with its head understood; None when it runs no program."""
    words = statement.words
    if powershell and not statement.called:
        if words[0].startswith("$"):
            return _assignment(statement)
        if statement.quoted[0]:
            return None
    head = words[0].lstrip("@").lower()
    if head == "return":
        return statement
    if not powershell and head in ("rem", "::"):
        return None
    if not powershell and head in ("if", "else", "do"):
        return _cmd_condition(statement)
    if head in _KEYWORDS or (not powershell and head == "for") or words[0][:1] in "([":
        return None
    if head in _FOLDER_CHANGES:
        rest = [word for word in words[1:] if word.lower() not in ("/d", "-path", "-literalpath")]
        statement.folder = rest[0] if rest else "~"
    elif not powershell and head == "set" and len(words) > 1:
        name, _, value = words[1].partition("=")
        statement.environ[name] = value
    elif not powershell and head in ("call", "start") and len(words) > 1:
        statement.background = head == "start"
        statement.words = [word for word in words[1:] if word and not word.startswith("/")] or words
    elif head in ("start-process", "start-job", "saps", "start"):
        statement.background = "-wait" not in (word.lower() for word in words)
    return statement


def _assignment(statement: Statement) -> Statement | None:
    """`$env:A = "b"` and `$x = program …`."""
    words = statement.words
    name, equals, value = words[0].partition("=")
    rest = ([value] if value else []) + words[1:] if equals else words[2:] if words[1:2] == ["="] else []
    if not rest:
        return None
    if name.lower().startswith("$env:"):
        return Statement(environ={name[5:]: " ".join(rest)}, after=statement.after)
    if (
        statement.quoted[len(words) - len(rest)]
        or not re.fullmatch(r"[A-Za-z][\w.\\/:-]*", rest[0])
        or rest[0][:1].isdigit()
    ):
        return None
    statement.words, statement.output = rest, "gone"
    return statement


def _filter_output(statement: Statement) -> Output:
    """What is left of an output that is piped through a statement."""
    name = statement.words[0].lower() if statement.words else ""
    if name in ("tee-object", "tee", "out-string", "out-host", "more", "cat", "sort-object"):
        return "shown"
    return "gone" if name in ("out-null", "out-file", "set-content", "add-content") else "filtered"


def _cmd_condition(statement: Statement) -> Statement | None:
    words = [word for word in statement.words[1:] if word.lower() not in ("/i", "not")]
    if statement.words[0].lower() != "if":
        words.insert(0, "")  # behind `else` and `do` there is no condition
    taken = 2 if words[:1] and words[0].lower() in ("exist", "errorlevel", "defined") else 1
    taken = 3 if words[1:2] and words[1].lower() in ("==", "equ", "neq", "lss", "leq", "gtr", "geq") else taken
    if not words[taken:]:
        return None
    return Statement(words=words[taken:], after=statement.after, maybe=True, output=statement.output)


def _statements(text: str, dialect: Dialect) -> Iterator[Statement]:
    """The statements of a line in order; those that run no program have no words."""
    condition = False
    for statement in _Splitter(text, dialect).run():
        statement.maybe |= condition
        condition = statement.after == "||" or (condition and statement.after in ("&&", "|"))
        yield _judged(statement, dialect == "powershell") or Statement(after=statement.after)


def placed(text: str, dialect: Dialect, place: Place) -> Iterator[tuple[Statement, Place]]:
    """The programs of a PowerShell or cmd line in order, each with its place.

    Statements without words run none.
    """
    found = list(_statements(text, dialect))
    sure_end = len(found)  # from here on only `&&` stands between statements
    for number in range(len(found) - 1, -1, -1):
        if number < len(found) - 1 and found[number].after != "&&":
            break
        sure_end = number
    left = left_well = False
    for number, statement in enumerate(found):
        filters: list[tuple[str, ...]] = []
        output = worse(place.output, statement.output)
        for part in found[number + 1 : number + _MAX_FILTERS]:
            if found[number + len(filters)].after != "|":
                break
            filters.append(tuple(part.words) or ("expression",))
            output = worse(output, worse(_filter_output(part), part.output))
        known = number >= sure_end and not statement.maybe and place.code != "unknown" and not left_well
        behind = number > 0 and found[number - 1].after == "&&"
        there = place._replace(
            code="zero" if known else "unknown",
            sure=place.sure and not (statement.maybe or left or behind),
            output=output,
            filters=(*filters, *place.filters),
            background=place.background or statement.background,
        )
        yield statement, there
        if statement.words[:1] and statement.words[0].lower() in ("exit", "return"):
            left, left_well = True, left_well or not any(word.strip("0").isdecimal() for word in statement.words[1:])
