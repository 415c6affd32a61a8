"""How spend on models is shown, by every command that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hikidashi.cli.output import amount
from hikidashi.model.budget import dollars

__all__ = ["budget_line", "cost_text", "requests_text", "spend_lines", "tokens_text"]


def cost_text(cost_micros: int | None, unknown: int) -> str:
    """`$0.0123`, `$0.0123 and 2 unknown`, `unknown`: what nobody knows is never shown as nothing."""
    if not unknown:
        return dollars(cost_micros or 0)
    return f"{dollars(cost_micros)} and {unknown:,} unknown" if cost_micros else "unknown"


def requests_text(form: Mapping[str, Any]) -> str:
    """`12 (1 failed, 1 lost)` for totals in their JSON form."""
    aside = [f"{form[name]:,} {name}" for name in ("failed", "running", "lost") if form[name]]
    return f"{form['requests']:,} ({', '.join(aside)})" if aside else f"{form['requests']:,}"


def tokens_text(form: Mapping[str, Any]) -> str:
    """`1,000 in, 200 out, 5,000 from the cache, 300 into it` for totals in their JSON form."""
    parts = [f"{form['input_tokens']:,} in", f"{form['output_tokens']:,} out"]
    if form["cache_read_tokens"] or form["cache_write_tokens"]:
        parts.append(f"{form['cache_read_tokens']:,} from the cache, {form['cache_write_tokens']:,} into it")
    if form["reserved_tokens"]:
        parts.append(f"{form['reserved_tokens']:,} reserved")
    return ", ".join(parts)


def budget_line(form: Mapping[str, Any]) -> str:
    """`1,966,000 of 2,000,000 tokens left` for a budget in its JSON form."""
    if form["unit"] == "tokens":
        return f"{form['left']:,} of {form['limit']:,} tokens left"
    return f"{dollars(form['left'], down=True)} of {dollars(form['limit'])} left"


def spend_lines(spend: Mapping[str, Any]) -> str:
    """The row of `status`; '' when there is nothing to say."""
    lines = [str(spend["problem"])] if spend["problem"] else []
    if spend["requests"]:
        used = f"{amount(spend['requests'], 'request')} in 24 hours, {amount(spend['counted_tokens'], 'token')}"
        lines.append(f"{used}, {cost_text(spend['cost_micro_usd'], spend['unknown_cost'])}; `hikidashi cost` says more")
    lines += [
        f"{one['setting']} is spent: {budget_line(one)}" for one in spend["budgets"] if one["used"] and not one["left"]
    ]
    lines += [f"{one['model']} is not asked; {one['line']}" for one in spend["blocked"]]
    return "\n".join(lines)
