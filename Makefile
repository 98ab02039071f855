# SPDX-License-Identifier: Apache-2.0
#
# A thin front for people; CMakeLists.txt is the build.

JOBS := -j$(shell nproc 2>/dev/null || echo 1)
PREFIX ?= /usr/local
SECONDS ?= 60
MAKEFLAGS += --no-print-directory

# A first `make` must not ask for what only the tests need; a tree configured by hand keeps its choice.
TESTS_OFF = $(if $(wildcard build/release/CMakeCache.txt),,-DVJP_TESTS=OFF)

# What each target needs, as test=Debian package: scripts/need.sh.
NEED := cc=gcc stdio.h=libc6-dev cmake=cmake
NEED_TESTS := $(NEED) cmocka.h=libcmocka-dev mpfr.h=libmpfr-dev
NEED_CHECKS := clang=clang libomp-dev g++=g++ pkg-config=pkg-config mandoc=mandoc
NEED_FUZZ := clang=clang libclang-rt-dev
NEED_AARCH64 := cmake=cmake aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
	qemu-aarch64=qemu-user

.PHONY: all configure demo check check-exhaustive check-sanitize check-aarch64 fuzz fuzz-coverage \
	numerics numerics-peers bench bench-peers docs install clean help

all: configure ## build the library, examples and tools (default)
	@cmake --build build/release $(JOBS)

configure:
	@cmake --preset release $(TESTS_OFF)

demo: ## install a compiler and CMake if they are missing, build, train a small network
	@scripts/need.sh $(NEED)
	@$(MAKE) configure
	@cmake --build build/release $(JOBS) --target example_train
	@build/release/examples/train

check: ## every test and check; the last line counts them
	@scripts/need.sh $(NEED_TESTS) $(NEED_CHECKS) $(NEED_AARCH64)
	@scripts/check.sh native package aarch64

check-exhaustive: ## measure every operator's error over all its inputs; half an hour on two cores
	@scripts/need.sh $(NEED_TESTS)
	@cmake --preset release -DVJP_TESTS=ON
	@cmake --build build/release $(JOBS) --target exhaustive
	@build/release/tests/exhaustive build/exhaustive.tsv

numerics: ## the tables of docs/numerics.md from build/exhaustive.tsv
	@cp build/exhaustive.tsv docs/numerics/exhaustive.tsv
	@build/release/tests/exhaustive --markdown docs/numerics/exhaustive.tsv | \
		scripts/between.sh docs/numerics.md exhaustive

numerics-peers: all build/peers/complete ## PyTorch's and oneDNN's errors beside ours: the table and plot of docs/numerics.md
	@LD_LIBRARY_PATH=build/peers/lib build/peers/bin/python docs/numerics/peers.py \
		build/release/vjp docs/numerics | scripts/between.sh docs/numerics.md peers

check-sanitize: ## the tests under ASan and UBSan, and under TSan
	@scripts/need.sh $(NEED_TESTS)
	@scripts/check.sh sanitize

fuzz: ## let libFuzzer try every fuzz target, each for SECONDS (60)
	@scripts/need.sh $(NEED_TESTS) $(NEED_FUZZ)
	@cmake --preset fuzz
	@cmake --build build/fuzz $(JOBS) --target fuzzers
	@scripts/fuzz.sh $(SECONDS)

fuzz-coverage: ## which lines and branches the inputs of the fuzz targets reach
	@scripts/need.sh $(NEED_TESTS) $(NEED_FUZZ) llvm-cov=llvm
	@cmake --preset fuzz-coverage
	@cmake --build build/fuzz-coverage $(JOBS) --target fuzzers
	@scripts/fuzz-coverage.sh

check-aarch64: ## the tests for 64-bit Arm, under qemu
	@scripts/need.sh $(NEED_AARCH64)
	@scripts/check.sh aarch64

bench: all ## measure time and bandwidth on this machine
	@build/release/vjp bench

bench-peers: all build/peers/complete ## PyTorch and oneDNN beside vjp on the CPU; ARGS="--threads 2"
	@build/peers/bin/python bench/peers/cpu.py $(ARGS)

# A virtual environment with both: several GB, since PyTorch's package has its CUDA libraries.
build/peers/complete:
	@scripts/need.sh python3=python3 python3-venv
	@python3 -m venv build/peers
	@build/peers/bin/pip install -q numpy torch onednn-cpu-gomp
	@touch $@

docs: all ## write the tables and plots of docs/operators again
	@build/release/tools/opdoc --write docs/operators

install: all ## install into PREFIX (/usr/local)
	@cmake --install build/release --prefix "$(PREFIX)"

clean: ## remove build/
	@rm -rf build

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## /\1\t/p' Makefile | expand -t 18
