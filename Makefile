# Two commands do everything on a fresh machine with python3 (3.11 or newer), pip, git and make:
#   make demo     run the built-in suites, show what they say and where the pages are
#   make test     set up what the tests need and run them
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
LOWEST ?= .venv-lowest

.PHONY: demo test test-newest test-lowest test-long check format schema lock bench clean

$(VENV)/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/ready: $(VENV)/core
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

$(LOWEST)/ready: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --constraint constraints-lowest.txt --editable '.[dev]'
	touch $@

$(VENV)/demo: $(VENV)/core
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[charts,ocr]'
	touch $@

demo: $(VENV)/demo
	$(BIN)/python scripts/demo.py

check: $(VENV)/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The same tests with the locked newest and with the lowest allowed version of every dependency, but for those that
# tests/conftest.py marks as `once`: property tests, browsers, documentation, suites, all but two of many parameters.
test: test-newest test-lowest

test-newest: $(VENV)/ready
	$(BIN)/pytest -n 3 --dist loadfile -m "not long"

test-lowest: $(LOWEST)/ready
	$(LOWEST)/bin/pytest -n 3 --dist loadfile -m "not once and not long"

# What takes minutes: a hundred random kills of runs under load (make test has twenty).
test-long: $(VENV)/ready
	$(BIN)/pytest -m long

schema: $(VENV)/ready
	$(BIN)/python -m steelyard.suite.schema docs/suite.schema.json

# Renew constraints.txt with the newest versions that pyproject.toml allows.
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --editable '.[dev]'
	{ head -n 1 constraints.txt; .venv-lock/bin/python -m pip freeze --exclude-editable; } > constraints.new
	mv constraints.new constraints.txt && rm -rf .venv-lock

format: $(VENV)/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/ready
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) $(LOWEST) .steelyard demo
