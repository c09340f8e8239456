# Needs git, make and Python 3.11 or newer, nothing else. Everything it makes lies in this folder.

# The first Python on the path that is new enough and can make virtual environments; or name one: make PYTHON=...
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
BIN := .venv/bin
# Written when the installation is complete, so one that was cut off is made again.
INSTALLED := .venv/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-cache-dir -qq

.DEFAULT_GOAL := help
.PHONY: help run test soak bench bench-relevance lock clean

help: ## Tell what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(firstword $(MAKEFILE_LIST))

run: $(INSTALLED) ## Start everything on this host, refresh, search; ONCE=1 ends after the search
	@$(BIN)/python -m deployments.local

test: $(INSTALLED) ## Check style and types, run the tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && trap 'exit 130' INT TERM && \
	TMPDIR="$$folder" $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --basetemp="$$folder/pytest" $(ARGS)

soak: $(INSTALLED) ## What the tests do a few times, over and over; takes some minutes
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && trap 'exit 130' INT TERM && \
	TMPDIR="$$folder" $(BIN)/python -m pytest -m soak --basetemp="$$folder/pytest" $(ARGS)

bench: $(INSTALLED) ## Measure what it costs against bare baselines; ARGS="first search" for some of it
	@$(BIN)/python -m tests.bench $(ARGS)

bench-relevance: $(INSTALLED) ## Measure how good answers are; REPOS="/clones/requests /clones/click" for their questions
	@$(BIN)/python -m tests.bench.relevance --json .huginn/relevance.json --repos $(REPOS) $(ARGS)

lock: ## Pin all dependencies anew, with hashes and without addresses
	@test -x .venv/lock/bin/uv || { $(PYTHON) -m venv .venv/lock && .venv/lock/bin/python -m pip --quiet install uv; }
	.venv/lock/bin/uv pip compile --upgrade --universal --python-version 3.11 --all-extras --generate-hashes \
		--no-header --no-annotate --quiet pyproject.toml --output-file requirements.lock

clean: ## Remove everything that was made here: installation, index, caches
	rm -rf .venv .huginn .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The lock is given as constraints too: a pip before 23.3 (Python 3.11's own) otherwise looks past a pin where a package
# is asked for with extras, finds a newer release without a hash, and refuses.
$(INSTALLED): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "This needs Python 3.11 or newer with its venv module. Is it in another place? make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is not Python 3.11 or newer." >&2; exit 1; }
	@echo "  installing into .venv, which takes a minute or two"
	@$(PYTHON) -m venv --clear .venv
	@$(PIP) install --require-hashes -r requirements.lock -c requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $(INSTALLED)
