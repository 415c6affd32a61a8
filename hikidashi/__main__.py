"""`python -m hikidashi`: the same as the `hikidashi` command. Run as a file, it needs no installation either."""

import sys

if not __package__:
    sys.path.insert(0, __file__.replace("\\", "/").rpartition("/")[0].rpartition("/")[0])

from hikidashi.cli.main import main

if __name__ == "__main__":
    main()
