"""No sign takes the square of an output: whoever prints a banner of dashes must not stop an extraction."""

from __future__ import annotations

import time

import pytest

from hikidashi.capture.judge import _readable
from hikidashi.capture.tool_rows import toolbox
from hikidashi.capture.toolbox import pattern

#: Characters of each output, and seconds that a sign may look at it. A sign that takes the square of the lines needs
#: several.
_LENGTH = 9_000
_SECONDS = 0.6

_OUTPUTS = {
    "dashes": "-\n",
    "dashes and blanks": "- -\n",
    "blank lines": " " * 190 + "\n",
    "a name that never ends": "a-",
    "addresses": "https://a-",
    "summaries": "Ok: 57\n",
}


def signs() -> list[str]:
    """Every pattern over an output, each once."""
    found: dict[str, None] = {}
    for tool in toolbox().tools.values():
        for call in tool.calls:
            for group in (call.success, call.failed, call.denied, call.nothing):
                found.update(dict.fromkeys(group))
            found.update(dict.fromkeys(way[4:] for way in call.target if way.startswith("out:")))
    return list(found)


@pytest.mark.parametrize("name", _OUTPUTS)
def test_no_sign_takes_the_square_of_an_output(name: str) -> None:
    unit = _OUTPUTS[name]
    output = _readable(unit * (_LENGTH // len(unit)))
    slow = []
    for sign in signs():
        sought = pattern(sign)
        began = time.thread_time()
        sought.search(output)
        if time.thread_time() - began > _SECONDS:
            slow.append(sign)
    assert slow == []
