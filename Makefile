# Two commands to start: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
NEURAL := $(VENV)/.neural
WORKERS ?= 2
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCKED := $(PIP) --require-hashes --no-deps --requirement
.PHONY: demo test quick test-long attack fuzz test-lowest test-latest lock sbom audit check format clean

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

# Hostile files, requests, kills and signals, by the ten thousand; `python -m attack` below tests/ has options.
attack: $(NEURAL)
	cd tests && ../$(BIN)/python -m attack

# Fuzzing that follows what the code covers, from the corpus that is kept in tests/attack/corpus.
RUNS ?= 1000000
fuzz: $(NEURAL)
	$(PIP) --constraint constraints.txt atheris
	cd tests && for target in data_reader model_loader request_decoder; do \
		../$(BIN)/python -m attack.fuzz $$target $(RUNS) || exit 1; done

# All tests with the oldest versions that pyproject.toml allows, and with the newest there are.
test-lowest test-latest: test-%:
	$(PYTHON) -m venv .venv-$*
	$(PYTHON) deploy/versions.py $* > .venv-$*/versions.txt
	.venv-$*/bin/python -m pip install --quiet --constraint .venv-$*/versions.txt --editable ".[test,serve,client,cluster,browser,neural]"
	.venv-$*/bin/python -m pytest -n $(WORKERS) --dist worksteal -p no:cacheprovider --ignore=tests/studio
	.venv-$*/bin/python -m pytest -p no:cacheprovider tests/studio

check: $(NEURAL)
	$(BIN)/ruff check src tests examples benchmarks deploy
	$(BIN)/ruff format --check src tests examples deploy
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix src tests examples deploy
	$(BIN)/ruff format src tests examples deploy

# Every file that is installed has the hash it is known by.
$(READY): pyproject.toml locked.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "corml needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) locked.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# PyTorch is large: the demo does without it. It has a build for each kind of machine, so that its version is pinned alone.
$(NEURAL): $(READY) locked-tests.txt constraints.txt
	$(LOCKED) locked-tests.txt
	$(PIP) --constraint constraints.txt torch
	@touch $@

# After a change of constraints.txt or of what pyproject.toml asks for; needs uv.
lock:
	$(PYTHON) deploy/lock.py

# What corml is made of, and under which licences: deploy/sbom.json and docs/licences.md. After `make lock`.
sbom: $(NEURAL)
	$(BIN)/python deploy/sbom.py

# What is known of the pinned versions; says «skipped» where nobody can be asked.
audit:
	$(PYTHON) deploy/audit.py

clean:
	rm -rf $(VENV) .venv-lowest .venv-latest build dist .pytest_cache .mypy_cache .ruff_cache .coverage corml-demo
