# What a newcomer types. Each target first makes sure that .venv is current (scripts/setup).

PYTHON := .venv/bin/python
PYTEST_WORKERS ?= 2
ARGS ?=

.PHONY: help setup run test check conformance bench screenshots
.DEFAULT_GOAL := help

help:  ## Say what each target does
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## Build .venv from the pinned packages; does nothing where it is current
	@scripts/setup

run: setup  ## Start Memford on this machine with embedded stores; ARGS="--port 8001" passes options on
	@.venv/bin/memford up $(ARGS)

test: setup  ## Run the tests on real stores of their own; ARGS="tests/embedded -k secret" narrows them down
	@$(PYTHON) -m pytest -n $(PYTEST_WORKERS) --dist loadfile $(ARGS)

check: setup  ## Lint, format, types, layers, migrations and deployment settings
	@scripts/check

conformance: setup  ## Hold the endpoint against the protocol's official suite
	@$(PYTHON) -m tests.conformance $(ARGS)

bench: setup  ## Measure calls per second and start times; ARGS passes options on
	@$(PYTHON) -m tests.bench $(ARGS)

screenshots: setup  ## Photograph every page in light and dark, to be looked at; needs Chromium
	@$(PYTHON) -m tests.screenshots $(ARGS)
