# make help lists the targets. Everything that is built goes to bin/ and, for
# the init that is embedded in crun, to run/inside/binary/bin/.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
PREFIX  ?= $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)
NAME    ?= crun
DESTDIR ?=

export CRUN_CACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/crun-dev
export CGO_ENABLED ?= 0
export GO

INIT_DIR   := run/inside/binary/bin
INIT_FILES := $(INIT_DIR)/crun-init-amd64 $(INIT_DIR)/crun-init-arm64
INIT_SRC   := $(shell find cmd/crun-init run/inside run/plan -name '*.go' ! -name '*_test.go') go.mod
LDFLAGS    := -s -w -X crun.dev/crun/cmd/internal/cli.version=$(VERSION)

.PHONY: help build go-there init setup test unit e2e lint fmt demo bench fuzz faults test-engines test-vm test-heavy test-large verify docs install uninstall clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: init ## build bin/crun
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/crun ./cmd/crun

go-there:
	@command -v $(GO) >/dev/null || { echo "there is no $(GO) on the PATH: crun needs Go 1.26.3 or later" >&2; exit 1; }
	@$(GO) list -m >/dev/null || { echo "$$($(GO) version) is too old: crun needs Go 1.26.3 or later" >&2; exit 1; }

init: go-there $(INIT_FILES) ## build crun-init, PID 1 in the container, for both architectures

$(INIT_DIR)/crun-init-%: $(INIT_SRC)
	CGO_ENABLED=0 GOOS=linux GOARCH=$* $(GO) build -trimpath -ldflags '-s -w' -o $@.tmp ./cmd/crun-init
	mv $@.tmp $@

# One after another, under make -j too: they share the engine, and the tests of
# unit that need one are skipped where setup has not been.
.NOTPARALLEL:

test: lint setup unit e2e ## vet, formatting, unit tests with -race, end-to-end scripts

setup: build ## make sure of an engine, a base image and a conda channel
	@e2e/setup/all.sh >/dev/null

unit: build ## unit tests with the race detector, and some seconds of fuzzing
	@e2e/setup/compiler.sh
	@CGO_ENABLED=1 e2e/setup/go-test.sh "unit tests" -race $$($(GO) list ./... | grep -v '/e2e$$')
	@e2e/setup/fuzz.sh 6 FuzzParse

e2e: build ## end-to-end scripts against a real engine
	@config=$$(e2e/setup/all.sh) && CRUN_CONFIG=$$config CRUN_BINARY=$(CURDIR)/bin/crun e2e/setup/run-scripts.sh

lint: init ## gofmt, vet, staticcheck, go mod tidy, generated docs, shell scripts
	@bad=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$bad" ] || { echo "not formatted (make fmt): $$bad" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) mod tidy -diff
	@e2e/setup/generated.sh
	@for script in .ci/run $$(git ls-files '*.sh'); do bash -n "$$script"; done

fmt: ## format the Go files
	gofmt -w $$(git ls-files '*.go')

demo: build ## build the example's image and train in it, from nothing
	@e2e/setup/demo.sh

bench: build ## measure crun against plain docker, in pairs
	@config=$$(e2e/setup/all.sh) && CRUN_CONFIG=$$config e2e/setup/bench.sh

faults: build ## 51 real deaths and 16 runs that only look like it, with PyTorch: what crun why says of each
	@config=$$(e2e/setup/all.sh) && CRUN_CONFIG=$$config e2e/setup/faults.sh

fuzz: ## a minute of made-up input for each fuzz test of the parser
	@e2e/setup/fuzz.sh 60

test-large: build ## a real CUDA build of torch, 3.7 GB of wheels, through lock, build, check and a training; needs 40 GB of disk
	@config=$$(e2e/setup/all.sh) && CRUN_CONFIG=$$config e2e/setup/bench.sh -large

test-engines: build ## the scripts against Docker 26, 28 (both image stores), Podman, and rootless ones, as root
	@config=$$(e2e/setup/all.sh) && CRUN_CONFIG=$$config CRUN_BINARY=$(CURDIR)/bin/crun e2e/setup/test-engines.sh

test-vm: build ## runs in a machine with systemd and cgroup v2 (QEMU): a login that ends, a reboot; as root
	@e2e/setup/all.sh >/dev/null && e2e/setup/test-vm.sh

test-heavy: build ## 100 runs at once, and a run that writes 2 GiB
	@config=$$(e2e/setup/all.sh) && CRUN_CONFIG=$$config CRUN_BINARY=$(CURDIR)/bin/crun e2e/setup/test-heavy.sh

verify: test demo fuzz faults bench test-engines test-vm test-heavy test-large ## everything, the slow suites too

docs: init ## write the man pages, the reference and the shell completions
	$(GO) run ./cmd/internal/gendocs -out docs

install: build ## install to PREFIX (/usr/local for root, ~/.local otherwise)
	@e2e/setup/install.sh install "$(DESTDIR)$(PREFIX)" "$(NAME)"

uninstall: ## remove what install put there
	@e2e/setup/install.sh uninstall "$(DESTDIR)$(PREFIX)" "$(NAME)"

clean: ## remove what was built; the cache folder stays
	rm -rf bin dist $(INIT_DIR)/crun-init-*
