# Every target makes what it needs; nothing but Debian's make and Python >= 3.11 is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# PyTorch trains the learned metric and agents and does nothing else, so it stays out of the environment for the rest.
TORCH := .venv-torch
TORCH_READY := $(TORCH)/.ready
# Ray is 700 MB that only labelling on a cluster uses.
RAY := .venv-ray
RAY_READY := $(RAY)/.ready
# Agent frameworks; CrewAI pins pydantic and more below what the others need.
FRAMEWORKS := .venv-integrations
FRAMEWORKS_READY := $(FRAMEWORKS)/.ready
CREWAI := .venv-crewai
CREWAI_READY := $(CREWAI)/.ready
# Clients that know nothing of us, for the tests of the service: half a gigabyte that nothing else uses.
CLIENTS := .venv-clients
CLIENTS_READY := $(CLIENTS)/.ready
# The documentation site, and what looks at a release; neither is needed to work on the code.
DOCS := .venv-docs
DOCS_READY := $(DOCS)/.ready
RELEASE := .venv-release
RELEASE_READY := $(RELEASE)/.ready
# Peers pin versions that exclude ours.
PEERS := .venv-peers
PEERS_READY := $(PEERS)/.ready
# What fits the judge's head and measures it.
JUDGE := .venv-judge
JUDGE_READY := $(JUDGE)/.ready
SILVER = --silver $(LABELS)/silver/action_pairs_train.jsonl --variants $(LABELS)/silver/action_variants_train.jsonl
WITNESSES = --gold $(LABELS)/gold/action_pairs_dev.jsonl --made build/judge/made.jsonl --cache build/judge/witnesses.jsonl

.PHONY: setup check test docs test-docs wheel wheel-check transcript licences sbom audit figures coverage mutation test-slow test-data test-learned test-train test-ray test-integrations test-crewai test-service fuzz demo bench bench-peers bench-train judge-accuracy clean

setup: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "likewise needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11 setup")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[serve,postgres]' --group dev
	touch $(READY)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pip check
	$(BIN)/python tools/release/offline_audit.py

test: $(READY)
	$(BIN)/pytest --numprocesses logical --dist loadfile -m 'not data and not slow and not torch and not ray and not service and not integrations'

test-slow: $(READY)
	$(BIN)/pytest -m 'slow and not data and not torch and not ray and not service and not integrations'

# The checks that need rollouts and labels which do not travel with the repository.
test-data: $(READY)
	$(BIN)/pytest -m 'data and not torch and not ray and not service and not integrations'

# The service against a real PostgreSQL, a real browser and the official clients, which it installs (Debian) and starts.
test-service: $(READY) $(CLIENTS_READY)
	PYTEST=$(BIN)/pytest tools/service_tests.sh

$(CLIENTS_READY): pyproject.toml
	$(PYTHON) -m venv $(CLIENTS)
	$(CLIENTS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(CLIENTS)/bin/python -m pip install --quiet --group clients
	touch $(CLIENTS_READY)

# 10,000 broken log files: no traceback, none over 10 s, memory below 1 GB. LIKEWISE_DATA adds real files to start from.
fuzz: $(READY)
	$(BIN)/python benchmarks/fuzz_formats.py

# PyTorch first and pinned: its plain name brings gigabytes for graphics cards.
$(TORCH_READY): pyproject.toml
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(TORCH)/bin/python -m pip install --quiet torch==2.13.0
	$(TORCH)/bin/python -m pip install --quiet --editable . --group torch
	touch $(TORCH_READY)

# Training of the learned metric: the tests that need PyTorch.
test-learned: $(TORCH_READY)
	$(TORCH)/bin/pytest -m 'torch and not slow' tests/learned tests/evaluation/test_fit.py tests/cli/test_fit.py tests/docs/test_mico_single_file.py

# Training of agents: rewards, trainers and the smallest pipeline, on PyTorch and TRL.
test-train: $(TORCH_READY)
	$(TORCH)/bin/pytest -m 'torch and not slow' tests/training tests/cli/test_train.py

$(RAY_READY): pyproject.toml
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(RAY)/bin/python -m pip install --quiet --editable . --group ray
	touch $(RAY_READY)

# Labelling on a cluster: the tests that need Ray, which they start on this machine. Minutes.
test-ray: $(RAY_READY)
	$(RAY)/bin/pytest -m ray tests/backends/test_ray_judge.py tests/e2e/test_label_process.py

$(FRAMEWORKS_READY): pyproject.toml
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(FRAMEWORKS)/bin/python -m pip install --quiet --editable '.[openai-agents,langchain,pydantic-ai,ag2,autogen]' --group integrations
	touch $(FRAMEWORKS_READY)

# Agents of frameworks behind the layer: OpenAI Agents SDK, LangChain and LangGraph, pydantic-ai, AG2, AutoGen.
test-integrations: $(FRAMEWORKS_READY)
	$(FRAMEWORKS)/bin/pytest -m integrations tests/reliability/integrations tests/learned/test_callbacks_in_frameworks.py --ignore tests/reliability/integrations/test_crewai.py

$(CREWAI_READY): pyproject.toml
	$(PYTHON) -m venv $(CREWAI)
	$(CREWAI)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(CREWAI)/bin/python -m pip install --quiet --editable '.[crewai]' --group crewai
	touch $(CREWAI_READY)

# CrewAI: 130 packages, so not a part of .ci/run.
test-crewai: $(CREWAI_READY)
	$(CREWAI)/bin/pytest -m integrations tests/reliability/integrations/test_crewai.py

$(DOCS_READY): pyproject.toml
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(DOCS)/bin/python -m pip install --quiet --editable . --group docs
	touch $(DOCS_READY)

# The site in build/site: offline, any warning is an error (a broken link, a page that is in no menu).
docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/python -m mkdocs build --strict

# Every code block of the README and docs/, and what the site is made of.
test-docs: $(READY)
	$(BIN)/pytest -m 'not torch' tests/docs

$(RELEASE_READY): pyproject.toml
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(RELEASE)/bin/python -m pip install --quiet --group release
	touch $(RELEASE_READY)

wheel: $(RELEASE_READY)
	rm -rf dist
	$(RELEASE)/bin/python -m build --outdir dist .

# The wheel in an empty environment, away from the repository; EXTRAS='llm serve' tries these alone, too.
wheel-check: wheel
	PIP_CONSTRAINT=$(CURDIR)/tools/release/constraints.txt $(RELEASE)/bin/python tools/release/wheel_check.py dist/likewise-*.whl --out benchmarks/results/wheel.json $(if $(EXTRAS),--extras $(EXTRAS))

# The README from top to bottom in an empty environment, with the time of each step: docs/first_ten_minutes.md. Minutes.
transcript: $(READY) wheel
	PIP_CONSTRAINT=$(CURDIR)/tools/release/constraints.txt $(BIN)/python tools/release/readme_transcript.py dist/likewise-*.whl --extras llm serve learned train

# docs/licences.md, from what is installed here.
licences: $(READY)
	$(BIN)/python tools/release/licences.py

# What an installation of the base and of the service holds, in CycloneDX, for scanners: dist/sbom.json.
sbom: wheel
	tools/release/sbom.sh $(RELEASE) dist

# Known weaknesses of the same installation. Asks the advisory service; without it this fails and says so. What can be known
# without asking is part of `check`.
audit: wheel
	tools/release/audit.sh $(RELEASE) dist

figures: $(READY)
	$(BIN)/python tools/house_figures.py --types

# Share of lines that the fast tests reach, floor by floor.
coverage: $(READY)
	$(BIN)/python tools/coverage_by_floor.py --out benchmarks/results/coverage.json

# Changes metrics and asks whether a test notices: make mutation MODULES='pass_k entropy' SHARE=0.1 for a tenth of the changes.
mutation: $(READY)
	$(BIN)/python tools/mutation.py $(MODULES) $(if $(SHARE),--share $(SHARE))

demo: $(READY)
	mkdir -p demo
	$(BIN)/likewise report examples/rollouts/airline.json --html demo/report.html --json demo/report.json

bench: $(READY)
	$(BIN)/python benchmarks/label_throughput.py
	$(BIN)/python benchmarks/report_time.py
	$(BIN)/python benchmarks/interval_coverage.py
	$(BIN)/python benchmarks/label_stream.py
	$(BIN)/python benchmarks/settle_by_classes.py
	$(BIN)/python benchmarks/proxy_load.py

$(PEERS_READY): benchmarks/peers-requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(PEERS)/bin/python -m pip install --quiet torch==2.13.0
	$(PEERS)/bin/python -m pip install --quiet --requirement benchmarks/peers-requirements.txt
	$(PEERS)/bin/python -m pip install --quiet --no-deps --editable .
	touch $(PEERS_READY)

# Rows and seconds against uqlm and others on the same weights: make bench-peers MODEL=folder of a cross-encoder
bench-peers: $(PEERS_READY)
	$(PEERS)/bin/python benchmarks/judge_peers.py --model $(MODEL)

$(JUDGE_READY): pyproject.toml
	$(PYTHON) -m venv $(JUDGE)
	$(JUDGE)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(JUDGE)/bin/python -m pip install --quiet --editable . --group judge
	touch $(JUDGE_READY)

# The embedded judge on labelled actions, held out: make judge-accuracy LABELS=folder that holds gold/ and silver/.
# The network is asked once (about 15 minutes on two quiet cores; goes on where it was stopped).
judge-accuracy: $(JUDGE_READY)
	mkdir -p build/judge
	$(JUDGE)/bin/python tools/nli/actions.py $(SILVER) --out build/judge/made.jsonl --seed 7 --most 100
	$(JUDGE)/bin/python tools/nli/witnesses.py $(SILVER) $(WITNESSES)
	$(JUDGE)/bin/python benchmarks/judge_accuracy.py $(SILVER) $(WITNESSES)

# Training with every reward, five seeds: hours on two cores. Goes on where it was stopped.
bench-train: $(TORCH_READY)
	OMP_NUM_THREADS=1 $(TORCH)/bin/python benchmarks/tiny_training.py --seeds 0 1 2 3 4 --folder build/tiny

clean:
	rm -rf $(VENV) $(CLIENTS) $(TORCH) $(RAY) $(FRAMEWORKS) $(CREWAI) $(PEERS) $(JUDGE) $(DOCS) $(RELEASE) build dist demo .mypy_cache .ruff_cache .pytest_cache
