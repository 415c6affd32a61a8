"""`python -m hikidashi`: the same as the `hikidashi` command."""

from hikidashi.cli.main import main

if __name__ == "__main__":
    main()
