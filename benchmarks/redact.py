"""How fast `redact()` is, beside a plain pass over the same text.

    python -m benchmarks.redact [MEGABYTES]

Prints MB/s (of UTF-8) of: encoding the text, one trivial regular expression over it, and `redact()`. The
texts are made here, the same every time: prose, prose in which every tenth word is `token`, `password` or the
like, logs, JSON lines, Japanese prose, and logs with a secret in every hundredth line. Times are of the
processor, so that other programs disturb them little.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable

from hikidashi.redact import redact
from hikidashi.redact.values import word_set

_WORDS = word_set(
    "the a of worker is read from its file and then build failed with an error at line in module package path test "
    "run deploy server request response session cache answer question people decided because memory agent writes "
    "record every morning under small green house without reason function returns list when empty so we changed it"
)
_NAMES = word_set("token key password author secret tokens keys authentication")
_ORDINARY = sorted(_WORDS)
_TELLING = sorted(_WORDS) + sorted(_NAMES)
_TRIVIAL = re.compile(r"[0-9]+")


def _sentence(rng: random.Random, words: list[str]) -> str:
    return " ".join(rng.choice(words) for _ in range(14)).capitalize() + "."


def _prose(rng: random.Random) -> str:
    return _sentence(rng, _ORDINARY if rng.randrange(10) else _TELLING)


def _prose_about_secrets(rng: random.Random) -> str:
    return _sentence(rng, _TELLING)


def _log(rng: random.Random) -> str:
    forms = (
        lambda: (
            f"2025-01-02T10:{rng.randrange(60):02}:{rng.randrange(60):02}.{rng.randrange(1000):03}Z INFO "
            f"[worker-{rng.randrange(9)}] GET /api/v1/items/{rng.randrange(9999)} 200 {rng.randrange(99)}ms"
        ),
        lambda: f"commit {rng.getrandbits(160):040x} src/app/module_{rng.randrange(99)}.py:{rng.randrange(999)}: note",
        lambda: f"  Downloading package-{rng.randrange(99)}-1.{rng.randrange(9)}.0-py3-none-any.whl (12.3 kB)",
        lambda: f"PASS tests/unit/test_part_{rng.randrange(99)}.py (tokens: {rng.randrange(9999)})",
    )
    return rng.choice(forms)()


def _json(rng: random.Random) -> str:
    return (
        f'{{"type":"assistant","uuid":"{rng.getrandbits(32):08x}-0000-4000-8000-{rng.getrandbits(48):012x}",'
        f'"message":{{"content":"{_prose(rng)}","usage":{{"input_tokens":{rng.randrange(9999)}}}}}}}'
    )


def _japanese(rng: random.Random) -> str:
    return rng.choice(
        ("認証の設定を見直して、テストを書き直した。", "この関数は遅いので、後で直す。", "Redis を使う。")
    )


def _secret_log(rng: random.Random) -> str:
    if rng.randrange(100):
        return _log(rng)
    return "export GITHUB_TOKEN=" + "gh" + "p_" + "".join(rng.choice("abcXYZ0189") for _ in range(36))


def _text(line: Callable[[random.Random], str], megabytes: float) -> str:
    rng = random.Random(1)
    block = "\n".join(line(rng) for _ in range(3000))
    return (block + "\n") * max(1, int(megabytes * 1e6 / len(block.encode())))


def _speed(size: int, work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return size / best / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.redact", description="How fast secrets are cut out.")
    parser.add_argument("megabytes", type=float, nargs="?", default=4.0, help="of each text (default 4)")
    megabytes = parser.parse_args().megabytes
    print(f"{'text':<20}{'encode':>10}{'one regex':>12}{'redact':>10}   MB/s, {megabytes:g} MB each, best of 3")
    for name, line in (
        ("prose", _prose),
        ("prose on secrets", _prose_about_secrets),
        ("logs", _log),
        ("JSON lines", _json),
        ("Japanese prose", _japanese),
        ("logs with secrets", _secret_log),
    ):
        text = _text(line, megabytes)
        size = len(text.encode())
        figures = (
            _speed(size, lambda text=text: len(text.encode())),
            _speed(size, lambda text=text: sum(1 for _ in _TRIVIAL.finditer(text))),
            _speed(size, lambda text=text: redact(text)),
        )
        print(f"{name:<20}{figures[0]:>10.0f}{figures[1]:>12.0f}{figures[2]:>10.1f}")


if __name__ == "__main__":
    main()
