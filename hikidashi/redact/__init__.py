"""Redaction: secrets are taken out of every text before anything keeps it or sends it (design section 5.4)."""

from hikidashi.redact.scan import RULES_VERSION, Secret, find_secrets, redact

__all__ = ["RULES_VERSION", "Secret", "find_secrets", "redact"]
