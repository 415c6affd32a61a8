"""From the parser's tree to statements, and-or lists and pipelines.

The parser (tree-sitter's bash grammar) groups redirections, pipes and lists by its own precedence: in
`cd x && make 2>&1 | tail` it pipes the whole list. So lists are laid flat here and grouped again as the shell does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from hikidashi.capture.grammar_words import has_substitution
from hikidashi.capture.vocabulary import word_list

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["AndOr", "Compound", "Part", "Pipeline", "Redirect", "Script", "Simple", "Word", "parse"]

#: Brackets within brackets that are followed; what is deeper is said as broken.
_MAX_DEPTH: Final = 40


@dataclass(slots=True)
class Word:
    """One word as it is written, and the scripts its substitutions run."""

    raw: str
    scripts: Sequence[Script] = ()


@dataclass(slots=True)
class Redirect:
    """`2> file`, `<<< text`: the descriptor as written ('' for none), the operator, the word after it."""

    descriptor: str
    operator: str
    target: Word


@dataclass(slots=True)
class Simple:
    """A simple command: assignments, words, redirections."""

    words: list[Word] = field(default_factory=list)
    assignments: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class Compound:
    """A command that holds scripts: `( … )`, `{ …; }`, `if`, loops, `case`, a function, `[[ … ]]`."""

    kind: Literal["subshell", "group", "if", "loop", "case", "function", "test"]
    #: In their order: of `if` and loops the condition first.
    scripts: list[Script] = field(default_factory=list)
    #: Words that stand in its head (`for x in …`, `case …`).
    words: list[Word] = field(default_factory=list)
    #: A function's name, a loop's variable.
    name: str = ""
    redirects: list[Redirect] = field(default_factory=list)


Part = Simple | Compound


@dataclass(slots=True)
class Pipeline:
    """Commands joined by `|`."""

    parts: list[Part] = field(default_factory=list)
    negated: bool = False


@dataclass(slots=True)
class AndOr:
    """Pipelines joined by `&&` and `||`: one operator fewer than pipelines."""

    pipelines: list[Pipeline]
    operators: list[str]
    background: bool = False


Script = list[AndOr]


#: Bytes up to which any text is parsed in some milliseconds, whatever it is.
_SHORT: Final = 2_000

#: Seconds after which the parser is called off. It needs a few milliseconds for any line that people write, but time
#: that grows with the square of the pipes in one pipeline.
_MAX_SECONDS: Final = 0.5

#: A place-holder, as documentation and redacted sessions have it: `<token>`. The shell would take it for redirections.
_PLACEHOLDER: Final = re.compile(r"<([A-Za-z][\w .:-]*)>")


#: `time ( … )`: the grammar takes `time` for a program.
_TIMED: Final = re.compile(r"((?:^|[\n;&|(])[ \t]*)time\s+(?:-p\s+)?(?=[({])")


@cache
def _parser() -> Callable[[bytes], Node | None]:
    """The parser, loaded when the first line is read: only capture needs it."""
    import tree_sitter
    import tree_sitter_bash

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))

    def parse_bytes(source: bytes) -> Node | None:
        if len(source) <= _SHORT:
            return parser.parse(source).root_node
        until = time.monotonic() + _MAX_SECONDS
        try:
            return parser.parse(
                lambda offset, _: source[offset : offset + 8_192],
                progress_callback=lambda _offset, _failed: time.monotonic() > until,
            ).root_node
        except ValueError:  # called off: it would go on where it stopped
            parser.reset()
            return None

    return parse_bytes


#: Node types that are operators between commands.
_OPERATORS: Final = {"&&": "&&", "||": "||", "|": "|", "|&": "|"}

#: Tokens and nodes that say nothing here.
_SILENT: Final = word_list(
    "comment ; ;; ;& ;;& ( ) { } then fi do done in esac if while until for select case elif else ` $( <( >( (( ))",
) | {"\n"}

_COMPOUNDS: Final[dict[str, Literal["subshell", "group", "if", "loop", "case", "function", "test"]]] = {
    "subshell": "subshell",
    "compound_statement": "group",
    "do_group": "group",
    "if_statement": "if",
    "while_statement": "loop",
    "for_statement": "loop",
    "c_style_for_statement": "loop",
    "case_statement": "case",
    "function_definition": "function",
    "test_command": "test",
}

_DECLARATIONS: Final = frozenset(("declaration_command", "unset_command"))
_SUBSTITUTIONS: Final = frozenset(("command_substitution", "process_substitution"))


class _Builder:
    """Builds scripts from one parsed text."""

    def __init__(self, source: bytes, text: str) -> None:
        self.source = source
        #: The text itself where a character is a byte: slices of it need no decoding.
        self.ascii = text if len(text) == len(source) else ""
        #: Some word may run a command of its own.
        self.live = has_substitution(text)
        #: Place-holders like `<token>` stand in private characters.
        self.shielded = False
        self.depth = 0
        self.too_deep = False

    def text(self, node: Node) -> str:
        if self.ascii:
            return self.ascii[node.start_byte : node.end_byte]
        text = self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        return text.replace("\ue000", "<").replace("\ue001", ">") if self.shielded else text

    def script(self, nodes: Iterable[Node]) -> Script:
        """The statements that a list of nodes makes; a node is a statement of its own unless it is a separator."""
        found: Script = []
        if self.depth >= _MAX_DEPTH:
            self.too_deep = True
            return found
        self.depth += 1
        for node in nodes:
            kind = node.type
            if kind == "&":
                if found:
                    found[-1].background = True
            elif kind not in _SILENT:
                flat: list[Part | str] = []
                self.flatten(node, kind, flat)
                if flat:
                    found.append(_grouped(flat))
        self.depth -= 1
        return found

    def flatten(self, node: Node, kind: str, flat: list[Part | str]) -> None:
        """Lay a statement's commands and operators out in a row."""
        if kind == "command":
            flat.append(self.simple(node))
        elif kind in _OPERATORS:
            flat.append(_OPERATORS[kind])
        elif kind in ("list", "pipeline", "negated_command", "redirected_statement", "ERROR"):
            self.flatten_children(node, flat)
        elif kind in ("variable_assignment", "variable_assignments"):
            flat.append(self.assignments(node, kind))
        elif kind in _DECLARATIONS:
            flat.append(self.declaration(node))
        elif kind in _COMPOUNDS:
            flat.append(self.compound(node, kind))
        elif kind == "!":
            flat.append("!")
        elif node.is_named:  # an expression or a piece of an error
            flat.append(Simple(words=[self.word(node)]))

    def flatten_children(self, node: Node, flat: list[Part | str]) -> None:
        if self.depth >= _MAX_DEPTH:
            self.too_deep = True
            return
        self.depth += 1
        for child in node.children:
            kind = child.type
            if kind in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                if not flat or isinstance(flat[-1], str):
                    flat.append(Simple())
                last = flat[-1]
                assert not isinstance(last, str)
                self.redirect(child, last)
            elif kind in ("&", ";") and node.type == "ERROR":
                flat.append(";")
            elif kind not in _SILENT:
                self.flatten(child, kind, flat)
        self.depth -= 1

    def simple(self, node: Node) -> Simple:
        made = Simple()
        for child in node.children:
            kind = child.type
            if kind in ("word", "command_name"):
                made.words.append(self.word(child))
            elif kind == "variable_assignment":
                made.assignments.append(self.assignment(child))
            elif kind in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                self.redirect(child, made)
            elif kind != "comment":
                made.words.append(self.word(child))
        return made

    def assignment(self, node: Node) -> tuple[str, Word]:
        word = self.word(node)
        name, _, value = word.raw.partition("=")
        return name, Word(raw=value, scripts=word.scripts)

    def assignments(self, node: Node, kind: str) -> Simple:
        nodes = [node] if kind == "variable_assignment" else node.named_children
        return Simple(assignments=[self.assignment(child) for child in nodes])

    def declaration(self, node: Node) -> Simple:
        """`export A=b`, `declare -x`, `unset A`: words like those of any program."""
        return Simple(words=[self.word(child) for child in node.children])

    def word(self, node: Node) -> Word:
        word = Word(self.text(node))
        if self.live and has_substitution(word.raw):
            word.scripts = self.substitutions(node)
        return word

    def substitutions(self, node: Node) -> list[Script]:
        """The scripts run by the substitutions under a node, outermost only: they hold the inner ones."""
        found: list[Script] = []
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.type in _SUBSTITUTIONS:
                found.append(self.script(current.children))
            else:
                waiting += reversed(current.children)
        return found

    def redirect(self, node: Node, part: Part) -> None:
        """Note a redirection. The grammar takes `cmd > file word` for two targets: the second is an argument."""
        descriptor, operator = "", ""
        target: Word | None = None
        for child in node.children:
            if child.type == "file_descriptor":
                descriptor = self.text(child)
            elif not child.is_named:
                operator = operator or child.type
            elif target is None:
                target = self.word(child)
            elif isinstance(part, Simple):
                part.words.append(self.word(child))
        part.redirects.append(Redirect(descriptor=descriptor, operator=operator, target=target or Word(raw="")))

    def compound(self, node: Node, kind: str) -> Compound:
        made = Compound(kind=_COMPOUNDS[kind])
        children = node.children
        if made.kind in ("subshell", "group"):
            made.scripts = [self.script(children)] if children[:1] and children[0].type != "((" else []
        elif made.kind == "test":
            made.words = [self.word(node)]
        elif made.kind == "function":
            name = node.child_by_field_name("name")
            made.name = self.text(name) if name else ""
            body = node.child_by_field_name("body")
            made.scripts = [self.script([body])] if body else []
        else:
            self.branches(node, made)
        return made

    def branches(self, node: Node, made: Compound) -> None:
        """Conditions and bodies of `if`, loops and `case`: a keyword ends one script and begins the next."""
        pending: list[Node] = []

        def close() -> None:
            if pending:
                made.scripts.append(self.script(pending))
                pending.clear()

        for number, child in enumerate(node.children):
            kind, role = child.type, node.field_name_for_child(number)
            if role == "variable":
                made.name = self.text(child)
            elif role in ("value", "initializer", "update") or (role == "condition" and kind.endswith("expression")):
                made.words.append(self.word(child))
            elif kind in ("then", "do", "in", "do_group"):
                close()
                if kind == "do_group":
                    made.scripts.append(self.script(child.children))
            elif kind in ("elif_clause", "else_clause", "case_item"):
                close()
                self.branches(child, made)
            else:
                pending.append(child)
        close()


def _grouped(flat: list[Part | str]) -> AndOr:
    """Commands and operators in a row, grouped as the shell does: `|` binds closer than `&&` and `||`."""
    made = AndOr(pipelines=[Pipeline()], operators=[])
    for item in flat:
        if not isinstance(item, str):
            made.pipelines[-1].parts.append(item)
        elif item == "!":
            made.pipelines[-1].negated = not made.pipelines[-1].negated
        elif item != "|" and made.pipelines[-1].parts:
            made.operators.append(item)
            made.pipelines.append(Pipeline())
    if not made.pipelines[-1].parts and made.operators:
        made.pipelines.pop()
        made.operators.pop()
    return made


def parse(text: str) -> tuple[Script, bool]:
    """The statements of `text`, and whether the grammar found an error, nesting too deep to follow, or no end."""
    if "time" in text:
        text = _TIMED.sub(r"\1", text)
    source = text.encode("utf-8", "replace")
    root = _parser()(source)
    if root is None:
        return parse(text[: _SHORT // 4])[0], True
    builder = _Builder(source, text)
    if root.has_error and "\ue000" not in text:
        shielded = _PLACEHOLDER.sub("\ue000\\1\ue001", text).encode("utf-8", "replace")
        again = _parser()(shielded) if len(shielded) > len(source) else None
        if again is not None and not again.has_error:
            root, builder = again, _Builder(shielded, text)
            builder.shielded = True
    script = builder.script(root.children)
    return script, root.has_error or builder.too_deep
