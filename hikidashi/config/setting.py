"""What a row of the table of settings is (`defaults.py`). Standard library only: hooks read the table."""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing or dataclasses costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["VARIABLE_PREFIX", "WORKSPACE_GROUPS", "Setting"]

#: Groups that a workspace's `config.toml` may set (design section 3).
WORKSPACE_GROUPS: Final = frozenset({"staging", "worker", "cleanup", "recall", "knowledge"})

#: Environment variables that start so are ours; one that we do not know is an error, since it is a typing error.
VARIABLE_PREFIX: Final = "HIKIDASHI_"


class Setting:
    """One setting."""

    def __init__(
        self,
        *,
        name: str,
        default: int | float | str | bool,
        doc: str,
        unit: str = "",
        minimum: float | None = None,
        maximum: float | None = None,
        choices: tuple[str, ...] = (),
        pattern: str = "",
        pattern_words: str = "",
        budget: bool = False,
        secret: bool = False,
        file_only: bool = False,
    ) -> None:
        #: `group.key`; in TOML `[group]` and `key`, in the environment `HIKIDASHI_GROUP_KEY`.
        self.name: Final = name
        self.default: Final = default
        #: One or two sentences for the settings page.
        self.doc: Final = doc
        #: Unit shown beside the default; '' for none.
        self.unit: Final = unit
        self.minimum: Final = minimum
        self.maximum: Final = maximum
        self.choices: Final = choices
        #: What a text must look like as a whole, if it is not empty, and that in words: `the name of a variable`.
        self.pattern: Final = pattern
        self.pattern_words: Final = pattern_words
        #: A limit on what a run may spend or lose: a workspace file may only lower it.
        self.budget: Final = budget
        #: Never shown by any command or log.
        self.secret: Final = secret
        #: Only the user's file may set it, no variable: an agent chooses the environment of what it runs.
        self.file_only: Final = file_only

    @property
    def group(self) -> str:
        """The part before the dot."""
        return self.name.partition(".")[0]

    @property
    def key(self) -> str:
        """The part after the dot."""
        return self.name.partition(".")[2]

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return VARIABLE_PREFIX + self.name.replace(".", "_").upper()

    @property
    def workspace_may_set(self) -> bool:
        """Whether a workspace's `config.toml` may set it."""
        return self.group in WORKSPACE_GROUPS
