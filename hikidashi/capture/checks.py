"""The harmless check that goes with a success: the words of a row's `probe`, filled in, or none (design section 8).

A check that asks another machine, or asks in another way than the call did, says nothing of what worked; worse, when
it fails it speaks against what still works. Then there is none.
"""

from __future__ import annotations

import re
from typing import Final

from hikidashi.capture.calls import Called, is_any_there
from hikidashi.capture.grammar import Invocation

__all__ = ["check_of"]

#: A place for an option of the call: `{-p}`.
_OPTION: Final = re.compile(r"\{(-{1,2}[A-Za-z][\w-]*)\}")
#: A name that no program takes for an option, a command, or a host with a port: `ann@till.example.com`.
_NAME: Final = re.compile(r"(?:\w[\w.+-]*@)?\w[\w.-]*")
#: The value of an option: a number, a name, a list of them, or a file that is found from any folder.
_VALUE: Final = re.compile(r"(?:~?/)?[\w.@][\w.@:,/+-]*")


def check_of(called: Called, invocation: Invocation, target: str) -> tuple[str, ...]:
    """The words to run; () where the row has none, or where what they would ask is not what the call did."""
    template = called.call.probe
    if invocation.host or is_any_there(called.call.no_probe, called.tool, called.arguments):
        return ()
    if not any("{" in word for word in template):
        return template
    if not _NAME.fullmatch(target) or set(invocation.wrappers) & _LETS_IN:
        return ()
    words: list[str] = []
    for word in template:
        option = _OPTION.fullmatch(word)
        value = called.arguments.value(option[1]) if option else None
        if option is None:
            words.append(word.replace("{target}", target))
        elif value is not None:
            if not _VALUE.fullmatch(value):
                return ()
            words += [option[1], value]
    return tuple(words)


#: Wrappers that answer for the program's password.
_LETS_IN: Final = frozenset({"sshpass", "expect"})
