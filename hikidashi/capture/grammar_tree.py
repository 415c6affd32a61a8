"""From the parser's tree to statements, and-or lists and pipelines.

The parser (tree-sitter's bash grammar) groups redirections, pipes and lists by its own precedence: in
`cd x && make 2>&1 | tail` it pipes the whole list. So lists are laid flat here and grouped again as the shell does.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Final

from hikidashi.capture.grammar_parts import AndOr, Compound, Kind, Part, Pipeline, Redirect, Script, Simple, Word
from hikidashi.capture.grammar_words import has_substitution
from hikidashi.capture.vocabulary import word_list

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["parse"]

#: Brackets within brackets that are followed; what is deeper is said as broken.
_MAX_DEPTH: Final = 40


#: Bytes up to which any text is parsed in some milliseconds, whatever it is.
_SHORT: Final = 2_000

#: Pipes of one pipeline: its parser needs time that grows with their square, and looks at no clock at the end.
_MAX_PIPES: Final = 300
_BREAKS: Final = re.compile(r"[\n;&]")

#: A place-holder, as documentation and redacted sessions have it: `<token>`. The shell would take it for redirections.
_PLACEHOLDER: Final = re.compile(r"<([A-Za-z][\w .:-]*)>")


#: `time ( … )`: the grammar takes `time` for a program.
_TIMED: Final = re.compile(r"((?:^|[\n;&|(])[ \t]*)time\s+(?:-p\s+)?(?=[({])")


#: Characters beyond the first 65,536. The grammar's scanner looks them up in a table of single bytes, which reads
#: foreign memory or ends the process (tree-sitter-bash issue 337); letters of the same length stand for them.
_FAR: Final = re.compile(rb"[\xf0-\xf7][\x80-\xbf]{3}")


@cache
def _parser() -> Callable[[bytes, float], Node | None]:
    """The parser, loaded when the first line is read: only capture needs it."""
    import tree_sitter
    import tree_sitter_bash

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))

    def parse_bytes(source: bytes, until: float) -> Node | None:
        source = _FAR.sub(b"wwww", source)
        if len(source) <= _SHORT:
            return parser.parse(source).root_node
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

#: Words that are never a program unless the grammar erred.
_RESERVED: Final = word_list("{ } if then elif else fi for while until do done case esac select function")

_COMPOUNDS: Final[dict[str, Kind]] = {
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
        self.lines = b"\n" in source
        self.depth = 0
        self.misread = False

    def text(self, node: Node) -> str:
        if self.ascii:
            return self.ascii[node.start_byte : node.end_byte]
        text = self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        return text.replace("\ue000", "<").replace("\ue001", ">").replace("\ue002", " ") if self.shielded else text

    def script(self, nodes: Iterable[Node]) -> Script:
        """The statements that a list of nodes makes; a node is a statement of its own unless it is a separator."""
        found: Script = []
        if self.depth >= _MAX_DEPTH:
            self.misread = True
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
                    found += _grouped(flat)
        self.depth -= 1
        return found

    def flatten(self, node: Node, kind: str, flat: list[Part | str]) -> None:
        """Lay a statement's commands and operators out in a row."""
        if kind == "command":
            self.simple(node, flat)
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
            self.misread = True
            return
        self.depth += 1
        for child in node.children:
            kind = child.type
            if kind in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                self.redirect(child, flat)
            elif kind in ("&", ";") and node.type == "ERROR":
                flat.append(";")
            elif kind not in _SILENT:
                self.flatten(child, kind, flat)
        self.depth -= 1

    def simple(self, node: Node, flat: list[Part | str]) -> None:
        """A simple command. Behind `a | b |` the grammar may take the next line's words for arguments: they are not."""
        made = Simple()
        flat.append(made)
        end = node.start_byte
        for child in node.children:
            start = child.start_byte
            if self.lines and start > end and self.new_line(end, start):
                made = Simple()
                flat += [";", made]
                if self.text(child) == "!":
                    flat[-1:] = ["!", made]
                    end = child.end_byte
                    continue
            end = child.end_byte
            kind = child.type
            if kind in ("word", "command_name"):
                made.words.append(self.word(child))
            elif kind == "subshell" and flat[-1] is made and not made.words and len(flat) > 1:  # on the next line
                flat[-1] = self.compound(child, kind)
            elif kind == "variable_assignment":
                made.assignments.append(self.assignment(child))
            elif kind in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                made = self.redirect(child, flat)
            elif kind != "comment":
                made.words.append(self.word(child))
            if len(made.words) == 1 and made.words[0].raw in _RESERVED:  # `! { …; }`: it takes `{` for a program
                self.misread = True

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

    def new_line(self, end: int, start: int) -> bool:
        """Whether a line ends between two bytes, and is not continued."""
        between = self.source[end:start]
        return b"\n" in between and b"\n" in between.replace(b"\\\n", b"")

    def redirect(self, node: Node, flat: list[Part | str]) -> Simple:
        """Note a redirection of the last command, and give the command that what follows belongs to.

        The grammar takes `cmd > file word` for two targets: the second is an argument, or the next line's command.
        """
        part = flat[-1] if flat else ";"
        if isinstance(part, str):
            part = Simple()
            flat.append(part)
        made = Redirect(descriptor="", operator="", target=Word(""))
        part.redirects.append(made)
        simple = part if isinstance(part, Simple) else Simple()
        for child in node.children:
            if child.type == "file_descriptor":
                made.descriptor = self.text(child)
            elif not child.is_named:
                made.operator = made.operator or child.type
            elif not made.target.raw:
                made.target = self.word(child)
                end = child.end_byte
            else:
                if self.lines and self.new_line(end, child.start_byte):
                    simple = Simple()
                    flat += [";", simple]
                simple.words.append(self.word(child))
                end = child.end_byte
        return simple

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


def _grouped(flat: list[Part | str]) -> list[AndOr]:
    """Commands and operators in a row, grouped as the shell does: `|` binds closer than `&&` and `||`."""
    made = AndOr(pipelines=[Pipeline()], operators=[])
    found = [made]
    for item in flat:
        if not isinstance(item, str):
            made.pipelines[-1].parts.append(item)
        elif item == "!":
            made.pipelines[-1].negated = not made.pipelines[-1].negated
        elif item == ";":
            made = AndOr(pipelines=[Pipeline()], operators=[])
            found.append(made)
        elif item != "|" and made.pipelines[-1].parts:
            made.operators.append(item)
            made.pipelines.append(Pipeline())
    for made in found:
        if not made.pipelines[-1].parts and made.operators:
            made.pipelines.pop()
            made.operators.pop()
    return found


def _shielded(placeholder: re.Match[str]) -> str:
    return f"\ue000{placeholder[1]}\ue001".replace(" ", "\ue002")


def parse(text: str, until: float) -> tuple[Script, bool]:
    """The statements of `text`, and whether the grammar found an error, nesting too deep to follow, or
    no end.

    A long text is given up at `until` (of `time.monotonic`), and its beginning read instead: the parser needs a few
    milliseconds for any line that people write, but some texts cost it the square of their length.
    """
    if "time" in text:
        text = _TIMED.sub(r"\1", text)
    source = text.encode("utf-8", "replace")
    endless = text.count("|") > _MAX_PIPES and any(part.count("|") > _MAX_PIPES for part in _BREAKS.split(text))
    root = None if endless else _parser()(source, until)
    if root is None:
        return parse(text[:_MAX_PIPES], until)[0], True
    builder = _Builder(source, text)
    if root.has_error and "\ue000" not in text:
        shielded = _PLACEHOLDER.sub(_shielded, text).encode("utf-8", "replace")
        again = _parser()(shielded, until) if len(shielded) > len(source) else None
        if again is not None and not again.has_error:
            root, builder = again, _Builder(shielded, text)
            builder.shielded = True
    script = builder.script(root.children)
    return script, root.has_error or builder.misread
