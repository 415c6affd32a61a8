"""Random secrets of every known shape in the surroundings where sessions leave them, the same for the same seed.

`benchmarks/secrets.py` measures with it how many are caught; the tests take a smaller share.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from tests.secrets_shapes import ALPHABETS, NAMED, PART, SHAPES, render

__all__ = ["BROKEN", "HARMLESS", "SURROUNDINGS", "Planted", "generated", "halves", "harmless"]


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


#: Lines of random characters that are no secrets: what locks, builds, stores and logs are full of.
HARMLESS: Final = {
    "npm lock file": '      "resolved": "https://registry.example.com/left-pad/-/left-pad-1.{d1}.{d1}.tgz",\n'
    '      "integrity": "sha512-{b86}==",\n',
    "yarn lock file": 'left-pad@^1.{d1}.{d1}:\n  version "1.{d1}.{d2}"\n'
    '  resolved "https://x.example/left-pad.tgz#{h40}"\n'
    "  integrity sha512-{b86}==\n",
    "pnpm lock file": "  /left-pad@1.{d1}.{d1}:\n    resolution: {{integrity: sha512-{b86}==}}\n    dev: true\n",
    "cargo lock file": '[[package]]\nname = "serde"\nversion = "1.0.{d3}"\nchecksum = "{h64}"\n\n',
    "go.sum": "github.com/x/y v1.{d1}.{d2} h1:{b43}=\ngithub.com/x/y v1.{d1}.{d2}/go.mod h1:{b43}=\n",
    "poetry lock file": '    {{file = "x-1.{d1}-py3-none-any.whl", hash = "sha256:{h64}"}},\n',
    "pip with hashes": "requests==2.{d2}.0 \\\n    --hash=sha256:{h64} \\\n    --hash=sha256:{h64}\n",
    "wheel record": "pkg/module_{d2}.py,sha256={w43},{d4}\n",
    "git log": "commit {h40}\nMerge: {h7} {h7}\nAuthor: Ann <ann@example.com>\n\n    Fix part {d2} (#{d4})\n\n",
    "git diff": "diff --git a/src/a{d2}.ts b/src/a{d2}.ts\nindex {h10}..{h10} 100644\n@@ -{d2},7 +{d2},9 @@\n",
    "UUIDs": '{{"id": "{u}", "parentUuid": "{u}", "sessionId": "{u}"}}\n',
    "object ids": '{{"_id": "{h24}", "requestId": "req_{A24}", "toolUseID": "toolu_01{A22}"}}\n',
    "images of containers": "sha256:{h64}   registry.example.com/web@sha256:{h64}   {h12}\n",
    "image in base64": "<img src='data:image/png;base64,iVBORw0KGgo{b400}='>\n",
    "base64 at 76 columns": "{b76}\n{b76}\n{b76}\n{b76}\n{b20}==\n\n",
    "base64 at 64 columns": "{b64}\n{b64}\n{b64}\n{b44}\n\n",
    "hexadecimal dump": "000000{h2}: {h4} {h4} {h4} {h4} {h4} {h4} {h4} {h4}  ................\n",
    "certificate": "-----BEGIN CERTIFICATE-----\nMII{b61}\n{b64}\n{b64}\n{b32}\n-----END CERTIFICATE-----\n",
    "public key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} ann@example.com\n"
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB{b344} x\n",
    "bundles": "dist/assets/index-{A8}.js   {d3}.{d2} kB | gzip: {d2}.{d2} kB\n"
    "dist/assets/vendor.{h20}.chunk.css  {d2} kB\n",
    "minified code": "function {a1}({a1},{a1}){{return {a1}.{a2}({a1}[{d2}],{h4}={d3}),"
    "{a2}.key={a1},{a2}.token('{a4}{d1}')}}var {a3}=",
    "source map": '{{"version":3,"mappings":"{b200},{b80};{b120}","names":["{a6}","{a8}"]}}\n',
    "traces": 'trace_id={h32} span_id={h16} etag="{h32}" x-amz-request-id: {U16} x-amz-id-2: {b74}==\n',
    "log": "2025-01-02T10:11:{d2}.{d3}Z INFO [worker-{d1}] GET /api/v1/items/{d6}?page={d2} {d3} {d2}ms pid={d5}\n",
    "identifiers": "test_{a8}_returns_{a8}_{d2} app-{a9}-{d2} key_{a7}_{a5} api-{a6}-v{d1} sdk-{a7} st.session_{a9}\n",
    "kubernetes": "pod/web-{l9}-{l5} Running  pod/db-{d1} Pending  secret/web-tls-{l5} kubernetes.io/tls 2 {d2}d\n",
    "package urls": "https://x.example/packages/{h2}/{h2}/{h60}/pkg-{d1}.{d2}.tar.gz#sha256={h64}\n",
    "nix": "/nix/store/{l32}-bash-5.{d1}p{d2}/bin/bash\n",
    "ULIDs": "01{C24} 01{C24} run-{h8} job_{A12} build-{d6}-{h7}\n",
}


def harmless(seed: int, kilobytes: int) -> Iterator[tuple[str, str]]:
    """(name, text) for each of `HARMLESS`, each text of that size."""
    rng = random.Random(seed)
    for name, line in HARMLESS.items():
        shape = line.replace("{{", "\0").replace("}}", "\1")
        lines: list[str] = []
        size = 0
        while size < kilobytes * 1000:
            lines.append(_loose(shape, rng).replace("\0", "{").replace("\1", "}"))
            size += len(lines[-1])
        yield name, "".join(lines)


def _loose(shape: str, rng: random.Random) -> str:
    """`render` without the care that bodies begin, end and are mixed like a token's."""

    def part(match: re.Match[str]) -> str:
        code, length = match[1], int(match[2] or 1)
        if code == "u":
            return render("{u}", rng)
        return "".join(rng.choice(ALPHABETS[code]) for _ in range(length))

    return PART.sub(part, shape)
