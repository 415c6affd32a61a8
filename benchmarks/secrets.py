"""How many secrets are caught, and how much is taken out that is none.

    python -m benchmarks.secrets [--count N] [--seed N] [--text FOLDER]... [--show]

Caught: random secrets of every family (`tests/secrets_generator.py`), each in every surrounding; one counts only when
neither half of it is left. Private keys of the standard library's tests and of installed packages count too, line by
line. Wrongly caught: redactions per MB of made-up lock files, hashes, images and logs, where each is wrong; and of the
standard library, installed packages and this project's pages, where most are passwords and cookies of tests and
examples. `--text` adds folders (files `.jsonl` are read as sessions), `--show` prints every redaction of these texts,
to be looked at. Ends with 1 when a whole secret in a thousand is missed or made-up text loses anything.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hikidashi.redact import find_secrets, redact
from hikidashi.redact.values import word_set
from tests.secrets_generator import BROKEN, generated, harmless

_SUFFIXES = word_set(
    ".py .pyi .txt .md .rst .json .toml .cfg .ini .yaml .yml .js .ts .css .html .xml .c .h .sh .pl .pm .pem .jsonl"
)
#: Files of installed packages without a suffix: `RECORD` lists their files with hashes, as lock files do.
_NAMES = frozenset({"RECORD", "METADATA", "LICENSE", "entry_points"})
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n(?P<body>[A-Za-z0-9+/=\n:,. -]+?)-----END ")


def caught(count: int, seed: int) -> tuple[Counter[str], Counter[str]]:
    """Secrets planted and missed, by group and by surroundings."""
    planted: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for one in generated(seed, count):
        group = "broken in two" if one.place in BROKEN else "known by themselves" if one.kind else "beside a name"
        planted[group] += 1
        if any(half in redact(one.text) for half in one.halves):
            missed[group] += 1
            missed[f"  {one.place}: {one.kind or one.text[:30]!r}"] += 1
    return planted, missed


def keys_of_packages(folders: list[Path]) -> tuple[int, int, int]:
    """Private keys in files of these folders, their lines, and lines that are left after redaction."""
    keys = lines = left = 0
    for folder in folders:
        for path, text in texts(folder, {".pem", ".key", ".py", ".txt", ".md"}):
            del path
            if "PRIVATE KEY-----\n" not in text:
                continue
            shown = redact(text)
            for key in _KEY.finditer(text):
                # The certificate in the same file may hold the same public number, and lines of it.
                body = [line for line in key["body"].splitlines() if len(line) >= 40 and text.count(line) == 1]
                keys += bool(body)
                lines += len(body)
                left += sum(line in shown for line in body)
    return keys, lines, left


def texts(folder: Path, suffixes: set[str] | frozenset[str] = _SUFFIXES) -> Iterator[tuple[Path, str]]:
    """Text files below a folder; of the standard library without what is installed in it."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if "__pycache__" in inside or ("site-packages" in inside and folder.name != "site-packages"):
            continue
        if (path.suffix not in suffixes and path.name not in _NAMES) or path.is_symlink() or not path.is_file():
            continue
        try:
            yield path, path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)


def _pieces(path: Path, text: str) -> Iterator[str]:
    """A file as it is, a session as the strings in it."""
    if path.suffix != ".jsonl":
        yield text
        return
    for line in text.splitlines():
        try:
            yield from _strings(json.loads(line))
        except (ValueError, RecursionError):
            yield line


def redactions(folder: Path, show: bool) -> tuple[int, float, Counter[str]]:
    """Redactions in the texts of a folder, its size in MB, and their kinds."""
    kinds: Counter[str] = Counter()
    size = 0
    for path, whole in texts(folder):
        for text in _pieces(path, whole):
            size += len(text.encode("utf-8", "replace"))
            for found in find_secrets(text):
                kinds[found.kind] += 1
                if show:
                    before = text[max(text.rfind("\n", 0, found.start) + 1, found.start - 60) : found.start]
                    after = text[found.end : found.end + 20].partition("\n")[0]
                    value = text[found.start : min(found.end, found.start + 60)]
                    print(f"    {path.relative_to(folder)}: {found.kind}: {before!r} [{value!r}] {after!r}")
    return kinds.total(), size / 1e6, kinds


def _print_caught(count: int, seed: int, folders: list[Path]) -> bool:
    planted, missed = caught(count, seed)
    print(f"{'secrets':<34}{'planted':>9}{'caught':>9}{'%':>9}")
    for group, number in planted.items():
        print(f"{group:<34}{number:>9}{number - missed[group]:>9}{100 * (1 - missed[group] / number):>9.2f}")
    for place, number in missed.most_common():
        if place.startswith("  "):
            print(f"{place} {number}")
    keys, lines, left = keys_of_packages(folders)
    print(f"private keys that packages carry: {keys} with {lines} lines, {left} lines left")
    return all(missed[group] * 1000 < number for group, number in planted.items()) and left == 0


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.secrets", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--count", type=int, default=3, help="random secrets of each shape (default 3)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--text", type=Path, action="append", default=[], metavar="FOLDER", help="more texts to search")
    parser.add_argument("--show", action="store_true", help="print each redaction in real texts")
    given = parser.parse_args()
    paths = sysconfig.get_paths()
    library, packages = Path(paths["stdlib"]), Path(paths["purelib"])
    good = _print_caught(given.count, given.seed, [library, packages])
    print(f"\n{'text':<34}{'MB':>9}{'redacted':>9}{'per MB':>9}")
    for name, text in harmless(given.seed, kilobytes=1000):
        found = find_secrets(text)
        good = good and not found
        print(f"{name:<34}{len(text) / 1e6:>9.1f}{len(found):>9}{len(found) / (len(text) / 1e6):>9.2f}")
    pages = Path(__file__).resolve().parents[1] / "docs"
    for name, folder in (
        ("the standard library", library),
        ("installed packages", packages),
        ("these pages", pages),
        *((str(folder), folder) for folder in given.text),
    ):
        number, size, kinds = redactions(folder, given.show)
        listed = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        print(f"{name:<34}{size:>9.1f}{number:>9}{number / max(size, 1e-6):>9.2f}  {listed}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
