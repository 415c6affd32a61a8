"""What each turn of a pod reads anew, with the server's cache beside without it, and what that costs.

    python -m benchmarks.pod [TURNS] [--calls NUMBER] [--materials TOKENS] [--model NAME]

The server is the package's fake, which accounts for the cache as the real one does; its model calls a tool in every
turn and gets some 300 tokens back. Tokens are the fake's, so the ratios are what counts. The last line is the pod's own
time, without the server's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from hikidashi.model.messages import Answer, Phase, Request
from hikidashi.model.pod import Pod
from hikidashi.model.prices import load_prices
from hikidashi.model.tool import Tool
from hikidashi.testing import call, say, turn
from hikidashi.testing.asker import FakeAsker

_PAGE = "The kiln of the second hall is fired at 1,040 degrees, then left to cool for a night. " * 15


class Timed:
    """Hands requests on and counts the time that passes elsewhere."""

    def __init__(self, asker: FakeAsker) -> None:
        self._asker = asker
        self.seconds = 0.0
        self.answers: list[Answer] = []

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        """The fake's answer."""
        begun = time.process_time()
        answer = self._asker.ask(request, phase=phase)
        self.seconds += time.process_time() - begun
        self.answers.append(answer)
        return answer


def _model(turns: int, calls: int) -> Any:
    def answer(body: dict[str, Any]) -> Any:
        done = sum(message["role"] == "assistant" for message in body["messages"])
        if done >= turns - 1:
            return say("Done.")
        return turn(*(call("read_page", {"number": done * calls + n}) for n in range(calls)))

    return answer


def _converse(given: argparse.Namespace, *, caching: bool) -> tuple[list[Answer], float]:
    """The answers of one conversation, and the processor's seconds that were the pod's own."""
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    tool = Tool(name="read_page", description="Read a page.", schema=schema, run=lambda call: f"{call} {_PAGE}")
    entries = [f"Entry {number}: {_PAGE[:280]}" for number in range(max(given.materials // 80, 1))]
    asker = Timed(FakeAsker(_model(given.turns, given.calls)))
    begun = time.process_time()
    pod = Pod(asker, given.model, "You read pages.", [tool], materials=entries, max_turns=given.turns, caching=caching)
    pod.say("Read them all.", phase="integration")
    return asker.answers, time.process_time() - begun - asker.seconds


def _anew(answer: Answer) -> int:
    return answer.usage.input_tokens + answer.usage.cache_write_tokens


def _dollars(model: str, answers: Sequence[Answer]) -> float | None:
    prices = load_prices()
    costs = [prices.cost(model, answer.usage) for answer in answers]
    return None if None in costs else sum(cost for cost in costs if cost is not None) / 1_000_000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pod", description="Tokens a turn.")
    parser.add_argument("turns", type=int, nargs="?", default=40, help="of one conversation (default 40)")
    parser.add_argument("--calls", type=int, default=1, help="of a tool in each turn (default 1)")
    parser.add_argument("--materials", type=int, default=60_000, help="tokens, about (default 60000)")
    parser.add_argument("--model", default="claude-sonnet-5-5", help="whose prices count (default claude-sonnet-5-5)")
    given = parser.parse_args()
    cached, own = _converse(given, caching=True)
    plain, _ = _converse(given, caching=False)
    print(f"{'turn':<6}{'read anew':>12}{'from cache':>12}{'without':>12}{'ratio':>8}")
    for at in sorted({0, 1, 9, 19, 29, given.turns - 1} & set(range(given.turns))):
        new, full = _anew(cached[at]), _anew(plain[at])
        print(f"{at + 1:<6}{new:>12,}{cached[at].usage.cache_read_tokens:>12,}{full:>12,}{full / new:>8.1f}")
    totals = [sum(map(_anew, answers)) for answers in (cached, plain)]
    kept = sum(answer.usage.cache_read_tokens for answer in cached)
    print(f"{'all':<6}{totals[0]:>12,}{kept:>12,}{totals[1]:>12,}{totals[1] / totals[0]:>8.1f}")
    dollars = [_dollars(given.model, answers) for answers in (cached, plain)]
    if dollars[0] is not None and dollars[1] is not None:
        print(f"cost  ${dollars[0]:.3f} with the cache, ${dollars[1]:.3f} without: {dollars[1] / dollars[0]:.1f} times")
    else:
        print(f"cost  unknown: {given.model} has no price")
    print(f"time  {own * 1000 / given.turns:.1f} ms of the processor a turn, the pod's own")


if __name__ == "__main__":
    main()
