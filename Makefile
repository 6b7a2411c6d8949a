# Every target makes what it needs; nothing but Debian's make and Python >= 3.11 is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup check test test-slow test-data demo bench clean

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
	$(BIN)/pytest -m 'not data and not slow'

test-slow: $(READY)
	$(BIN)/pytest -m 'slow and not data'

# The checks that need rollouts and labels which do not travel with the repository.
test-data: $(READY)
	$(BIN)/pytest -m data

demo: $(READY)
	mkdir -p demo
	$(BIN)/likewise report examples/rollouts/airline.json --html demo/report.html --json demo/report.json

bench: $(READY)
	$(BIN)/python benchmarks/label_throughput.py
	$(BIN)/python benchmarks/report_time.py

clean:
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache
