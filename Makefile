# Two commands do everything on a fresh machine with python3 (3.11 or newer), pip, git and make:
#   make demo     run the built-in suites, show what they say and where the pages are
#   make test     set up what the tests need and run them
# make check is what else CI runs: format, lint, types, and tests with the lowest allowed versions of every dependency.
# PYTHON=python3.13 VENV=.venv-3.13 LOWEST=.venv-3.13-lowest make test    the same with another Python
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
LOWEST ?= .venv-lowest
# Tests start hundreds of processes: without bytecode every one of them compiles the package and the tests anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-lowest test-boundary test-other test-long check lint format notebook schema lock bench dist site clean

$(VENV)/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/ready: $(VENV)/core
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,dev-newest]'
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

check: lint test-lowest

lint: $(VENV)/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# All tests with the locked newest versions. `make check` runs those marked `boundary` with the lowest allowed version of
# every dependency. Simulations and property tests are short here and at full length in `make test-long`.
# Workers wait for processes and servers about half of their time: twice as many as there are cores.
WORKERS ?= 4
PYTEST_PARALLEL = pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: $(VENV)/ready
	$(BIN)/$(PYTEST_PARALLEL) -m "not long"

test-lowest: $(LOWEST)/ready
	$(LOWEST)/bin/$(PYTEST_PARALLEL) -m "boundary and not newest and not long" $$(grep -rl --include='test_*.py' 'mark\.boundary(' tests)

# The tests marked `boundary`, with the locked newest versions.
test-boundary: $(VENV)/ready
	$(BIN)/$(PYTEST_PARALLEL) -m "boundary and not long" $$(grep -rl --include='test_*.py' 'mark\.boundary(' tests)

# The same with the newest other supported Python that is installed; says which versions were tested.
test-other:
	@set -- $$($(PYTHON) scripts/other_python.py); \
	mine=$$($(PYTHON) -c 'import platform; print(platform.python_version())'); \
	if [ $$# -eq 0 ]; then echo "tested with Python $$mine; no other supported Python is installed"; exit 0; fi; \
	$(MAKE) test-boundary PYTHON="$$2" VENV=".venv-$$1" && \
	echo "tested with Python $$mine (all tests) and $$("$$2" -c 'import platform; print(platform.python_version())') (tests marked boundary)"

# What takes minutes: a hundred random kills of runs under load (make test has ten), a million hostile answers, and
# every simulation and property test at full length.
test-long: $(VENV)/ready
	$(BIN)/pytest --full-length -m "long or simulation or hypothesis"

notebook: $(VENV)/ready
	$(BIN)/python scripts/notebook.py

schema: $(VENV)/ready
	$(BIN)/python -m steelyard.loading.json_schema docs/suite.schema.json

# Renew constraints.txt with the newest versions that pyproject.toml allows.
lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --editable '.[dev,dev-newest]'
	{ head -n 1 constraints.txt; .venv-lock/bin/python -m pip freeze --exclude-editable; } > constraints.new
	mv constraints.new constraints.txt && rm -rf .venv-lock

format: $(VENV)/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/ready
	$(BIN)/python -m bench

# Wheel and sdist (the wheel is built from the sdist), then the tutorial followed with the wheel in an empty environment.
dist: $(VENV)/ready
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python scripts/check_dist.py

# The docs as a static site in site/: open site/index.html, no server and no network needed.
site: $(VENV)/core
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:
	rm -rf .venv* $(VENV) $(LOWEST) .steelyard demo dist site
