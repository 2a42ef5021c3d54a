# Sets up `.venv` by itself with the pins of requirements.lock, and needs no network after that.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m uv pip install --quiet --python $(BIN)/python --constraint requirements.lock
# What is imported is compiled once, also where the environment says not to.
unexport PYTHONDONTWRITEBYTECODE
# Workers take files from one another at the end; each has one thread.
PARALLEL := --numprocesses auto --maxprocesses 4 --dist worksteal --durations 30

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s%s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: demo.slice ## Ingest the demo documents into demo.slice and search them
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh demo/searches.sh

.PHONY: test
test: $(VENV)/.dev ## Run the tests but for the release lane, in parallel; ARGS='-k spans' for a part
	$(BIN)/python -m pytest $(PARALLEL) -m "not release" $(ARGS)

.PHONY: test-all
test-all: $(VENV)/.all ## Add torch (7 GB), and run every test, the release lane included
	$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

.PHONY: coverage
coverage: $(VENV)/.all ## Run the test suite, and list the lines that it does not reach; ARGS as for test
	$(BIN)/python -m pytest --cov --cov-report=term-missing $(ARGS)

.PHONY: soak
soak: $(VENV)/.dev ## Damage, kill, fill and load stores and nodes, cut the power, and change the code: eight hours; saves the results
	$(BIN)/python -m tests.soak.damage --out benchmarks/results/soak_damage.json
	$(BIN)/python -m tests.soak.fuzz --out benchmarks/results/soak_fuzz.json
	$(BIN)/python -m tests.soak.kills --out benchmarks/results/soak_kills.json
	$(BIN)/python -m tests.soak.kills_topics --count 1200 --flips 400 --out benchmarks/results/soak_kills_topics.json
	$(BIN)/python -m tests.soak.power_cuts --out benchmarks/results/soak_power_cuts.json
	$(BIN)/python -m tests.soak.kills_opensearch --out benchmarks/results/soak_kills_opensearch.json
	$(BIN)/python -m tests.soak.faults_opensearch --out benchmarks/results/soak_faults_opensearch.json
	$(BIN)/python -m tests.soak.three_nodes --out benchmarks/results/soak_three_nodes.json
	$(BIN)/python -m tests.soak.full_disk --out benchmarks/results/soak_full_disk.json
	$(BIN)/python -m tests.soak.attacks --out benchmarks/results/soak_attacks.json
	$(BIN)/python -m tests.soak.fields --every 8 --out benchmarks/results/soak_fields.json
	$(BIN)/python -m tests.soak.near_counts --passages 300 --out benchmarks/results/soak_near_counts.json
	$(BIN)/python -m tests.soak.near_counts --passages 300 --threshold 0 --out benchmarks/results/soak_near_counts.json
	$(BIN)/python -m tests.soak.stdio --out benchmarks/results/soak_stdio.json
	$(BIN)/python -m tests.soak.loop --out benchmarks/results/soak_loop.json
	$(BIN)/python -m tests.soak.small_machine --out benchmarks/results/soak_small_machine.json
	$(BIN)/python -m tests.soak.sizes --out benchmarks/results/soak_sizes.json
	$(BIN)/python -m tests.soak.readers --out benchmarks/results/soak_readers.json
	$(BIN)/python -m tests.soak.mixed --out benchmarks/results/soak_mixed.json
	$(BIN)/python -m tests.soak.everything --on local --out benchmarks/results/soak_everything.json
	$(BIN)/python -m tests.soak.everything --on opensearch --out benchmarks/results/soak_everything.json
	$(BIN)/python -m tests.soak.mutants --out benchmarks/results/soak_mutants.json

.PHONY: check
check: $(VENV)/.dev ## Check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@if command -v tsc > /dev/null; then tsc -p jsconfig.json; \
	else echo "no tsc (npm install -g typescript): types of the page are not checked"; fi

.PHONY: format
format: $(VENV)/.dev ## Format the code and fix what ruff can fix
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

.PHONY: docs
docs: $(VENV)/.dev demo.slice ## Regenerate what is generated in docs/, and build the site into site/
	$(BIN)/python docs/make_cli.py
	$(BIN)/python docs/make_data.py
	$(BIN)/python docs/make_evaluation.py
	$(BIN)/python benchmarks/sizing.py
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python docs/make_picture.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

.PHONY: build
build: $(VENV)/.base ## Build the wheel and the source archive into dist/
	$(BIN)/hatchling build

.PHONY: release
release: $(VENV)/.all ## Build wheel, source archive, SBOM and checksums into dist/, twice, and compare
	$(BIN)/python scripts/supply.py check
	$(BIN)/python scripts/release.py

.PHONY: plugin
plugin: $(VENV)/.base ## Build and test the plugin of each engine into plugin/target/releases/; needs a JDK and Maven
	@export JAVA_HOME="$$($(BIN)/python -c 'from tests.opensearch.runtime import find_jdk; print(find_jdk())')" && \
	  for engine in opensearch.version=3.5.0 elasticsearch.version=9.5.3; do \
	    mvn --batch-mode --quiet -f plugin/pom.xml -D$$engine package || exit 1; done
	@ls plugin/target/releases/*.zip

.PHONY: lock
lock: $(VENV)/.base ## Update the pins and their hashes to what pyproject.toml allows
	$(BIN)/python scripts/supply.py lock

.PHONY: audit
audit: $(VENV)/.base ## List the pins that are outdated, and those with an advisory
	@$(INSTALL) --group release
	$(BIN)/python scripts/supply.py audit

.PHONY: clean
clean: ## Delete everything that make created
	rm -rf $(VENV) demo.slice dist plugin/target site

# Always runs: unchanged documents are skipped at once. A store belongs to its model.
.PHONY: demo.slice
demo.slice: $(VENV)/.base
	@test -z "$$(find slice_os/models -name model.json -newer $@ 2>/dev/null)" || rm -rf $@
	@echo "slice-os ingest demo/contracts demo/dialogues.jsonl --store demo.slice"
	@$(BIN)/slice-os ingest demo/contracts demo/dialogues.jsonl --store demo.slice

# hatchling and editables are in the environment, so that building needs no network either.
$(VENV)/.base: pyproject.toml requirements.lock
	@test -x $(BIN)/pip || { \
	  $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	    echo "slice-os needs Python 3.10 or newer, and '$(PYTHON)' is older: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
	    exit 1; }; \
	  echo "Setting up $(VENV), once: less than a minute, 325 MB"; \
	  $(PYTHON) -m venv $(VENV) || { \
	    rm -rf $(VENV); \
	    echo "$(PYTHON) cannot create environments: install its venv module (Debian: apt install python3-venv)" >&2; \
	    exit 1; }; }
	@awk '/^uv==/,!/\\$$/' requirements.lock | $(BIN)/python -m pip install --quiet --no-compile --requirement /dev/stdin
	@$(INSTALL) hatchling editables
	@$(INSTALL) --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@echo "Adding to $(VENV) what tests and checks need, but for torch: a minute or two and 1.9 GB the first time"
	@$(INSTALL) --no-build-isolation --editable '.[async,aws,client,documents,elasticsearch,eval,haystack,langchain,llama-index,mcp,pandas,polars,ray,report,serve,spacy,tables,tracing]' --group dev
	@$(BIN)/python -m pytest -qq --collect-only tests/opensearch tests/service > /dev/null & \
	  $(BIN)/python -m pytest -qq --collect-only --ignore tests/opensearch --ignore tests/service > /dev/null; wait # compiles what is imported
	@touch $@

# torch brings CUDA's libraries. Where it is not installed, the tests that need it are skipped.
$(VENV)/.all: $(VENV)/.dev
	@echo "Adding torch to $(VENV): a few minutes and 7 GB the first time"
	@$(INSTALL) --no-build-isolation --editable '.[export,train]' --group torch --group release
	@touch $@
