# The verbs of this house. CI runs the same ones (.ci/run), and `make` alone lists them.
# Every verb that needs a tool sets it up first; a second time that costs a fraction of a second.

SHELL := /bin/bash
PY := .venv/bin/python
SETUP := scripts/setup.sh

# The container verbs keep the names that contract `code` gives them (section 12).
CONTAINER ?= $(shell command -v podman 2>/dev/null || command -v docker 2>/dev/null || command -v buildah 2>/dev/null)
SANDBOX_IMAGE_REPO ?= drydock-sandbox
IMAGE_TAG ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo dev)
BUILD_FLAGS ?=
# A folder to push to (oci:DIR) is no name for an image.
FOLDER := $(filter oci:% dir:% oci-archive:% docker-archive:%,$(SANDBOX_IMAGE_REPO))
IMAGE := $(if $(FOLDER),drydock-sandbox,$(SANDBOX_IMAGE_REPO)):$(IMAGE_TAG)
# podman's own default format has no place for a health check.
export BUILDAH_FORMAT ?= docker

ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup run test test-long check build bench docs format lock image sandbox-build sandbox-push test-sandbox \
	setup-test setup-image container

help: ## List these verbs.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what the server needs: .venv, locked packages, bubblewrap. Again and again without harm.
	@$(SETUP) run

setup-test:
	@$(SETUP) test

setup-image:
	@$(SETUP) image

run: setup ## Start the server on 127.0.0.1:8080. ARGS="--port 9000" passes flags on.
	@exec .venv/bin/drydock serve $(ARGS)

test: setup-test ## Every test but the long ones, with every real part. ARGS="tests/cli -k exec" narrows.
	@$(PY) -m scripts.run_tests short $(ARGS)

test-long: setup-image ## The slow proofs: many kills, 10,000 executions, knock-outs, a newcomer's clone.
	@$(PY) -m scripts.run_tests long $(ARGS)

check: setup-test ## Format, lint, types, import layers, docs and the rules of this repository.
	@$(PY) -m scripts.check

build: setup-test ## Build the wheel into dist/.
	@.venv/bin/uv build --quiet --wheel --no-build-isolation --python $(PY) --out-dir dist .
	@ls -1 dist/*.whl

bench: setup-test ## Measure every figure and note it in bench/results.md.
	@$(PY) -m bench

docs: setup-test ## Write the generated pages of docs/reference and deploy/seccomp.json again.
	@$(PY) -m scripts.reference
	@$(PY) -m scripts.outer_filter

format: setup-test ## Let ruff lay out and mend what it can.
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

lock: setup-test ## Resolve the pinned packages again from pyproject.toml.
	@scripts/lock.sh

image: sandbox-build ## The same as sandbox-build.

sandbox-build: container ## Build the image. CONTAINER, SANDBOX_IMAGE_REPO, IMAGE_TAG, BUILD_FLAGS="--build-arg BASE=...".
	@$(CONTAINER) build $(BUILD_FLAGS) -t $(IMAGE) -f Containerfile.sandbox .

sandbox-push: sandbox-build ## Push that image to where SANDBOX_IMAGE_REPO says.
	@$(CONTAINER) push $(IMAGE) $(if $(FOLDER),$(FOLDER):$(IMAGE_TAG))

test-sandbox: setup-image ## Contract `code` against a really started server, then against the image in a container.
	@$(PY) -m scripts.run_tests short tests/contracts tests/attacks tests/dialects tests/e2e $(ARGS)
	@$(PY) -m scripts.run_tests long tests/image $(ARGS)

# Says in one line what an image needs before anything is tried, since the engine's own words do not.
container:
	@test -n "$(CONTAINER)" || { echo "make: an image needs podman, docker or buildah: apt-get install podman" >&2; exit 1; }
	@$(CONTAINER) info >/dev/null 2>&1 || { echo "make: $(CONTAINER) is installed but its engine does not answer: start it, or set CONTAINER to another" >&2; exit 1; }
