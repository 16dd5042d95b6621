# `make run` and `make test` need Python 3.11 or newer and make, nothing else. Everything goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.ready-run
DEV_READY := $(VENV)/.ready-dev
CLIENTS_READY := $(VENV)/.ready-clients
# No cache outside this folder: a clone that is deleted leaves nothing behind.
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input -q
export PIP_NO_CACHE_DIR := 1
# Every package from an index has its hash in one of these files, also what builds this one: `make pins` writes them.
PINNED := $(PIP) install --require-hashes
PINS := requirements.txt $(wildcard requirements/*.txt)
CLIENTS := $(wildcard tests/fake_nvml/clients/*.txt)
EDITABLE := $(PIP) install --no-deps --no-build-isolation -e .
# hatch_build.py compiles the fake NVML with the C compiler of the machine, or with zig's.
HAS_COMPILER := $(BIN)/python -c 'import sys, hatch_build; sys.exit(hatch_build.find_compiler() is None)'
# Compiled modules stay in .venv as well. Without them each Python process compiles 500 modules, which takes a second.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache

.PHONY: run test release pins lint docs unit unit-exhaustive nvml-sanitized suite dead-target mutants bench third-party third-party-all third-party-node images images-node images-campaigns verify-kind verify-third-party verify-all interpreters differential explore fuzz stability mutation-survey clean help

help:       ## show these lines
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

# On two cores: about four minutes, and longer with fewer workers, because a part of their time is waiting.
run: $(RUN_READY)       ## judge the reference system on the embedded control plane; report in dra-report/
	@$(BIN)/dra-conformance run -n 4

test: $(DEV_READY) lint unit nvml-sanitized suite dead-target mutants verify-subset       ## everything that must hold before a change lands

lint: $(DEV_READY)       ## style, types, layers, generated pages
	@echo "== lint"
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.log 2>&1 || (cat $(VENV)/imports.log; exit 1)
	@$(BIN)/python -m pytest -q tests/engine/test_documentation.py -k current

# What failed runs once more, alone: a test that waits for another process must not decide on a machine that stalls. Both
# runs are printed. If nothing is on record as failed, the second run has no test and fails (exit code 5).
# A worker waits for a quarter of its time, so two processors have three.
unit unit-exhaustive nvml-sanitized: export PYTEST_XDIST_AUTO_NUM_WORKERS := $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) * 3 // 2)')
tested = $(1) -n auto || { echo "== $@: what failed, once more"; $(1) -n 0 --last-failed --last-failed-no-failures none; }
unit: $(DEV_READY) $(CLIENTS_READY)       ## the tests of the parts, but for those with the marker exhaustive
	@echo "== unit"
	@$(call tested,$(BIN)/python -m pytest -q -m 'not exhaustive' tests)

unit-exhaustive: $(DEV_READY)       ## the tests of the parts that `make unit` leaves out (part of verify-all)
	@echo "== unit-exhaustive"
	@$(call tested,$(BIN)/python -m pytest -q -m exhaustive tests)

nvml-sanitized: $(DEV_READY) $(CLIENTS_READY)       ## the tests of the fake NVML on a build with ASan and UBSan (needs gcc)
	@echo "== nvml-sanitized"
	@$(call tested,$(BIN)/python -m tests.fake_nvml.sanitized)

# The release of --kubernetes-version before the default one, and what it is judged on: what a control plane decides.
PREVIOUS := 1.36
PREVIOUS_PROFILES := api api-enforcement claim-lifecycle scheduler-core device-taints
# Gates that scenarios need and that are off by default, in the default release and in the previous one.
GATES_ON := DRAListTypeAttributes DRAOptionalNodeOperations DRADeviceCompatibilityGroups DRADerivedAttributes \
	DRAFractionalCapacityRange DRANodeAllocatableResources DRAPartitionableDevicesType DRAResourcePoolStatus \
	GenericWorkload DRAWorkloadResourceClaims
PREVIOUS_GATES_ON := DRAListTypeAttributes DRADeviceTaintRules
# Those of which profile gates-off judges what the API server drops, and those that depend on them. The default release
# locks three of them, so the previous one is judged with these off, and without DRAPartitionableDevices, which DRA-410 needs.
GATES_OFF := DRAConsumableCapacity DRADeviceTaints DRADeviceTaintRules DRADeviceBindingConditions \
	DRAResourceClaimGranularStatusAuthorization
PREVIOUS_GATES_OFF := $(GATES_OFF) DRAPartitionableDevices DRAPrioritizedList DRAExtendedResource DRAResourceClaimDeviceStatus
gates = $(addprefix --feature-gates ,$(addsuffix =$(1),$(2)))
# A machine that stalls for seconds can make one of some 3,700 scenarios miss its time limit. The run is then repeated once
# and both are printed: what fails twice is no accident. `make stability` counts what fails once.
SUITE_RUN = $(BIN)/dra-conformance run -n 2 --require conformant --seed 20261123
conformant = $(SUITE_RUN) $(1) || { echo "== suite: once more"; $(SUITE_RUN) $(1); }
suite: $(DEV_READY)       ## the executable specification, against the reference
	@echo "== suite"
	@$(call conformant,)
	@$(BIN)/dra-conformance verify
	@$(call conformant,--watch-lag 0.03 $(call gates,true,$(GATES_ON)) --out dra-report/late)
	@$(BIN)/python -m dra_conformance.rbac dra-report/events.jsonl
	@$(call conformant,--profile fault-sweep --out dra-report/sweep)
	@$(call conformant,--profile faults --profile fault-sweep --scheduler reference:publish=direct \
		--out dra-report/sweep-direct)
	@$(call conformant,--kubernetes-version $(PREVIOUS) $(call gates,true,$(PREVIOUS_GATES_ON)) \
		$(addprefix --profile ,$(PREVIOUS_PROFILES)) --out dra-report/previous)
	@$(call conformant,--profile gates-off $(call gates,false,$(GATES_OFF)) --out dra-report/gates-off)
	@$(call conformant,--profile gates-off --kubernetes-version $(PREVIOUS) \
		$(call gates,false,$(PREVIOUS_GATES_OFF)) --out dra-report/gates-off-previous)
	@$(BIN)/python -m dra_conformance.faults $(addsuffix /events.jsonl,dra-report dra-report/sweep dra-report/sweep-direct)

MUTANTS_SHARD ?= 1/6
MUTANTS_JOBS ?= 3
dead-target: $(DEV_READY)       ## no MUST rule may pass for a component that does nothing
	@echo "== dead-target"
	@$(BIN)/python -m verification.dead_target

mutants: $(DEV_READY)       ## a fixed sixth of the mutants: the scenario of its rule must kill each (MUTANTS_SHARD=1/1: all)
	@echo "== mutants, part $(MUTANTS_SHARD)"
	@$(BIN)/dra-conformance mutants --shard $(MUTANTS_SHARD) --jobs $(MUTANTS_JOBS)

# Names of groups; all of them by default.
GROUP ?=
bench: $(DEV_READY)       ## measure; prints, asserts nothing (GROUP="real scheduler-perf": these groups)
	@$(BIN)/python -m verification.benchmarks $(GROUP)

third-party: $(DEV_READY)       ## build the third-party programs that CI tests against (needs Go)
	@$(BIN)/python -m verification build

third-party-all: $(DEV_READY)       ## build those of verify-all, too
	@$(BIN)/python -m verification build --all

third-party-node: $(DEV_READY)       ## build kind and the programs of its node image
	@$(BIN)/python -m verification build kind kind-node kube-apiserver containerd

images: $(DEV_READY)       ## build/images/components.tar: harness and reference components with the fake NVML (needs mmdebstrap)
	@$(BIN)/python -m deploy.images components

images-node: third-party-node       ## build/images/node.tar: a node image for kind, without a registry (needs Go and mmdebstrap)
	@$(BIN)/python -m deploy.images node

images-campaigns: $(DEV_READY)       ## build/images/campaigns.tar: a checkout for long campaigns in a cluster (after make third-party)
	@$(BIN)/python -m deploy.images campaigns

ENGINE ?=
SUBSET ?=
verify-kind: $(DEV_READY)       ## the suite and the manifests on kind clusters (needs Docker; ENGINE=start starts an installed dockerd)
	@$(BIN)/python -m verification kind $(if $(ENGINE),--start-engine) $(if $(SUBSET),--ci)

verify-third-party: $(DEV_READY)       ## run the suite against the built third-party programs, and all other checks of verification/
	@$(BIN)/python -m verification verify

REQUIRE ?=
interpreters: $(DEV_READY)       ## install and try the wheel on Python 3.11 to 3.14, as far as they are found
	@$(BIN)/python -m verification interpreters $(addprefix --require ,$(REQUIRE))

docs: $(DEV_READY)       ## build the documentation site in build/site (strict, no network)
	@for page in reference catalogue tags events api upstream_tests; do $(BIN)/python -m tools.gen_$$page || exit 1; done
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict -q

verify-subset: $(DEV_READY)
	@echo "== verification against third-party programs: CI's subset"
	@$(BIN)/python -m verification verify --ci

verify-all: third-party-all test unit-exhaustive       ## everything, with all mutants and programs; writes docs/explanation/verification-results.md
	@echo "== verification against third-party programs: everything"
	@$(BIN)/python -m verification verify --write

MINUTES ?= 30
explore: $(DEV_READY)       ## test with fresh seeds for a given time and save what fails: make explore MINUTES=30
	@$(BIN)/python -m verification explore --minutes $(MINUTES)

INPUTS ?= 20000
FUZZ_SEED ?= 1
fuzz: $(DEV_READY)       ## mutated inputs for everything that reads what others wrote: make fuzz INPUTS=60000 FUZZ_SEED=2
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(PINNED) -r requirements/fuzz.txt
	@$(BIN)/python -m verification fuzz --inputs $(INPUTS) --seed $(FUZZ_SEED) $(if $(WRITE),--write)

N ?= 30
LOAD ?= 20
PROGRAM ?=
LAG ?=
stability: $(DEV_READY)       ## run the suite N times on a busy machine: make stability N=30 LOAD=20 WRITE=1
	@$(BIN)/python -m verification.stability --runs $(N) --load $(LOAD) $(if $(PROGRAM),--program $(PROGRAM)) \
		$(if $(LAG),--watch-lag $(LAG)) $(if $(WRITE),--write)

CASES ?= 2000
SEED ?=
BUG_COMPATIBLE ?=
differential: $(DEV_READY)       ## compare the reference with upstream's allocator and CEL: make differential CASES=20000 SEED=1 [KARPENTER=1|KUEUE=1|KUBELET=1]
	@$(BIN)/python -m verification.differential --cases $(CASES) --seed "$(SEED)" $(if $(BUG_COMPATIBLE),--bug-compatible $(BUG_COMPATIBLE)) $(if $(KARPENTER),--karpenter) $(if $(KUEUE),--kueue) $(if $(KUBELET),--kubelet)

SAMPLE ?= 500
COMPONENT ?=
mutation-survey: $(DEV_READY)       ## count the scenarios' kills of faults chosen by a machine: make mutation-survey SAMPLE=500 SEED=1
	@$(BIN)/python -m verification.mutation_survey --sample $(SAMPLE) --seed "$(or $(SEED),1)" \
		$(addprefix --component ,$(COMPONENT))

pins: $(BIN)/python       ## requirements.txt, requirements/ and tests/fake_nvml/clients/ with hashes, from constraints.txt (needs the network)
	@$(PINNED) -r requirements/release.txt
	@$(BIN)/python -m tools.pin_dependencies

# The SBOM describes an environment that holds the wheel and its pinned dependencies, nothing else.
RELEASE_ENV := build/release-env
MACHINES := x86_64 aarch64
release: $(DEV_READY)       ## dist/: wheels for x86_64 and aarch64, source archive, SBOM (CycloneDX) and SHA256SUMS
	@$(PINNED) -r requirements/release.txt
	@rm -rf dist $(RELEASE_ENV)
	@$(BIN)/python -m build --no-isolation --sdist -o dist . > $(VENV)/build.log 2>&1 || (cat $(VENV)/build.log; exit 1)
	@for machine in $(MACHINES); do FAKE_NVML_MACHINE=$$machine \
		$(PIP) wheel --no-deps --no-build-isolation -w dist dist/*.tar.gz || exit 1; done
	@$(BIN)/python -m tools.check_wheels dist/*.whl
	@$(PYTHON) -m venv --without-pip $(RELEASE_ENV)
	@$(BIN)/python -m pip --python $(RELEASE_ENV)/bin/python install -q --disable-pip-version-check --require-hashes \
		-r requirements.txt
	@$(BIN)/python -m pip --python $(RELEASE_ENV)/bin/python install -q --disable-pip-version-check --no-deps \
		dist/*_$$(uname -m).whl
	@cd $(RELEASE_ENV) && env -i PATH=$(CURDIR)/$(RELEASE_ENV)/bin python -m dra_conformance run --focus '^nvml/' --progress none
	@sed "s/^dynamic = .*/version = \"$$($(BIN)/python -c 'import dra_api; print(dra_api.__version__)')\"/" \
		pyproject.toml > $(RELEASE_ENV)/pyproject.toml
	@$(BIN)/cyclonedx-py environment --pyproject $(RELEASE_ENV)/pyproject.toml --mc-type application \
		--output-reproducible -o dist/dra-conformance.cdx.json $(RELEASE_ENV)/bin/python
	@cd dist && sha256sum * > SHA256SUMS && cat SHA256SUMS

clean:       ## remove everything that was made here
	rm -rf $(VENV) dra-report verification/bin build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf fake_nvml/lib

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dra-conformance needs Python 3.11 or newer")'
	@$(PYTHON) -m venv $(VENV)

$(RUN_READY): $(BIN)/python pyproject.toml $(PINS) $(wildcard fake_nvml/src/*.py fake_nvml/src/*/*)
	@echo "== setting up $(VENV)"
	@$(PINNED) -r requirements.txt -r requirements/build.txt
	@$(HAS_COMPILER) || $(PINNED) -r requirements/zig.txt
	@$(EDITABLE)
	@touch $@

$(DEV_READY): $(BIN)/python pyproject.toml $(PINS) $(wildcard fake_nvml/src/*.py fake_nvml/src/*/*)
	@echo "== setting up $(VENV) with the tools of make test"
	@$(PINNED) -r requirements/dev.txt
	@$(HAS_COMPILER) || $(PINNED) -r requirements/zig.txt
	@$(EDITABLE)
	@touch $(RUN_READY) $@

$(CLIENTS_READY): $(BIN)/python $(CLIENTS)
	@echo "== setting up $(VENV)/clients with NVML's users"
	@rm -rf $(VENV)/clients
	@for file in $(CLIENTS); do \
		$(PINNED) --no-deps --target $(VENV)/clients/$$(basename $$file .txt) -r $$file || exit 1; done
	@touch $@
