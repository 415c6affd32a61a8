"""The table of prefixed tokens: one row per family, providers in alphabetical order within each group.

To add a family, add its row to `tokens_infra.py` or `tokens_services.py`, its planted sample to
`tests/secrets_samples.py`, raise `RULES_VERSION` in `rules_version.py`, and run `python docs/generate.py`. Prefixes and
lengths are the providers' own, from their documentation of token formats; lengths are minima, because providers
lengthen tokens more often than not.
"""

from __future__ import annotations

from typing import Final

from hikidashi.redact.families import Family
from hikidashi.redact.tokens_infra import CLOUDS, DATABASES, FORGES, NETWORKS, REGISTRIES
from hikidashi.redact.tokens_services import MESSAGES, MODELS, OBSERVABILITY, PAYMENT, WORK

__all__ = ["FAMILIES"]

#: Every family of prefixed tokens. Where two match at one place the longer one wins.
FAMILIES: Final[tuple[Family, ...]] = (
    *CLOUDS,
    *DATABASES,
    *NETWORKS,
    *FORGES,
    *REGISTRIES,
    *MODELS,
    *PAYMENT,
    *MESSAGES,
    *OBSERVABILITY,
    *WORK,
)
