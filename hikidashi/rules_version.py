"""Which redaction rules this is. Standard library only: hooks give no fact that these rules have not read yet."""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["RULES_VERSION"]

#: Raised with every change of what is found, so that what was checked by older rules is checked again
#: (`drawer/rescan.py`).
RULES_VERSION: Final = 2
