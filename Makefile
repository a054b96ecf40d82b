# Two commands for a newcomer: `make figures` and `make test`. Both set everything up first.
PYTHON ?= python3
PY := .venv/bin/python
PIP := $(PY) -I -m pip install
UV := .venv/bin/uv pip install --compile-bytecode --python $(PY)
# A build of torch of your own choice: make setup TORCH_INDEX=https://download.pytorch.org/whl/cu126
TORCH_INDEX ?=
INDEX = $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
TORCH = $$(grep '^torch==' requirements.lock)
OTHERS = --no-deps -r .venv/others.lock  # all of requirements.lock but torch, whose build depends on the machine
JOBS ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count())')
NOTEBOOKS := $(wildcard notebooks/*.ipynb notebooks/*/*.ipynb)

# Data sets that lie beside the repository are used without the internet (fedlib.downloads); any folder can be named.
export FEDLIB_DATA ?= $(abspath $(wildcard ../shared/data))

# pip cannot install "for the user" into an environment, as it is told to on shared machines.
export PIP_USER = 0

# Kernels import this folder's fedlib, in a copied project or a worktree, too, whose environment leads to the first one.
lab test stages draws solutions facts: export PYTHONPATH := $(CURDIR)$(if $(PYTHONPATH),:$(PYTHONPATH))

# What kernels of a batch run have (kernel_environment in fedlib/notebook/batch.py): memory kept for reuse, one thread each.
lab test stages test-cpus draws solutions facts latency: export MALLOC_MMAP_THRESHOLD_ = 4000000000
lab test stages test-cpus draws solutions facts latency: export MALLOC_TRIM_THRESHOLD_ = 4000000000
lab test stages draws solutions facts latency: export OMP_NUM_THREADS = 1

# What XLA compiles is kept from process to process, with the environment, for each kind of CPU by itself.
CPU := $(shell { uname -m; grep -m1 -E "^(flags|Features)" /proc/cpuinfo; } 2>/dev/null | cksum | cut -d' ' -f1)
export JAX_COMPILATION_CACHE_DIR ?= $(CURDIR)/.venv/xla/$(CPU)
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS ?= 0
export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES ?= 0
export JAX_COMPILATION_CACHE_MAX_SIZE ?= 500000000

.DEFAULT_GOAL := help
.PHONY: help setup figures paper missing train again replay test test-all stages test-cpus faults mutants draws solutions lab site bench latency engines report dist bare format facts hooks clean \
  test-bench test-flare test-dask

help:  ## show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/ready  ## create .venv with the pinned requirements

# uv resolves and installs in seconds, and compiles once what each kernel would compile anew where Python may not write
# bytecode. It takes torch's CUDA build where it finds an NVIDIA GPU, else the small CPU build, both from PyTorch's own
# index; where that cannot be reached, pip takes torch from what it knows: it reads the mirrors and folders of wheels of
# pip's configuration, which uv does not, and falls back to PyPI (on Linux the CUDA build).
.venv/ready: requirements.lock pyproject.toml
	@[ ! -L .venv ] || { echo ".venv leads to $$(readlink .venv): run make setup there, or remove the link" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "Python 3.11 to 3.13 is needed, $$($(PYTHON) --version) found; try make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Setting up .venv: some minutes, about 2.5 GB (more with CUDA); what it prints is in .venv.log"
	@began=$$(date +%s); \
	( set -x; $(PYTHON) -m venv $(if $(wildcard $@),,--clear) .venv && rm -f $@ && \
	  { $(PIP) uv==0.13.9 || echo "uv cannot be had: pip does its work, more slowly"; } && \
	  grep -v '^torch==' requirements.lock >.venv/others.lock && \
	  { $(UV) $(OTHERS) || $(PIP) $(OTHERS); } && \
	  { $(UV) $(or $(INDEX),--torch-backend=auto) $(TORCH) || $(PIP) $(INDEX) $(TORCH); } && \
	  { $(UV) --no-deps -e . || $(PIP) --no-deps -e .; } ) >.venv.log 2>&1 || { cat .venv.log >&2; exit 1; }; \
	echo "Done in $$(( ($$(date +%s) - began + 59) / 60 )) min, $$(du -sh .venv | cut -f1)"
	@touch $@

figures: setup  ## draw every notebook from stored trainings, begin one of each again, train a row; ends with figures/index.html
	@$(PY) -m fedlib run --jobs $(JOBS) && $(PY) -m fedlib again 05 --only poisson

paper: setup  ## train what is missing at the papers' settings (hours), and draw
	$(PY) -m fedlib train all && $(PY) -m fedlib run --jobs $(JOBS)

again: setup  ## whole rows from nothing, the cheapest of each training first, beside what is stored (MINUTES=30)
	$(PY) -m fedlib again --minutes $(or $(MINUTES),30)

missing: setup  ## what is not trained yet, with core-hours, the cheapest first
	$(PY) -m fedlib missing

train: setup  ## train what is missing (NOTEBOOK=05_pinn_forward HOURS=2)
	$(PY) -m fedlib train $(NOTEBOOK) $(if $(HOURS),--hours $(HOURS))

replay: setup  ## train the first rounds of every stored training again, and compare
	FEDLIB_REPLAY=all $(PY) -m pytest -q tests/trainings/test_replay.py

report: setup  ## print the table paper | ours | verdict 
	$(PY) -m fedlib report

NBVAL := -m pytest -q -n $(JOBS) --dist loadscope --nbval-lax --nbval-current-env

# GO_ON=1: the notebooks' kernels go on, with other parameters and with a wrong library (tests/going_on.py).
test: setup  ## laws, oracles, golden values, then every notebook through nbval
	@failed=; \
	$(PY) -m pytest -q -n $(JOBS) --dist loadgroup --stage first tests || failed=" tests"; \
	$(PY) $(NBVAL) $(if $(GO_ON),--go-on) notebooks/*.ipynb || failed="$$failed notebooks"; \
	[ -z "$$failed" ] || { echo "failed:$$failed; see above" >&2; exit 1; }

test-all: setup  ## the same, with kernels that go on, and all stages: what seldom finds what make test does not
	@$(MAKE) --no-print-directory test GO_ON=1 || failed=1; $(MAKE) --no-print-directory stages && [ -z "$$failed" ]

stages: setup  ## stages of test-all (tests/stages.py), those that end within MINUTES
	$(PY) -m tests.stages $(if $(MINUTES),--minutes $(MINUTES)) $(STAGES)

test-cpus: setup  ## what computes, with the kernels that other CPUs would take: what moved, and by how much
	$(PY) -m tools.cpus $(if $(SETTING),"$(SETTING)")

faults: setup  ## kills, damaged files, bad input: what comes of each
	$(PY) -m pytest -q -n $(JOBS) --dist loadgroup -m fault tests

mutants: setup  ## break the library on purpose, some 2500 times, and list what no test saw (an hour)
	$(PIP) -q mutmut==3.8.1
	OMP_NUM_THREADS=1 .venv/bin/mutmut run --max-children $(JOBS)
	.venv/bin/mutmut results

draws: setup  ## every notebook with all draws of parameters in tests/draws (make test-all runs one of each)
	FEDLIB_DRAWS=1000 $(PY) $(NBVAL) --go-on notebooks/*.ipynb

solutions: setup  ## the solutions of the exercises through nbval
	$(PY) $(NBVAL) notebooks/solutions

# JupyterLab does not start for root, whom one is in a container, unless it is told to.
lab: setup  ## open JupyterLab on the notebooks (FLAGS="--no-browser --port 9000")
	.venv/bin/jupyter lab --ServerApp.root_dir=. --LabApp.app_settings_dir=docs/lab --LabApp.default_url=/lab/tree/notebooks/00_start.ipynb $(if $(filter 0,$(shell id -u)),--allow-root) $(FLAGS)

site: .venv/site/ready  ## build the site that moves without a kernel in _site, offline; runs no notebook
	.venv/site/bin/python -m fedlib.pages.build _site

# Each of these tools has an environment of its own, for some want older packages; all else they see is the project's.
# Where its packages cannot be had, a tool says so, and its tests skip.
TOOLS := site bench flare dask
$(TOOLS:%=.venv/%/ready): .venv/%/ready: .venv/ready pyproject.toml
	$(PY) -m venv --clear .venv/$*
	$(PY) -c 'import site; print(site.getsitepackages()[0])' > $$(.venv/$*/bin/python -c 'import site; print(site.getsitepackages()[0])')/project.pth
	.venv/$*/bin/python -m pip install -q -e '.[$*]' && touch $@ || echo "$*: some packages cannot be had and are left out"

bench: .venv/bench/ready  ## time the engine side by side with what else one would take, and draw the figure
	.venv/bench/bin/python -m benchmarks

latency: setup  ## measure in a real browser how long a reader waits, and write docs/latency.md (a quiet machine)
	$(PY) -m tools.latency.latency

engines: test-bench test-flare test-dask  ## sites on NVIDIA FLARE, a batch on dask, other engines

# Tests that need a tool, in its environment; ONLY, an expression of pytest's -k, chooses among those of FLARE.
TESTS_bench := tests/benchmarks/test_ways.py tests/models/test_jets.py -k "jax or deepxde"
TESTS_flare = tests/machines/test_flare.py tests/machines/test_flare_machines.py tests/machines/test_story.py $(if $(ONLY),-k "$(ONLY)")
TESTS_dask := tests/notebook/test_cluster.py
test-bench test-flare test-dask: test-%: .venv/%/ready
	.venv/$*/bin/python -m pytest -q $(TESTS_$*)

# uv build makes the wheel from the sdist, so that both are whole.
dist: setup  ## wheel, sources, the stored trainings and their checksums, in dist/
	rm -rf dist && .venv/bin/uv build -q -o dist . && $(PY) -m tools.archive dist

bare: dist  ## tests of the wheel in an environment of its own (PYTHON=python3.13 RESOLUTION=lowest-direct)
	$(PYTHON) -m venv --clear .venv/bare
	.venv/bin/uv pip install --python .venv/bare/bin/python --resolution $(or $(RESOLUTION),highest) dist/*.whl
	BARE=$(CURDIR)/.venv/bare/bin/python $(PY) -m pytest -q tests/test_wheel.py

STRIP := .venv/bin/nbstripout --keep-count --keep-id $(NOTEBOOKS)

format: setup  ## ruff and nbstripout, as pre-commit does; widths of the notebooks' stored pictures
	.venv/bin/ruff check --fix . && .venv/bin/ruff format .
	$(PY) -m tools.picture_widths $(NOTEBOOKS)
	$(STRIP)

facts: setup  ## run the notebooks in place and store the outputs that nbval compares
	.venv/bin/jupyter nbconvert --execute --inplace --log-level=WARN $(NOTEBOOKS)
	.venv/bin/jupyter nbconvert --coalesce-streams --inplace --log-level=WARN $(NOTEBOOKS)
	$(STRIP)

hooks: setup  ## install the pre-commit hooks
	.venv/bin/pre-commit install

clean:  ## remove the environment, the site, dist and all figures but the committed ones
	rm -rf .venv .venv.log _site dist figures/*/changed figures/federate figures/index.html
