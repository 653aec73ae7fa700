# Rung: `make up` runs the whole product, `make test` every test. `make help` lists the rest.
PYTHON ?= python3
PORT ?= 8000
export PORT

.DEFAULT_GOAL := help
.PHONY: help up test check bench fuzz looks lock format translations clean

bin := .venv/bin/python
pip := $(bin) -m pip --quiet --disable-pip-version-check install --no-deps --require-hashes --requirement
# what needs settings but no servers
offline := SECRET_KEY=not-a-secret DATABASE_URL=postgresql://nobody@127.0.0.1:9/none VALKEY_URL=valkey://127.0.0.1:9/0

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

up: ## Start everything on one port (PORT=8000, RUNG_HOME=.rung); Ctrl-C stops it
	@$(PYTHON) config/embedded/preflight.py
	@export RUNG_STARTED_AT=$$(date +%s) && $(MAKE) --silent --no-print-directory .venv/installed && exec $(bin) -m config.embedded

test: .venv/installed-dev ## Run every test on real servers, from nothing
	$(bin) -m pytest --numprocesses auto --dist loadgroup $(ARGS)

check: .venv/installed-dev ## Tests, linters, types, import contracts, migrations
	$(bin) -m ruff check .
	$(bin) -m ruff format --check .
	find templates -name '*.html' -print0 | xargs -0 .venv/bin/djade --target-version 5.2 --check
	$(offline) $(bin) -m mypy
	$(bin) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"
	$(offline) $(bin) manage.py makemigrations --check --dry-run
	$(MAKE) test

bench: .venv/installed-dev ## Measure; the last line of output is one JSON object
	$(bin) -m bench $(ARGS)

fuzz: .venv/installed-dev ## Send CASES=1000000 odd requests to every route and the admin; SEED=7 repeats them
	$(bin) -m tests.fuzz --cases $(or $(CASES),1000000) $(if $(SEED),--seed $(SEED)) $(ARGS)

looks: .venv/installed-dev ## Take the pictures of the README; every page: ARGS="--all FOLDER"
	$(bin) -m tests.pages.looks $(ARGS)

format: .venv/installed-dev ## Format Python and templates
	$(bin) -m ruff check --fix .
	$(bin) -m ruff format .
	find templates -name '*.html' -print0 | xargs -0 .venv/bin/djade --target-version 5.2

translations: .venv/installed-dev ## Gather what pages say (needs GNU gettext; without: only compile)
	$(offline) $(bin) manage.py translations

lock: ## Pin every dependency again, with hashes (needs uv)
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --custom-compile-command "make lock" pyproject.toml -o requirements.lock
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --extra dev \
	  --custom-compile-command "make lock" -c requirements.lock pyproject.toml -o requirements-dev.lock

clean: ## Remove the virtual environment and caches; data in .rung stays
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/made:
	@echo "Making the virtual environment …"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/installed: .venv/made requirements.lock
	@echo "Installing (half a minute the first time) …"
	@$(pip) requirements.lock
	@touch $@

.venv/installed-dev: .venv/installed requirements-dev.lock
	@echo "Installing what tests need …"
	@$(pip) requirements-dev.lock
	@touch $@
