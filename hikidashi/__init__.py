"""Hikidashi: a memory for coding agents, captured from what they did and checked before it is kept."""

__all__ = ["__version__"]

__version__ = "0.1.0"
