# Everything runs from .venv, which each target makes when it is missing.
# Python compiles each file once, not in every process of the tests.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)
BIN := .venv/bin
WORKERS ?= 2

.PHONY: install demo test test-slow check format docs bench clean

install: .venv/.installed

.venv/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Hikidashi needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python3" >&2; exit 2; }
	@echo "Installing into .venv ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch .venv/.installed

demo: install
	@$(BIN)/hikidashi demo

test: install
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not slow"

test-slow: install
	HIKIDASHI_TEST_LONG=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal -m "slow or hypothesis" --timeout 1800

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/unit/test_floors.py tests/unit/test_docs.py

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: install
	$(BIN)/python docs/generate.py

bench: install
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
