"""Talking to a model: client, budgets, ledger, pod (design sections 5.7 and 6)."""
