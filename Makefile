# One virtual environment, made on first use and renewed when pyproject.toml changes.
VENV ?= .venv
PYTHON ?=
BIN := $(VENV)/bin
ENGINES_VENV ?= $(VENV)-engines
# numba-cuda takes the place of numba.cuda wherever it is installed, so that it has an environment of its own.
CUDA_VENV ?= $(VENV)-cuda
PYTEST := $(BIN)/python -m pytest -q
# Some environments forbid bytecode. Tests start hundreds of processes, each of which would compile all of the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo check test test-engines recovery test-all bench bench-ops bench-zoo bench-bound bench-training bench-datasets bench-cluster bench-links bench-replicas bench-collectives bench-devices bench-gpu bench-simulate bench-simulate-published \
	installed cuda-check emulated-gpu-check gpu-check docs faults soak models lint format dist clean

help:
	@echo "make demo      train a classifier of handwritten digits on a cluster of processes"
	@echo "make check     lint, types, layers and one test in twelve: an answer in three minutes"
	@echo "make test      all that CI runs: lint, types, layers, tests"
	@echo "make test-engines  run clusters on a real Ray, Slurm and sshd, which it installs if it can (ENGINES=strict: or fails)"
	@echo "make recovery  measure how long a training stands still when a process or a host is lost, and write docs/engines.md"
	@echo "make test-all  the same, with every generated case and the slow tests"
	@echo "make bench     measure against TensorFlow, PyTorch and JAX (installs them under .bench/)"
	@echo "make bench-ops  measure the ops that programs call most, one by one, against TensorFlow"
	@echo "make bench-zoo  train the models of tests/zoo against TensorFlow and PyTorch: the first steps, and the later ones"
	@echo "make bench-bound  measure how near steps are to what BLAS and memcpy would take"
	@echo "make bench-training  measure input pipelines, checkpoints and hooks against TensorFlow"
	@echo "make bench-datasets  measure input pipelines as programs write them, against TensorFlow 1.15"
	@echo "make cuda-check  run the CUDA kernels in Numba's simulator and on emulated GPUs, and assemble them for two chips"
	@echo "make emulated-gpu-check  run them, with every dtype, on emulated GPUs that do things late, early, and by chance"
	@echo "make gpu-check  on a machine with a GPU: its tests there, the soak, and the kernels under compute-sanitizer"
	@echo "make bench-gpu  measure on this machine's GPU, against PyTorch and JAX where they are installed"
	@echo "make docs      make the site of guides and reference in build/website/"
	@echo "make faults    kill and stop the processes of clusters at every moment, and write docs/faults.md"
	@echo "make soak      train for ten minutes while a random task is killed every ten seconds"
	@echo "make bench-cluster  measure clusters over loopback against TensorFlow"
	@echo "make bench-links  measure a link between two network namespaces against TensorFlow and raw TCP; needs root"
	@echo "make bench-replicas  measure whole programs of replicas, with an empty and a warm kernel cache, against TensorFlow"
	@echo "make bench-devices  measure a mirrored step on two CPU devices against one device"
	@echo "make bench-collectives  measure allreduce between processes against PyTorch's gloo"
	@echo "make bench-simulate  compare simulated clusters with real ones on this machine, and write benchmarks/simulate.md"
	@echo "make bench-simulate-published  simulate clusters whose figures were published"
	@echo "make models    run models drawn by chance for an hour, then look for faults that are planted into the compiler"
	@echo "make dist      build what is published, in dist/; GRAPHFLOW_ADDRESS=https://host/owner/graphflow says where the project is"
	@echo "make installed  build the sdist and the wheel, and install it as a user does, beside .venv"
	@echo "make lint      lint, format check, types and layers alone"

demo: $(VENV)/.demo
	$(BIN)/graphflow launch --ps 1 --workers 2 --local-devices 2 examples/digits/cluster.py $(DEMO_ARGS)

# One process more than cores: tests of clusters wait most of their time.
TEST_PROCESSES ?= 3
test: lint
	$(PYTEST) -n $(TEST_PROCESSES) --dist worksteal $(TEST_ARGS)

check: lint
	$(PYTEST) --one-in 12 -n $(PROCESSES) --dist worksteal $(TEST_ARGS)

# Ray, Slurm and hosts with sshd begin processes of their own for minutes, and are no part of make test. One that is not
# to be had here is said, and its tests are skipped; with ENGINES=strict that is an error. So is Kubernetes, whose
# programs are in the folder KUBERNETES_PROGRAMS, where tests/engines/install_kubernetes.sh puts them.
ENGINES ?= here
test-engines: $(VENV)/.dev
	@$(MAKE) --no-print-directory $(ENGINES_VENV)/.engines || echo "Ray cannot be installed here." >&2
	@tests/engines/install.sh
	@test -f $(ENGINES_VENV)/.engines && found=$(ENGINES_VENV) || found=$(VENV); \
	ENGINES=$(ENGINES) $$found/bin/python -m pytest -q -rs -n 2 --dist loadfile tests/engines $(TEST_ARGS)

recovery: $(ENGINES_VENV)/.engines
	$(ENGINES_VENV)/bin/python -m tests.engines.recovery

test-all: lint
	$(PYTEST) --everything $(TEST_ARGS)

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/compare.py $(BENCH_ARGS)

bench-ops: $(VENV)/.dev
	$(BIN)/python benchmarks/ops.py $(BENCH_ARGS)

bench-zoo: $(VENV)/.dev
	$(BIN)/python benchmarks/zoo.py $(BENCH_ARGS)

bench-bound: $(VENV)/.dev
	$(BIN)/python benchmarks/zoo_bound.py $(BENCH_ARGS)

bench-training: $(VENV)/.dev
	$(BIN)/python benchmarks/training.py $(BENCH_ARGS)

# The peer's interpreter; by default that of the environment that make bench made.
TENSORFLOW ?= .bench/tf115/bin/python
bench-datasets: $(VENV)/.dev
	$(BIN)/python benchmarks/datasets.py $(TENSORFLOW)=tensorflow $(BIN)/python=graphflow $(BENCH_ARGS)

# Two GPUs that are emulated, of the compute capability whose assembly newer chips take as well.
PROCESSES ?= 2
# Their driver and kernels are C; a machine without a compiler gets that of the package ziglang.
C_COMPILER := $(shell command -v $${CC:-cc} || echo "$(abspath $(CUDA_VENV))/bin/python -m ziglang cc")
GPU_TESTS := tests/codegen/gpu tests/compiler/gpu tests/runtime/gpu
EMULATED := CC="$(C_COMPILER)" EMULATED_GPUS=2 EMULATED_GPU_CAPABILITY=8.0 $(CUDA_VENV)/bin/python -m pytest -q -n $(PROCESSES) \
	--dist worksteal -p tests.emulated_gpu.plugin $(GPU_TESTS)
SOAK := tests/runtime/gpu/test_soak.py
LIBRARIES := $(abspath $(CUDA_VENV))/libraries
ASSEMBLE := $(CUDA_VENV)/bin/python -m tests.codegen.gpu.assemble_kernels $(LIBRARIES) $(CUDA_VENV)/good.json

# The simulator must be on before Numba is imported, so it has a process of its own. On the emulated GPUs the compiler
# makes of each kernel what it makes where a GPU is there, which is then assembled for two generations of chips. A kernel
# takes seconds to compile there: half of the tests, and the simulator all of them.
cuda-check: $(VENV)/.dev $(CUDA_VENV)/.cuda
	NUMBA_ENABLE_CUDASIM=1 $(PYTEST) -n $(PROCESSES) --dist worksteal $(GPU_TESTS)
	CC="$(C_COMPILER)" $(CUDA_VENV)/bin/python -m pytest -q tests/emulated_gpu
	rm -f $(LIBRARIES)
	EMULATED_GPU=late EMULATED_GPU_RECORD=$(LIBRARIES) $(EMULATED) --few-dtypes --one-in 2 --ignore $(SOAK)
	$(ASSEMBLE)

# With all dtypes of each op, which cuda-check leaves to the simulator, since each is a kernel to compile.
emulated-gpu-check: $(CUDA_VENV)/.cuda
	CC="$(C_COMPILER)" $(CUDA_VENV)/bin/python -m pytest -q tests/emulated_gpu
	rm -f $(LIBRARIES)
	EMULATED_GPU=late EMULATED_GPU_RECORD=$(LIBRARIES) $(EMULATED)
	$(ASSEMBLE)
	EMULATED_GPU=early $(EMULATED) --ignore $(SOAK)
	EMULATED_GPU=7 $(EMULATED) --ignore $(SOAK)

# On a machine with a GPU: all kernels and plans against the CPU's, the soak of 10,000 steps, then the kernels once
# more under the sanitizer of the CUDA toolkit; what the driver is asked is none of its business, since Python asks for
# functions that a driver may not have.
SANITIZER ?= compute-sanitizer
gpu-check: $(VENV)/.dev $(VENV)/.gpu
	$(BIN)/graphflow devices
	$(PYTEST) $(GPU_TESTS)
	@command -v $(SANITIZER) >/dev/null || { echo "$(SANITIZER) was not found. It comes with the CUDA toolkit; \
	name it: make gpu-check SANITIZER=/usr/local/cuda/bin/compute-sanitizer" >&2; exit 1; }
	$(SANITIZER) --error-exitcode 1 --report-api-errors no $(PYTEST) tests/codegen/gpu tests/compiler/gpu

bench-gpu: $(VENV)/.gpu
	$(BIN)/python benchmarks/gpu.py $(BENCH_ARGS)

# Strictly: a link or a cross-reference that leads nowhere is an error. What a coming version of MkDocs will not do is
# none of the site's business.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build -f website/mkdocs.yml

faults: $(VENV)/.dev
	$(BIN)/python -m tests.cluster.faults.table

soak: $(VENV)/.dev
	$(BIN)/python -m tests.cluster.faults.soak $(SOAK_ARGS)

models: $(VENV)/.dev
	$(BIN)/python -m tests.generated_models --seconds 3600 $(MODELS_ARGS)
	$(BIN)/python -m tests.generated_models.mutations

bench-cluster: $(VENV)/.dev
	$(BIN)/python benchmarks/cluster.py $(BENCH_ARGS)

bench-links: $(VENV)/.dev
	$(BIN)/python benchmarks/links.py $(BENCH_ARGS)

bench-replicas: $(VENV)/.dev
	$(BIN)/python benchmarks/replicas.py $(BENCH_ARGS)

bench-devices: $(VENV)/.dev
	$(BIN)/python benchmarks/devices.py $(BENCH_ARGS)

bench-collectives: $(VENV)/.dev
	$(BIN)/python benchmarks/collectives.py $(BENCH_ARGS)

bench-simulate: $(VENV)/.dev
	$(BIN)/python benchmarks/simulate.py --write benchmarks/simulate.md $(BENCH_ARGS)

bench-simulate-published: $(VENV)/.dev
	$(BIN)/python benchmarks/simulate_published.py

# What CONTRIBUTING.md says how to publish.
dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

# What a user has: an environment with the wheel alone, built of the sdist, and what its extras bring.
INSTALLED := $(VENV)-installed
installed: $(VENV)/.dev
	rm -rf $(INSTALLED)
	$(BIN)/python -m build --no-isolation --outdir $(INSTALLED)/dist . >/dev/null
	$(BIN)/python -m venv $(INSTALLED)
	$(INSTALLED)/bin/python -m pip install -q --disable-pip-version-check \
		"$$(echo $(INSTALLED)/dist/*.whl)[demo,image,onnx,remote,tensorboard]"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict graphflow
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(CUDA_VENV) $(INSTALLED) $(ENGINES_VENV) .bench .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@set -e; \
	for candidate in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3; do \
	    if $$candidate -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2])' 2>/dev/null; then \
	        echo "making $(VENV) with $$($$candidate --version)"; \
	        $$candidate -m venv $(VENV) || { \
	            rm -rf $(VENV); \
	            echo "$$candidate cannot make a virtual environment: install its venv module" >&2; \
	            echo "(Debian and Ubuntu: apt install python3-venv), then run make again." >&2; exit 1; }; \
	        exit 0; \
	    fi; \
	done; \
	echo "graphflow needs Python 3.11 or newer, and none was found." >&2; \
	echo "Install one, or name it: make PYTHON=/path/to/python3.11 ..." >&2; exit 1

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[demo]'
	@touch $@

$(CUDA_VENV)/.cuda: pyproject.toml | $(BIN)/python
	$(BIN)/python -m venv $(CUDA_VENV)
	$(CUDA_VENV)/bin/python -m pip install -q --disable-pip-version-check -e '.[ci-cuda]' \
		$(if $(findstring ziglang,$(C_COMPILER)),ziglang)
	@touch $@

# It has what the other environment has, and Ray.
PACKAGES := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
RAY := -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["ray"])'
$(ENGINES_VENV)/.engines: pyproject.toml $(VENV)/.dev
	$(BIN)/python -m venv $(ENGINES_VENV)
	@echo "import site; site.addsitedir('$$($(BIN)/python $(PACKAGES))')" \
		> "$$($(ENGINES_VENV)/bin/python $(PACKAGES))/dev.pth"
	$(ENGINES_VENV)/bin/python -m pip install -q --disable-pip-version-check "$$($(BIN)/python $(RAY))"
	@touch $@

$(VENV)/.gpu: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[cuda13-blas]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[docs]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.demo
