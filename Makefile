# Two commands to start: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
NEURAL := $(VENV)/.neural
WORKERS ?= 2
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
.PHONY: demo test quick test-long check format clean

demo: $(READY)
	$(BIN)/corml demo

# Checks and tests, in two processes: kernels compile once and are kept for both. Then the studio in a real browser, whose
# driver keeps an event loop of its own and so stays away from the other tests.
test: check
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report= --ignore=tests/studio
	$(BIN)/python -m pytest tests/studio --cov --cov-append --cov-report=term --cov-fail-under=95

# What a change breaks first, in under a minute: everything but training, documents and whole programs.
quick: $(NEURAL)
	$(BIN)/ruff check src tests examples benchmarks deploy
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m "not thorough"

test-long: $(NEURAL)
	$(BIN)/python -m pytest -m "slow or not slow" --long

check: $(NEURAL)
	$(BIN)/ruff check src tests examples benchmarks deploy
	$(BIN)/ruff format --check src tests examples deploy
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix src tests examples deploy
	$(BIN)/ruff format src tests examples deploy

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "corml needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[test,serve,client]"
	@touch $@

# PyTorch is large: the demo does without it.
$(NEURAL): $(READY)
	$(PIP) --editable ".[test,serve,client,cluster,neural,browser]"
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .coverage corml-demo
