"""Rules that people gave in real sessions, against labels made by hand (skipped where the corpus is absent)."""

from __future__ import annotations

import json
from pathlib import Path

from hikidashi.capture.lasting import Lasting
from tests.transcripts import read


def test_nine_of_ten_rules_found_in_real_sessions_are_rules_and_half_of_them_are_found(corpus: Path) -> None:
    labels = json.loads((corpus / "labels.json").read_text(encoding="utf-8"))
    rules = {(label["f"], label["ln"]): bool(label.get("doubt")) for label in labels["rules"]}
    traps = {(label["f"], label["ln"]) for label in labels["rule_traps"]}
    found: set[tuple[str, int]] = set()
    for name in labels["files"]:
        lasting = Lasting("claude-code", name)
        for event in read(corpus / name)[0]:
            found |= {(name, sighting.line) for _, sighting in lasting.feed(event)}
    counted = {place for place in found if not rules.get(place, False)}
    right = {place for place in counted if place in rules}
    asked = {place for place, doubt in rules.items() if not doubt}
    assert found & traps == set()
    assert len(right) >= 0.9 * len(counted), sorted(counted - right)
    assert len(right) >= 0.5 * len(asked), sorted(asked - right)
