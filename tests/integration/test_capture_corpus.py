"""The bounds on activities, over real sessions (skipped where they are not beside the checkout)."""

from __future__ import annotations

from pathlib import Path

from hikidashi.source import trust_rank
from tests.capture_workspace import desk


def test_real_sessions_leave_few_activities_and_many_leave_none(tmp_path: Path, corpus: Path) -> None:
    with desk(tmp_path / "shop") as here:
        report = here.extract(corpus)
        sessions = {result.path: result.entries for result in report.results}
        assert len(sessions) > 50
        assert len(report.new) / len(sessions) <= 1.5
        assert sum(1 for entries in sessions.values() if not entries) / len(sessions) >= 0.25
        assert not [result for result in report.results if result.error]
        requests: dict[str, int] = {}
        for entry in report.new:
            if entry.kind == "request":
                requests[entry.source.session_id] = requests.get(entry.source.session_id, 0) + 1
            assert 0 < len(entry.title) <= 200
            assert "\n" not in entry.title
            assert entry.source.lines[0] <= entry.source.lines[1]
            if entry.kind == "decision":
                assert trust_rank(entry.trust) <= trust_rank("assistant")
            if entry.trust == "user":
                assert len(entry.quote) >= 12
        assert max(requests.values()) <= 2  # two files may be one session
        again = here.extract(corpus)
        assert (again.new, again.bytes, again.unchanged) == ([], 0, len(sessions))
