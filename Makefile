# Two commands to start: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
NEURAL := $(VENV)/.neural
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
.PHONY: demo test test-long check format clean

demo: $(READY)
	$(BIN)/corml demo

test: check
	$(BIN)/python -m pytest --cov --cov-report=term --cov-fail-under=95

test-long: $(NEURAL)
	$(BIN)/python -m pytest -m "slow or not slow" --long

check: $(NEURAL)
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix src tests examples
	$(BIN)/ruff format src tests examples

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "corml needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[test]"
	@touch $@

# PyTorch is large: the demo does without it.
$(NEURAL): $(READY)
	$(PIP) --editable ".[test,neural]"
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .coverage corml-demo
