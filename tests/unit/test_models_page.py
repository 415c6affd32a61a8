"""What the page about models tells people to write is accepted, and what it says of prices is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from hikidashi.config.defaults import SETTINGS
from hikidashi.config.engine import resolve_engine
from hikidashi.config.settings import load_settings, user_file
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.messages import Usage
from hikidashi.model.prices import UNKNOWN_WINDOW, load_prices

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_there_is_a_recipe_for_each_server() -> None:
    assert len(RECIPES) == 6
    for name in ("Ollama", "llama.cpp", "vLLM", "LM Studio", "LiteLLM"):
        assert f"### {name}" in PAGE


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_is_a_settings_file_with_which_a_model_reads(recipe: str) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text(recipe, encoding="utf-8")
    settings = load_settings(None, environ={})
    assert resolve_engine(settings, "extraction", environ={}).name == "anthropic"
    keys = {settings.memory.api_key_variable: "a-key"} if settings.memory.api_key_variable else {}
    endpoint = make_endpoint(settings, environ=keys)
    given = tomllib.loads(recipe)["memory"].get("base_url", "https://api.anthropic.com")
    assert endpoint.base_url == given
    assert endpoint.local_only == ("local_only = true" in recipe)


def test_prices_and_limits_on_the_page_are_the_program_s() -> None:
    default = {setting.name: setting.default for setting in SETTINGS}
    prices = load_prices()
    model = str(default["memory.extraction_model"])
    assert prices.cost(model, Usage(input_tokens=100_000)) == 10_000
    assert prices.cost(model, Usage(output_tokens=100_000)) == 50_000
    assert "about 0.10 dollar per million tokens in (0.50 out)" in PAGE
    assert f"{UNKNOWN_WINDOW:,} are assumed for models that are not in the table" in PAGE
    assert default["memory.day_usd"] == 1.0
    assert "`memory.day_usd` (1 dollar)" in PAGE
