.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Without byte code every start of Python costs three to five times as much.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONHOME
unexport PYTHONPATH
unexport VIRTUAL_ENV

UV_VERSION := 0.13.9
# Asked for from outside the checkout: here, .python-version makes a version manager without that version refuse.
export HOST_PYTHON := $(shell cd / && python3 -c 'import sys; print(sys.executable)')
export UV := $(or $(shell command -v uv),$(CURDIR)/.uv/bin/uv)
export UV_PYTHON_DOWNLOADS := never

MEMBERS := $(wildcard packages/*/pyproject.toml) examples/pyproject.toml
VENV := .venv/.complete
MINISTACK := .venv-ministack/.complete

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

.PHONY: demo
demo: $(VENV) $(MINISTACK) ## the refund agent, end to end, on an AWS of this machine's own
	@.venv/bin/python -m refund_agent.scenarios $(ARGS)

.PHONY: inbox
inbox: $(VENV) $(MINISTACK) ## the page on which people answer, with five questions from the refund agent
	@.venv/bin/python -m inbox $(ARGS)

.PHONY: screenshots
screenshots: $(VENV) $(MINISTACK) ## take the pictures of docs/inbox.md anew
	@tools/install-services
	@.venv/bin/python -m inbox.screenshots

.PHONY: test
test: $(VENV) $(MINISTACK) ## every test, on the Python of .python-version (ARGS="-k name" narrows)
	.venv/bin/pytest $(ARGS)

.PHONY: test-services
test-services: $(VENV) $(MINISTACK) ## the tests that install more than Python packages (ARGS="-k name" narrows)
	tools/install-services
	.venv/bin/pytest -m services $(ARGS)

.PHONY: faults
faults: N ?= 2000
faults: $(VENV) ## random schedules of crashes, failures and redeliveries (N=2000 SEED=1)
	@PYTHONPATH=tests .venv/bin/python -m faults --schedules $(N) $(if $(SEED),--seed $(SEED))

.PHONY: test-matrix
test-matrix: $(VENV) $(MINISTACK) ## the packages' tests on every other Python from 3.11 to 3.14 that is installed
	tools/test-matrix $(ARGS)

.PHONY: check
check: $(VENV) ## formatting, lint, types, who imports whom
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/pyright
	.venv/bin/lint-imports

.PHONY: format
format: $(VENV) ## rewrite the sources as `check` wants them, as far as that goes by itself
	.venv/bin/ruff check --fix-only .
	.venv/bin/ruff format .

.PHONY: bench
bench: $(VENV) $(MINISTACK) ## what the core and publishing cost, each beside the plain way (ARGS="--questions 20 --runs 1" takes seconds)
	.venv/bin/python benchmarks/core.py
	.venv/bin/python benchmarks/publish.py $(ARGS)

.PHONY: bench-lambda
bench-lambda: $(VENV) $(MINISTACK) ## what the refund agent costs under Lambda (ARGS="--runs 1" is quicker)
	.venv/bin/python benchmarks/lambda.py $(ARGS)

.PHONY: wheels
wheels: $(VENV) ## build the distributions into dist/
	tools/build-wheels dist

.PHONY: check-wheels
check-wheels: $(VENV) ## build the wheels, install them into empty environments, use them there
	tools/check-wheels

.PHONY: lambda
lambda: $(VENV) ## the refund agent's Lambda asset, into build/lambda (ARGS="--architecture arm64 --python 3.13")
	@.venv/bin/python tools/lambda_asset.py $(ARGS)

.PHONY: lock
lock: $(UV) ## resolve anew, as of the date in pyproject.toml, and write the locks
	tools/lock

.PHONY: check-lock
check-lock: $(UV) ## the committed locks are what a fresh resolution gives (asks the package index)
	tools/lock --check

.PHONY: clean
clean: ## remove everything that make has made
	rm -rf .venv .venv-* .uv .cache build dist .coverage htmlcov .pytest_cache .ruff_cache .import_linter_cache

.PHONY: venv
venv: $(VENV) $(MINISTACK) ## only the environments the others run in

$(VENV): requirements.lock $(MEMBERS) tools/venv | $(UV)
	@tools/venv .venv requirements.lock
	@touch $@

# Its dependencies are pinned apart from ours, so it gets an environment of its own.
$(MINISTACK): tools/ministack.lock tools/venv | $(UV)
	@tools/venv .venv-ministack tools/ministack.lock
	@touch $@

$(CURDIR)/.uv/bin/uv:
	@echo "uv is not on the path: installing $(UV_VERSION) into .uv"
	@$(HOST_PYTHON) -m venv .uv
	@.uv/bin/python -m pip install --quiet --quiet --disable-pip-version-check uv==$(UV_VERSION)
