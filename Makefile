# Two commands for a newcomer: `make figures` and `make test`. Both set everything up first.
PYTHON ?= python3
PY := .venv/bin/python
# The CPU build of torch without CUDA packages: make test TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
JOBS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count())')

# Data sets that lie beside the repository are used without the internet (fedlib.downloads); any folder can be named.
export FEDLIB_DATA ?= $(abspath $(wildcard ../shared/data))

.DEFAULT_GOAL := help
.PHONY: help setup figures paper test lab bench report format facts hooks clean

help:  ## show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/ready  ## create .venv with the pinned requirements

.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python >= 3.11 is needed, $$($(PYTHON) --version) found; try make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(PY) -m pip install -q $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "$$(grep '^torch==' requirements.lock)"
	$(PY) -m pip install -q -r requirements.lock
	$(PY) -m pip install -q --no-deps -e .
	@touch $@

figures: setup  ## run every notebook in the quick profile and write the figures
	$(PY) -m fedlib run --profile quick --jobs $(JOBS)

paper: setup  ## run every notebook in the paper profile (hours; see README)
	$(PY) -m fedlib run --profile paper --jobs 1

report: setup  ## print the table paper | ours | verdict of the paper profile
	$(PY) -m fedlib report --profile paper

test: setup  ## unit, property and equivalence tests, then every notebook through nbval
	OMP_NUM_THREADS=1 $(PY) -m pytest -q -n $(JOBS) --dist loadscope tests
	OMP_NUM_THREADS=1 $(PY) -m pytest -q -n $(JOBS) --dist loadscope --nbval-lax --nbval-current-env notebooks

lab: setup  ## open JupyterLab on the notebooks
	.venv/bin/jupyter lab --notebook-dir=. notebooks

bench: setup  ## measure the engine against a plain PyTorch loop (JSON)
	$(PY) -m fedlib bench

format: setup  ## ruff and nbstripout, as pre-commit does
	.venv/bin/ruff check --fix . && .venv/bin/ruff format .
	.venv/bin/nbstripout --keep-count notebooks/*.ipynb

facts: setup  ## run the notebooks in place and store the outputs that nbval compares
	OMP_NUM_THREADS=1 .venv/bin/jupyter nbconvert --execute --inplace --log-level=WARN notebooks/*.ipynb
	.venv/bin/nbstripout --keep-count notebooks/*.ipynb

hooks: setup  ## install the pre-commit hooks
	.venv/bin/pre-commit install

clean:  ## remove the environment and all figures but the paper profile's
	rm -rf .venv figures/quick
