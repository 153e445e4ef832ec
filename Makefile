# Each target makes .venv by itself and is quick the second time.

PYTHON ?= python3
FUZZ ?= cards
FUZZ_SECONDS ?= 3600
PERSONA ?= sherlock-holmes
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# The packages of a lock, each with a known hash and nothing besides. What is compiled from sources is built
# with the tools of locks/build.txt.
LOCKED := $(PIP) install --require-hashes --no-deps --build-constraint locks/build.txt --requirement
PROJECT := $(PIP) install --quiet --no-deps --build-constraint locks/build.txt --editable .
PYTEST := $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# Of the tests that drive the app, compute with weights or start processes, those that stand for a feature.
FAST := not slow and (core or not (app or model or process))

# The programs of others with which `make test-clients` tries the server.
CLIENTS := sillytavern packages langgraph open-webui
CLIENT_PIP = build/clients/$*/bin/python -m pip --disable-pip-version-check

# llama.cpp's AMX code crashes with quantized weights; compiled without it, llama.cpp may rearrange weights
# and is quicker. In front of what the user set, which wins.
NO_AMX := -mno-amx-tile -mno-amx-int8 -mno-amx-bf16
WITHOUT_AMX := if $${CC:-cc} $(NO_AMX) -x c -c -o /dev/null /dev/null 2>/dev/null; then \
	export CMAKE_ARGS="-DCMAKE_C_FLAGS='$$CFLAGS $(NO_AMX)' -DCMAKE_CXX_FLAGS='$$CXXFLAGS $(NO_AMX)' $$CMAKE_ARGS"; fi;

# torch comes in several builds of one version with different hashes, so the locks leave it out, with what it
# alone needs.
TORCH := torch cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas nvidia-cuda-cupti nvidia-cuda-nvrtc \
	nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile nvidia-curand nvidia-cusolver \
	nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx triton
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-header \
	--no-annotate --no-emit-index-url --no-emit-find-links $(TORCH:%=--no-emit-package %)

.PHONY: help chat test test-app test-model test-process test-all test-room test-bounds test-clients lint docs smoke
.PHONY: bench fuzz fuzz-server screenshot sizes lock sbom audit release-check clean

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

chat: .venv/.base  ## Talk with Sherlock Holmes (PERSONA=… for somebody else)
	@$(BIN)/rolellm doctor --calibrate --if-needed || true
	@$(BIN)/rolellm chat $(PERSONA)

test: .venv/.dev  ## Run the fast tests: every feature, in less than five minutes
	$(PYTEST) -m "$(FAST)"

test-app:  ## Run all tests that drive the terminal app
test-model:  ## Run all tests that compute with real weights
test-process:  ## Run all tests that start or kill processes
test-app test-model test-process: .venv/.dev
	HYPOTHESIS_PROFILE=ci $(PYTEST) -m "$(@:test-%=%)"

test-all: .venv/.dev  ## Run all tests, with as many examples as CI tries
	HYPOTHESIS_PROFILE=ci $(PYTEST) -m "not slow"
	HYPOTHESIS_PROFILE=ci $(PYTEST) -m slow

test-room: .venv/.dev  ## Run the fast tests of one folder: make test-room ROOM=recall
	$(BIN)/python -m pytest -q -m "$(FAST)" tests/$(ROOM)

test-clients: .venv/.dev $(CLIENTS:%=build/clients/.%)  ## Try the server with SillyTavern, Open WebUI, … (3 GB)
	$(BIN)/python -m pytest -q tests/clients

# What cannot be installed here is left out, and its tests are skipped.
build/clients/.sillytavern: tests/clients/pins/sillytavern/package.json
	@mkdir -p build/clients/sillytavern
	@cp $< build/clients/sillytavern/
	@(cd build/clients/sillytavern && npm install --no-audit --no-fund --no-package-lock --loglevel error) \
		&& touch $@ || echo "SillyTavern could not be installed and is left out."

# torch comes first, in the build that .venv has, too; the other packages are all in the list.
build/clients/.open-webui build/clients/.packages build/clients/.langgraph: build/clients/.%: tests/clients/pins/%.txt
	@echo "Installing into build/clients/$*. Open WebUI takes some minutes."
	@($(PYTHON) -m venv build/clients/$* \
		&& (! grep --quiet "^torch==" $< || $(CLIENT_PIP) install --quiet $$(grep "^torch==" $<)) \
		&& $(CLIENT_PIP) install --quiet --no-deps --requirement $<) \
		&& touch $@ || { rm -rf build/clients/$*; echo "$* could not be installed and is left out."; }

test-bounds: .venv/bin/python  ## Run the fast tests of graphs and the server with the lowest versions allowed
	@$(LOCKED) locks/lock.txt --quiet
	@mkdir -p build
	@$(LOCK) --upgrade --resolution lowest-direct pyproject.toml --extra serve --group test-graphs \
		--output-file build/lowest.txt
	@$(PYTHON) -m venv build/bounds
	@build/bounds/bin/python -m pip install --quiet --require-hashes --no-deps --requirement locks/pip.txt
	@$(WITHOUT_AMX) build/bounds/bin/python -m pip install --quiet --require-hashes --no-deps \
		--build-constraint locks/build.txt --requirement build/lowest.txt
	@build/bounds/bin/python -m pip install --quiet --no-deps --build-constraint locks/build.txt --editable .
	build/bounds/bin/python -m pytest -q -m "$(FAST)" tests/graphs

lint: .venv/.dev  ## Check style, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy tests
	$(BIN)/mypy docs/examples
	$(BIN)/lint-imports --no-logo

docs: .venv/.base  ## Build the documentation site into build/site
	@$(LOCKED) locks/docs.txt --quiet
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --config-file docs/site/mkdocs.yml
	@echo "Open build/site/index.html in a browser."

smoke: .venv/.dev  ## Tune the embedded model for a minute, export it, and prove that it computes the same
	@rm -rf .smoke
	ROLELLM_HOME=$(CURDIR)/.smoke/home $(BIN)/rolellm train --recipe smoke --out .smoke/run
	ROLELLM_HOME=$(CURDIR)/.smoke/home $(BIN)/rolellm export .smoke/run --to .smoke/export --name smoke-test

bench: .venv/.base  ## Measure this machine (ten minutes)
	@$(LOCKED) locks/bench.txt --quiet
	$(BIN)/rolellm bench start
	$(BIN)/rolellm bench turn
	$(BIN)/rolellm bench cards
	$(BIN)/rolellm bench chat
	$(BIN)/rolellm bench recall
	$(BIN)/rolellm bench rouge
	$(BIN)/rolellm bench engine

fuzz: .venv/.dev  ## Fuzz readers for FUZZ_SECONDS (an hour): FUZZ=cards, personas, packs, scenes or chats
	@$(LOCKED) locks/fuzz.txt --quiet
	$(BIN)/python tests/fuzz/make_corpus.py $(FUZZ) .fuzz/$(FUZZ)
	$(BIN)/python tests/fuzz/fuzz_$(FUZZ).py -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 \
		-artifact_prefix=.fuzz/ .fuzz/$(FUZZ)

fuzz-server: .venv/.dev  ## Ask a server whatever its OpenAPI description allows and forbids (schemathesis)
	@$(PYTHON) -m venv .fuzz/schemathesis
	@.fuzz/schemathesis/bin/python -m pip install --quiet --require-hashes --no-deps --requirement locks/fuzz-server.txt
	@$(BIN)/rolellm serve --model "scripted:Good day." --port 8765 & server=$$!; \
		.fuzz/schemathesis/bin/schemathesis run http://127.0.0.1:8765/openapi.json --wait-for-schema 60 \
		--max-examples 200 --checks not_a_server_error,response_schema_conformance --exclude-path /metrics; \
		found=$$?; kill $$server; exit $$found

screenshot: .venv/.base  ## Draw the README's picture anew, with the embedded model
	$(BIN)/python docs/screenshot.py

sizes: .venv/.base  ## Draw the main screens at four sizes of the terminal anew, for docs/design/looks.md
	$(BIN)/python docs/sizes.py

lock: .venv/bin/python  ## Write locks/ anew from pyproject.toml and constraints.txt
	@$(LOCKED) locks/lock.txt --quiet
	$(LOCK) --constraint constraints.txt pyproject.toml --output-file locks/base.txt
	$(LOCK) --constraint constraints.txt pyproject.toml --extra hf --extra serve --group test --group lint \
		--output-file locks/dev.txt
	for group in docs bench fuzz lock pip build release; do \
		$(LOCK) --constraint constraints.txt --group $$group --output-file locks/$$group.txt || exit; done
	$(LOCK) --group fuzz-server --output-file locks/fuzz-server.txt

sbom: .venv/.dev .venv/.release  ## Write what .venv holds into build/sbom.json (CycloneDX)
	@mkdir -p build
	.venv/release/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-format JSON \
		--output-file build/sbom.json $(BIN)/python

audit: .venv/.release  ## Look the locked packages up in the advisories, if they can be reached
	@$(PYTHON) .ci/audit.py .venv/release/bin/pip-audit locks/base.txt locks/dev.txt

release-check: .venv/.release  ## Build the release into build/dist, check it, and try it in a fresh environment
	@rm -rf build/dist
	.venv/release/bin/python -m build --outdir build/dist
	.venv/release/bin/twine check --strict build/dist/*
	.venv/release/bin/check-wheel-contents build/dist/*.whl
	@$(WITHOUT_AMX) $(PYTHON) .ci/try_wheel.py build/dist/*.whl

clean:  ## Remove .venv
	rm -rf .venv

.venv/bin/python:
	@echo "Making .venv …"
	@$(PYTHON) -m venv .venv
	@$(PIP) install --quiet --require-hashes --no-deps --requirement locks/pip.txt

.venv/.base: pyproject.toml locks/base.txt | .venv/bin/python
	@echo "Installing into .venv. The first time llama-cpp-python is compiled, which takes about four"
	@echo "minutes on two cores; pip says “still running” meanwhile."
	@$(WITHOUT_AMX) $(LOCKED) locks/base.txt
	@$(PROJECT)
	@touch $@

.venv/.dev: pyproject.toml constraints.txt locks/dev.txt | .venv/bin/python
	@echo "Installing the tests' and checkers' packages too, torch and transformers among them. The first"
	@echo "time llama-cpp-python is compiled, which takes about four minutes; pip says “still running”."
	@$(WITHOUT_AMX) $(LOCKED) locks/dev.txt
	@$(PIP) install --quiet --constraint constraints.txt torch==2.13.0
	@$(PROJECT)
	@touch $@ .venv/.base

.venv/.release: locks/release.txt | .venv/bin/python
	@$(PYTHON) -m venv .venv/release
	@.venv/release/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		--requirement locks/release.txt
	@touch $@
