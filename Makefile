# Two commands do all their own set-up: make demo, make test. Needs Python 3.11+, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# -n 2: two workers; BLAS threads are held at one per worker so that they do not fight over the cores.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

.PHONY: demo test test-fast test-thorough check docs dist bench format clean

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e ".[dev]"
	touch $@ $(VENV)/.installed

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e ".[docs]"
	touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/preflearn rank examples/tastings.csv --items examples/teas.csv
	$(BIN)/preflearn demo

test: $(VENV)/.dev
	$(PYTEST)

test-fast: $(VENV)/.dev
	$(PYTEST) -m "not slow"

# As many random cases, kills and simulations as ever found something: several times as long as make test.
test-thorough: $(VENV)/.dev
	PREFLEARN_THOROUGH=1 $(PYTEST)

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell README.md CONTRIBUTING.md CHANGELOG.md docs examples src
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site: docs/_build/html/index.html. Warnings are errors; then links, pictures and names are checked.
docs: $(VENV)/.docs
	rm -rf docs/_build
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -b html -d docs/_build/trees -W --keep-going -q docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

# What others install: built, its metadata checked, put into an empty environment, imported and run there.
dist: | $(VENV)/bin/python
	$(PIP) -e ".[dist]"
	rm -rf dist build/empty
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd build && empty/bin/python -c "import preflearn, pathlib; assert (pathlib.Path(preflearn.__file__).parent / 'py.typed').exists()"
	cd build && empty/bin/preflearn rank ../examples/tastings.csv --items ../examples/teas.csv --top 3

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist docs/_build docs/_pictures docs/gallery docs/reference/python docs/reference/commands docs/files/layouts .pytest_cache .mypy_cache .ruff_cache .hypothesis
