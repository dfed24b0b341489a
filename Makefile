# Two commands to start: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
NEURAL := $(VENV)/.neural
KERNELS := $(VENV)/.kernels
WORKERS ?= 2
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Installs the packages that some extras need, every file checked against its hash: $(call locked,corml|serve)
locked = grep -E 'hash=.* \# (.* )?($(1))( |$$)' requirements.lock | \
	$(PIP) --require-hashes --no-deps --requirement /dev/stdin
.PHONY: demo test quick test-long journeys attack fuzz test-lowest test-latest lock sbom audit check format release clean

demo: $(READY)
	$(BIN)/corml demo

# Python keeps what it compiled, or every program and worker of the tests would compile corml again.
unexport PYTHONDONTWRITEBYTECODE

# Checks and tests, in two processes. Then the studio in a real browser, whose driver keeps an event loop of its own and so
# stays away from the other tests.
test: check $(KERNELS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report= --ignore=tests/studio
	$(BIN)/python -m pytest tests/studio --cov --cov-append --cov-report=term --cov-fail-under=95

# What a change breaks first, in under a minute: everything but training, documents and whole programs.
quick: $(KERNELS)
	$(BIN)/ruff check src tests examples benchmarks deploy
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m "not thorough"

test-long: $(NEURAL)
	$(BIN)/python -m pytest --long

# The journeys with the wheel, in an environment that has what a user installs, pytest and pandas, and no source.
JOURNEYS := .venv-journeys
journeys: $(NEURAL)
	rm -rf $(JOURNEYS)
	$(PYTHON) -m venv $(JOURNEYS)
	$(BIN)/python -m hatchling build --target wheel --directory $(JOURNEYS)/wheel
	grep -v '^#' requirements.lock | cut -d' ' -f1 > $(JOURNEYS)/constraints.txt
	$(JOURNEYS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(JOURNEYS)/constraints.txt \
		"$$(ls $(JOURNEYS)/wheel/*.whl)[serve,client,tune,cluster,duckdb]" pandas pyarrow pytest
	CORML_PROGRAM=$(CURDIR)/$(JOURNEYS)/bin/corml $(JOURNEYS)/bin/python -m pytest --confcutdir=tests/journeys -p no:cacheprovider tests/journeys

# Hostile files, requests, kills and signals, by the ten thousand; `python -m attack` below tests/ has options.
attack: $(NEURAL)
	cd tests && ../$(BIN)/python -m attack

# Fuzzing that follows what the code covers, from the corpus that is kept in tests/attack/corpus.
RUNS ?= 1000000
fuzz: $(NEURAL)
	$(call locked,fuzz)
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

format: $(NEURAL)
	$(BIN)/ruff check --fix src tests examples deploy
	$(BIN)/ruff format src tests examples deploy

# What users install, except PyTorch and Dask.
$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "corml needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(call locked,corml|serve|client|tune|excel|duckdb|build)
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

# And what the tests need. PyTorch has a build for each kind of machine, so it has a version but no hashes.
$(NEURAL): $(READY)
	$(call locked,test|cluster|browser|neural)
	$(PIP) $$(grep -o '^torch==[^ ]*' requirements.lock)
	@touch $@

# Compiled before the tests start, or each of their processes would compile them.
$(KERNELS): $(NEURAL) $(shell grep -rl "@njit" --include=*.py src/corml)
	$(BIN)/python deploy/compile_kernels.py
	@touch $@

# After a change of dependencies in pyproject.toml; needs uv. To move versions: make lock UPGRADE="--upgrade-package numpy"
lock:
	$(PYTHON) deploy/lock.py $(UPGRADE)

# The bill of materials and the licences: deploy/sbom.json and docs/licences.md. After `make lock`.
sbom: $(NEURAL)
	$(BIN)/python deploy/sbom.py

# Known vulnerabilities of the locked versions; prints "skipped" without a connection.
audit:
	$(PYTHON) deploy/audit.py

# The files of a release, in dist/, from a clean checkout of its tag; equal checkouts give equal files.
release: $(READY)
	@test "$$(git describe --tags --exact-match)" = "v$$($(BIN)/python -m hatchling version)" || \
		{ echo "Check out the tag of this version first: see Releases in CONTRIBUTING.md."; exit 1; }
	@test -z "$$(git status --porcelain)" || { echo "There are uncommitted changes: commit them first."; exit 1; }
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build
	cd dist && sha256sum *.whl *.tar.gz > SHA256SUMS

clean:
	rm -rf $(VENV) .venv-lowest .venv-latest .venv-journeys build dist .pytest_cache .mypy_cache .ruff_cache .coverage corml-demo
