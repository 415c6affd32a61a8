"""What a walk over a line notes: the invocations, within bounds that no line may pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hikidashi.capture.grammar_reading import Invocation
from hikidashi.capture.grammar_state import SHOW_ALL, Place, Shell, worse
from hikidashi.capture.grammar_wrappers import Stripped
from hikidashi.capture.vocabulary import word_list

__all__ = ["Notes"]

#: Invocations of one line, and the characters of their words: more come only of lines made to be hard (a function that
#: calls another a thousand times, a variable doubled again and again).
_MAX_INVOCATIONS: Final = 1_000
_MAX_CHARACTERS: Final = 1_000_000

#: Programs that show a file, or a part of it.
_READERS: Final = word_list("bat cat egrep fgrep grep head less more nl rg sed sort tail")


class Notes:
    """Invocations in the order in which they start."""

    def __init__(self) -> None:
        self.found: list[Invocation] = []
        #: Something is missing in `found`, or doubtful.
        self.broken = False
        self.characters = 0
        #: Place in `found` -> the file that holds its output.
        self.files: dict[int, tuple[str, bool, int]] = {}

    @property
    def full(self) -> bool:
        """Whether nothing more is taken; if so the line counts as broken."""
        if len(self.found) < _MAX_INVOCATIONS and self.characters < _MAX_CHARACTERS:
            return False
        self.broken = True
        return True

    def add(self, stripped: Stripped, place: Place, shell: Shell, environ: dict[str, str]) -> None:
        """Note one invocation."""
        if self.full:
            return
        if shell.exported or stripped.environ:
            environ = {**shell.exported, **environ, **stripped.environ}
        if place.file:
            self.files[len(self.found)] = place.file
        words = tuple(stripped.words)
        self.characters += sum(map(len, words))
        self.found.append(
            Invocation(
                words=words,
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

    def invocations(self) -> tuple[Invocation, ...]:
        """All of them. Output that went to a file which the line shows later (`make > log; tail log`) is not gone."""
        if self.files:
            self._show_files()
        if self.broken:
            return tuple(replace(invocation, code="unknown", ran="maybe") for invocation in self.found)
        return tuple(self.found)

    def _show_files(self) -> None:
        held: dict[str, tuple[int, list[int]]] = {}
        for number, invocation in enumerate(self.found):
            if number in self.files:
                file, appends, redirection = self.files[number]
                before = held.get(file)
                if before and (appends or before[0] == redirection):
                    before[1].append(number)
                else:
                    held[file] = (redirection, [number])
            elif held and invocation.words[0] in _READERS and invocation.output != "gone":
                for word in invocation.words[1:]:
                    for writer in held.get(word, (0, []))[1]:
                        self._show(writer, invocation)

    def _show(self, writer: int, reader: Invocation) -> None:
        written = self.found[writer]
        filters = (*written.filters, *(() if reader.words[0] == "cat" else (reader.words,)), *reader.filters)
        whole = not written.filters and reader.words[0] in SHOW_ALL
        output = worse(reader.output, "shown" if whole else "filtered")
        self.found[writer] = replace(written, output=output, filters=filters)
