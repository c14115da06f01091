# Two commands do everything on a fresh machine with python3 (3.11 or newer), pip, git and make:
#   make demo     weigh the built-in suites and show the report
#   make test     set up what the tests need and run them
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test check test-lowest format bench clean

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(VENV)/ready
	PYTHON=$(BIN)/python sh scripts/demo.sh

check: $(VENV)/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: $(VENV)/ready
	$(BIN)/pytest -n 2 --dist loadfile

format: $(VENV)/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/ready
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) .venv-lowest .steelyard demo
