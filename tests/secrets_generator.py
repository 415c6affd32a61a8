"""Random secrets of every known shape in the surroundings where sessions leave them, the same for the same seed.

`benchmarks/secrets.py` measures with it how many are caught; the tests take a smaller share.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from tests.secrets_shapes import NAMED, SHAPES, render

__all__ = ["BROKEN", "SURROUNDINGS", "Planted", "generated", "halves"]


@dataclass(frozen=True, slots=True)
class Planted:
    """One secret in its surroundings."""

    #: The kind it must be called; "" where any will do, for secrets that only their name gives away.
    kind: str
    #: Name of the surroundings.
    place: str
    text: str
    #: What must not be left of it: its first and its second half.
    halves: tuple[str, str]


#: Whole tokens. `{name}` is a harmless name, so that the token has to be known by itself.
SURROUNDINGS: Final[dict[str, Callable[[str], str]]] = {
    "env file": lambda token: f"A=1\nSOME_VALUE={token}\nB=2\n",
    "export": lambda token: f"export SOME_VALUE='{token}' && make release",
    "JSON": lambda token: json.dumps({"user": "me", "value": token, "next": [1, 2]}),
    "JSON in JSON": lambda token: json.dumps({"stdout": json.dumps({"value": token}) + "\n"}),
    "YAML": lambda token: f"services:\n  web:\n    value: {token}\n    port: 80\n",
    "TOML": lambda token: f'[client]\nvalue = "{token}"\nretries = 3\n',
    "URL": lambda token: f"GET https://api.example.com/v1/items?value={quote(token, safe='')}&page=2 200",
    "header": lambda token: f"X-Value: {token}\r\nAccept: application/json\r\n",
    "curl option": lambda token: f"curl -sS -H 'X-Value: {token}' https://api.example.com/v1/items | jq .",
    "English": lambda token: f"I used {token}. After that the upload worked.",
    "Japanese": lambda token: f"設定値は{token}です。テストも通りました。",
    "log line": lambda token: f"2025-01-02T10:11:12.123Z INFO [worker-1] using {token}, retrying (1/3)",
    "Python": lambda token: f'client = Client(value="{token}", timeout=30)\n',
    "JavaScript": lambda token: f"const client = new Client('{token}', {{ retries: 3 }});\n",
    "at the very end": lambda token: f"the value is\n{token}",
    "Markdown": lambda token: f"- the value: `{token}` (rotated on Monday)\n",
    "between CJK": lambda token: f"値「{token}」を使う",
    "table": lambda token: f"| name | value |\n| --- | --- |\n| client | {token} |\n",
    "XML": lambda token: f"<add name='value'>{token}</add>\n",
    "diff": lambda token: f"@@ -1,2 +1,2 @@\n-value: old\n+value: {token}\n",
    "continued with a backslash": lambda token: f"run --value {token[:11]}\\\n{token[11:]} --fast",
    "colours": lambda token: f"\x1b[32m{token[:9]}\x1b[0m\x1b[1;31m{token[9:]}\x1b[0m done",
}

#: Tokens that a person or a program broke in two; only shapes of a prefix and a run are known behind the joint.
BROKEN: Final[dict[str, Callable[[str, str], str]]] = {
    "two lines": lambda head, tail: f"use this one:\n{head}\n{tail}\nThe next line is prose.",
    "wrapped with a margin": lambda head, tail: f"  value  {head}\n         {tail}\n  port   80\n",
    "quoted reply": lambda head, tail: f"> {head}\n> {tail}\nthanks, that worked",
    "lines in a JSON string": lambda head, tail: json.dumps({"stdout": f"token:\n{head}\n{tail}\nok"}),
    "YAML folded text": lambda head, tail: f"value: >-\n  {head}\n  {tail}\nport: 80\n",
    "Python strings in a row": lambda head, tail: f'VALUE = (\n    "{head}"\n    "{tail}"\n)\n',
    "strings added": lambda head, tail: f'const value = "{head}" +\n  "{tail}";\n',
    "strings added on one line": lambda head, tail: f"value = '{head}' + '{tail}'\n",
    "PHP": lambda head, tail: f"$value = '{head}' . '{tail}';\n",
    "shell variable added to": lambda head, tail: f'V="{head}"\nV+="{tail}"\n',
}

#: How a secret without a prefix stands beside its name.
BESIDE_NAMES: Final[dict[str, Callable[[str, str], str]]] = {
    "env file": lambda name, value: f"A=1\n{name}={value}\nB=2\n",
    "export": lambda name, value: f"export {name}='{value}' && make release",
    "JSON": lambda name, value: json.dumps({"user": "me", _camel(name): value}),
    "JSON in JSON": lambda name, value: json.dumps({"stdout": json.dumps({name.lower(): value}) + "\n"}),
    "YAML": lambda name, value: f"web:\n  {name.lower()}: {value}\n  port: 80\n",
    "TOML": lambda name, value: f'[client]\n{name.lower()} = "{value}"\n',
    "URL": lambda name, value: f"https://api.example.com/v1/items?{name.lower()}={quote(value, safe='')}&page=2",
    "header": lambda name, value: f"X-{name.title().replace('_', '-')}: {value}\r\nAccept: */*\r\n",
    "option": lambda name, value: f"deploy --{name.lower().replace('_', '-')} {value} --force",
    "docker": lambda name, value: f"docker run -e {name}={value} -p 80:80 web",
    "English": lambda name, value: f"the {name.lower()} is {value}",
    "Japanese": lambda name, value: f"{name}={value}です。",
    "log line": lambda name, value: f"2025-01-02T10:11:12Z DEBUG env {name}={value} ok",
    "Python": lambda name, value: f'{name} = "{value}"\n',
    "JavaScript": lambda name, value: f"const {_camel(name)} = '{value}';\n",
    "at the very end": lambda name, value: f"{name}={value}",
    "Markdown": lambda name, value: f"- `{name}={value}`\n",
    "table": lambda name, value: f"| {name} | {value} |\n",
}


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(map(str.title, rest))


def halves(token: str) -> tuple[str, str]:
    """The two halves of a token."""
    middle = len(token) // 2
    return token[:middle], token[middle:]


def generated(seed: int, count: int) -> Iterator[Planted]:
    """`count` random secrets of every shape, each in all surroundings."""
    rng = random.Random(seed)
    for kind, shape in SHAPES:
        for _ in range(count):
            token = render(shape, rng)
            for place, wrapped in SURROUNDINGS.items():
                yield Planted(kind, place, wrapped(token), halves(token))
            head, tail = halves(token)
            if len(head) >= 20 and shape.count("{") == 1 and shape[0] != "{":
                for place, broken in BROKEN.items():
                    yield Planted(kind, place, broken(head, tail), (head, tail))
    for name, shape in NAMED:
        for _ in range(count):
            value = render(shape, rng)
            for place, named in BESIDE_NAMES.items():
                yield Planted("", f"named, {place}", named(name, value), halves(value))
