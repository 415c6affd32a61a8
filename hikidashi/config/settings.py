"""Settings in layers: defaults < user's file < workspace's file < environment (design section 3, "Settings").

Types, bounds, choices and who may set what come from the table in `defaults.py` alone. Whatever is wrong is
`BadSettings` with one line: the file, the line, the mend. No message holds a value, since a value may be a
key pasted in the wrong place. Only this module imports pydantic: the hook path must not.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from hikidashi.config.defaults import OTHER_VARIABLES, SETTINGS, TEST_PREFIX, VARIABLE_PREFIX, Setting
from hikidashi.config.folders import config_folder, shown
from hikidashi.config.toml_file import FileValue, place, read_values
from hikidashi.config.workspace import Workspace
from hikidashi.errors import BadSettings

__all__ = [
    "Settings",
    "expected",
    "load_settings",
    "refused_settings",
    "user_file",
]

_BY_NAME: Final = {setting.name: setting for setting in SETTINGS}
_BY_VARIABLE: Final = {setting.variable: setting for setting in SETTINGS}
_GROUPS: Final = tuple(dict.fromkeys(setting.group for setting in SETTINGS))


def _kind(setting: Setting, *, strict: bool) -> Any:
    """The pydantic type of a setting; strict for files, where a number in quotes is a mistake."""
    if setting.secret:
        return SecretStr
    rules: dict[str, Any] = {"strict": strict, "ge": setting.minimum, "le": setting.maximum}
    if isinstance(setting.default, float):
        rules["allow_inf_nan"] = False
    if setting.choices:
        rules["pattern"] = f"^(?:{'|'.join(map(re.escape, setting.choices))})$"
    if setting.pattern:
        rules["pattern"] = f"^(?:{setting.pattern})?$"
    return Annotated[type(setting.default), Field(**rules)]


def _adapter(setting: Setting, *, strict: bool) -> TypeAdapter[Any]:
    return TypeAdapter(_kind(setting, strict=strict), config=ConfigDict(hide_input_in_errors=True))


_STRICT: Final = {setting.name: _adapter(setting, strict=True) for setting in SETTINGS}
_LAX: Final = {setting.name: _adapter(setting, strict=False) for setting in SETTINGS}


class _Group(BaseModel):
    """The settings of one group, frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class _Layer(PydanticBaseSettingsSource):
    """What one file or the environment sets: group -> key -> value."""

    def __init__(self, settings_cls: type[BaseSettings], values: dict[str, dict[str, Any]]) -> None:
        super().__init__(settings_cls)
        self._values = values

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._values.get(field_name), field_name, True

    def __call__(self) -> dict[str, Any]:
        return dict(self._values)


class _Layered(BaseSettings):
    """All groups; made as `_Layered(layers=[strongest, …, weakest])`."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        assert isinstance(init_settings, InitSettingsSource)
        return tuple(_Layer(settings_cls, values) for values in init_settings.init_kwargs["layers"])


def _group_model(group: str) -> type[_Group]:
    fields: dict[str, Any] = {
        setting.key: (
            _kind(setting, strict=True),
            SecretStr(str(setting.default)) if setting.secret else setting.default,
        )
        for setting in SETTINGS
        if setting.group == group
    }
    return create_model(f"{group.title()}Settings", __base__=_Group, **fields)


_GROUP_FIELDS: Final[dict[str, Any]] = {group: (model, model()) for group in _GROUPS for model in [_group_model(group)]}
_MODEL: Final[type[_Layered]] = create_model("AllSettings", __base__=_Layered, **_GROUP_FIELDS)


class Settings:
    """All settings, by group: `settings.staging.max_files`. A secret is a pydantic `SecretStr`."""

    def __init__(self, values: BaseSettings, origins: Mapping[str, str]) -> None:
        self._values = values
        self._origins = dict(origins)

    def __getattr__(self, group: str) -> Any:
        if group.startswith("_") or group not in _GROUPS:
            raise AttributeError(f"there is no group of settings named {group!r}")
        return getattr(self._values, group)

    def __repr__(self) -> str:  # no values: even a URL may hold a password
        return f"Settings({', '.join(f'{name} from {origin}' for name, origin in self._origins.items())})"

    def get(self, name: str) -> Any:
        """The value of `group.key`. Raises `KeyError` for an unknown name."""
        setting = _BY_NAME[name]
        return getattr(getattr(self._values, setting.group), setting.key)

    def origin(self, name: str) -> str:
        """Where the value of `group.key` comes from: `default`, `<file>, line <n>` or `$<VARIABLE>`.

        Raises `KeyError` for an unknown name.
        """
        return self._origins.get(_BY_NAME[name].name, "default")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    setting: Setting
    value: Any
    origin: str


def user_file() -> Path:
    """The user's own settings file."""
    return config_folder() / "config.toml"


def expected(setting: Setting) -> str:
    """What a setting takes, in words: `a whole number from 1 to 1,000`."""
    if setting.choices:
        return "one of " + ", ".join(f'"{choice}"' for choice in setting.choices)
    if setting.pattern:
        return f"{setting.pattern_words}, in quotes"
    if isinstance(setting.default, bool):
        return "true or false"
    if isinstance(setting.default, str):
        return "text in quotes"
    kind = "a whole number" if isinstance(setting.default, int) else "a number"
    low, high = setting.minimum, setting.maximum
    if low is not None and high is not None:
        return f"{kind} from {low:,} to {high:,}"
    if low is not None:
        return f"{kind}, at least {low:,}"
    return f"{kind}, at most {high:,}" if high is not None else kind


def _nearest(word: str, words: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(word, list(words), n=1)), "")


def _unknown(found: FileValue) -> str:
    """What to say of a key that the table does not have."""
    if found.group not in _GROUPS:
        if not found.key and any(setting.key == found.group for setting in SETTINGS):
            group = next(setting.group for setting in SETTINGS if setting.key == found.group)
            return f'"{found.group}" stands outside its group: write it under [{group}]'
        near = _nearest(found.group, _GROUPS)
        mend = f"write [{near}]" if near else f"the groups are {', '.join(_GROUPS)}; delete it"
        return f'unknown group "{shown(found.group)}": {mend}'
    if not found.key:
        return f'"{found.group}" is a group, not a value: write `[{found.group}]` and its keys below'
    keys = [setting.key for setting in SETTINGS if setting.group == found.group]
    elsewhere = next((setting.group for setting in SETTINGS if setting.key == found.key), "")
    near = _nearest(found.key, keys)
    if elsewhere:
        mend = f"it belongs under [{elsewhere}]"
    else:
        mend = f'write "{near}"' if near else f"delete it; the keys are {', '.join(keys)}"
    return f'unknown key "{shown(found.key)}" in [{found.group}]: {mend}'


def _examine(path: Path, ceilings: Mapping[str, float] | None) -> tuple[list[_Found], list[str]]:
    """The good values of a file, and what is wrong with the others, one line each.

    `ceilings` is given for a workspace's file: what its budgets may not pass. Raises `BadSettings` when the
    file as a whole cannot be read.
    """
    good, problems = [], []
    for found in read_values(path):
        where = place(path, found.line)
        setting = _BY_NAME.get(f"{found.group}.{found.key}")
        if setting is None:
            problems.append(f"{where}: {_unknown(found)}")
        elif ceilings is not None and not setting.workspace_may_set:
            problems.append(
                f"{where}: {setting.name} is yours alone to set, a workspace may not: "
                f"move it to {shown(user_file())} if you want it"
            )
        else:
            try:
                value = _STRICT[setting.name].validate_python(found.value)
            except ValidationError:
                problems.append(f"{where}: {setting.name} must be {expected(setting)}: correct the value")
                continue
            if ceilings is not None and setting.budget and value > ceilings[setting.name]:
                problems.append(
                    f"{where}: {setting.name} is a budget, and a workspace may only lower it: "
                    f"write at most {ceilings[setting.name]:,} or raise yours in {shown(user_file())}"
                )
                continue
            good.append(_Found(setting=setting, value=value, origin=where))
    return good, problems


def _layer(path: Path, ceilings: Mapping[str, float] | None) -> list[_Found]:
    good, problems = _examine(path, ceilings)
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise BadSettings(problems[0] + more)
    return good


def _ceilings(user: Iterable[_Found]) -> dict[str, float]:
    ceilings = {setting.name: float(setting.default) for setting in SETTINGS if setting.budget}
    ceilings.update({found.setting.name: found.value for found in user if found.setting.budget})
    return ceilings


def _environment(environ: Mapping[str, str]) -> list[_Found]:
    good = []
    for variable, text in sorted(environ.items()):
        if not variable.startswith(VARIABLE_PREFIX) or variable.startswith(TEST_PREFIX):
            continue
        setting = _BY_VARIABLE.get(variable)
        if setting is None:
            if variable in OTHER_VARIABLES:
                continue
            names = (name.removeprefix(VARIABLE_PREFIX) for name in (*_BY_VARIABLE, *OTHER_VARIABLES))
            near = _nearest(variable.removeprefix(VARIABLE_PREFIX), names)
            mend = f"use {VARIABLE_PREFIX}{near}" if near else "unset it; `docs/settings.md` lists the ones there are"
            raise BadSettings(f"environment: unknown variable {shown(variable)}: {mend}")
        if setting.file_only:
            mend = f"unset {variable}; only {shown(user_file())} may set {setting.name}"
            raise BadSettings(f"environment: {variable} is no variable: {mend}")
        if not text and not isinstance(setting.default, str):
            continue  # `VARIABLE= command` is how a shell takes one away
        try:
            value = _LAX[setting.name].validate_python(text)
        except ValidationError:
            raise BadSettings(f"environment: {variable} must be {expected(setting)}: correct it or unset it") from None
        good.append(_Found(setting=setting, value=value, origin=f"${variable}"))
    return good


def _nested(layer: Iterable[_Found]) -> dict[str, dict[str, Any]]:
    values: dict[str, dict[str, Any]] = {}
    for found in layer:
        values.setdefault(found.setting.group, {})[found.setting.key] = found.value
    return values


def load_settings(workspace: Workspace | None, *, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings that hold in `workspace` (None: outside any). Raises `BadSettings`."""
    user = _layer(user_file(), None)
    carried = _layer(workspace.config_file, _ceilings(user)) if workspace is not None else []
    layers = [user, carried, _environment(environ)]
    values = _MODEL(layers=[_nested(layer) for layer in reversed(layers)])  # type: ignore[call-arg]
    return Settings(values, {found.setting.name: found.origin for layer in layers for found in layer})


def refused_settings(config_file: Path) -> list[str]:
    """What of a workspace's settings file would be refused, one line each; [] when all of it is fine.

    Raises `BadSettings` only for the user's own file.
    """
    ceilings = _ceilings(_layer(user_file(), None))
    try:
        return _examine(config_file, ceilings)[1]
    except BadSettings as exc:
        return [str(exc)]
