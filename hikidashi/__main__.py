"""`python -m hikidashi`: the command, for background workers that know their interpreter but no PATH."""

from __future__ import annotations

import sys

from hikidashi.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
