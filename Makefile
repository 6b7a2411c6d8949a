# Every target makes what it needs; nothing but Debian's make and Python >= 3.11 is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# PyTorch trains the learned metric and does nothing else, so it stays out of the environment for everything else.
LEARNED := .venv-learned
LEARNED_READY := $(LEARNED)/.ready
# Ray is 700 MB that only labelling on a cluster uses.
RAY := .venv-ray
RAY_READY := $(RAY)/.ready
# Peers pin versions that exclude ours.
PEERS := .venv-peers
PEERS_READY := $(PEERS)/.ready

.PHONY: setup check test test-slow test-data test-learned test-ray fuzz demo bench bench-peers clean

setup: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "likewise needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11 setup")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(READY)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY)
	$(BIN)/pytest -m 'not data and not slow and not torch and not ray'

test-slow: $(READY)
	$(BIN)/pytest -m 'slow and not data and not torch and not ray'

# The checks that need rollouts and labels which do not travel with the repository.
test-data: $(READY)
	$(BIN)/pytest -m 'data and not torch and not ray'

# 10,000 broken log files: no traceback, none over 10 s, memory below 1 GB. LIKEWISE_DATA adds real files to start from.
fuzz: $(READY)
	$(BIN)/python benchmarks/fuzz_formats.py

$(LEARNED_READY): pyproject.toml
	$(PYTHON) -m venv $(LEARNED)
	$(LEARNED)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(LEARNED)/bin/python -m pip install --quiet --editable . --group learned
	touch $(LEARNED_READY)

# Training of the learned metric: the tests that need PyTorch.
test-learned: $(LEARNED_READY)
	$(LEARNED)/bin/pytest -m 'torch and not slow' tests/learned tests/evaluation/test_fit.py tests/cli/test_fit.py

$(RAY_READY): pyproject.toml
	$(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(RAY)/bin/python -m pip install --quiet --editable . --group ray
	touch $(RAY_READY)

# Labelling on a cluster: the tests that need Ray, which they start on this machine. Minutes.
test-ray: $(RAY_READY)
	$(RAY)/bin/pytest -m ray tests/backends/test_ray_judge.py tests/e2e/test_label_process.py

demo: $(READY)
	mkdir -p demo
	$(BIN)/likewise report examples/rollouts/airline.json --html demo/report.html --json demo/report.json

bench: $(READY)
	$(BIN)/python benchmarks/label_throughput.py
	$(BIN)/python benchmarks/report_time.py
	$(BIN)/python benchmarks/interval_coverage.py
	$(BIN)/python benchmarks/label_stream.py
	$(BIN)/python benchmarks/settle_by_classes.py

$(PEERS_READY): benchmarks/peers-requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(PEERS)/bin/python -m pip install --quiet --requirement benchmarks/peers-requirements.txt
	$(PEERS)/bin/python -m pip install --quiet --no-deps --editable .
	touch $(PEERS_READY)

# Rows and seconds against uqlm and others on the same weights: make bench-peers MODEL=folder of a cross-encoder
bench-peers: $(PEERS_READY)
	$(PEERS)/bin/python benchmarks/judge_peers.py --model $(MODEL)

clean:
	rm -rf $(VENV) $(LEARNED) $(RAY) $(PEERS) build dist demo .mypy_cache .ruff_cache .pytest_cache
