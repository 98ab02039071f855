#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check.sh SUITE... - run suites of checks and count the results. The suites are the functions below
# whose names start with suite_. The last line printed is "N passed, N failed".
set -eu
cd "$(dirname "$0")/.."

passed=0
failed=0
skipped=0
jobs=$(nproc)
mkdir -p build
log=$PWD/build/check.log
: "${CUDAARCHS:=90-real}" # one generation of GPUs is enough here
export CUDAARCHS

# check NAME COMMAND... - run one check, count it, and show its output if it fails.
check() {
    name=$1
    shift
    printf '%-60s ' "$name"
    if "$@" >"$log" 2>&1; then
        echo ok
        passed=$((passed + 1))
    else
        echo FAILED
        cat "$log"
        failed=$((failed + 1))
        return 1
    fi
}

# skip NAME WHY - count a check that this machine cannot run.
skip() {
    printf '%-60s skipped: %s\n' "$1" "$2"
    skipped=$((skipped + 1))
}

# build DIR OPTION... - configure and build with warnings as errors.
build() {
    dir=build/$1
    shift
    cmake -B "$dir" -DVJP_WERROR=ON "$@" && cmake --build "$dir" "-j$jobs"
}

# tests DIR OPTION... - run ctest and count its tests.
tests() {
    dir=build/$1
    shift
    ctest --test-dir "$dir" "-j$jobs" --timeout 900 --no-tests=error --output-on-failure "$@" 2>&1 |
        tee "$log" || true
    counts=$(sed -n 's/.* \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log")
    # shellcheck disable=SC2086 # two numbers
    set -- ${counts:-1 1}
    missing=$(grep -c '\*\*\*Skipped' "$log" || true)
    skipped=$((skipped + missing))
    failed=$((failed + $1))
    passed=$((passed + $2 - $1 - missing))
}

build_check() {
    build check --preset release -DCMAKE_C_FLAGS="${CFLAGS-} -g"
}

suite_native() {
    # for dnnl_graph_differential, which is skipped without it
    scripts/onednn.sh build/onednn >"$log" 2>&1 || { cat "$log"; echo "no oneDNN to compare with"; }
    check "build (gcc)" build_check && tests check
    check "operators' names" scripts/operator_names.py
    check "exported symbols" scripts/symbols.sh build/check/libvjp.so
    check "binary interfaces" scripts/abi.sh compare build/check
    if [ -e build/check/libvjp_cuda.so ]; then
        check "exported symbols (CUDA)" exports_one build/check/libvjp_cuda.so vjpi_cuda_module
    fi
    check "build (clang)" build clang --preset release -DCMAKE_C_COMPILER=clang -DVJP_TESTS=OFF \
        -DVJP_CUDA=OFF &&
        tests clang -R same_bits
}

# exports_one LIBRARY SYMBOL - the library exports this symbol and no other.
exports_one() {
    nm -D --defined-only "$1"
    [ "$(nm -D --defined-only "$1" | awk '{ print $3 }')" = "$2" ]
}

# The header in every language it supports, and an installed tree, relocated, as users get it.
suite_package() {
    for cc in gcc clang; do
        for std in c11 c17 c++11 c++17 c++20; do
            check "header ($cc, $std)" $cc -x "${std%%[0-9]*}" -std=$std -Wall -Wextra -Wpedantic \
                -Werror -fsyntax-only -Iinclude tests/consumer/main.c tests/layout.c
        done
    done

    prefix=$PWD/build/installed
    check "make without CMake says what to install" make_without_cmake
    check "make demo, for this machine alone" make_demo
    check "make CUDA=0, CUDA=1 and CUDA=/usr/local/cuda" make_cuda
    check "install" install_and_move || return
    check "install (DESTDIR)" install_into_destdir
    check "consumer (pkg-config, C, shared)" pc_consumer gcc main.c
    check "consumer (pkg-config, C, static)" pc_consumer gcc main.c -static
    check "consumer (pkg-config, C++, shared)" pc_consumer g++ main.cpp
    check "consumer (pkg-config, C++, static)" pc_consumer g++ main.cpp -static
    check "consumer (CMake)" cmake_consumer
    for cxx in g++ clang++; do
        for std in c++17 c++20; do
            check "vjp.hpp ($cxx, $std)" cpp_wrapper $cxx $std
        done
    done
    if command -v "${RUSTC:-rustc}" >/dev/null; then
        check "Rust" tests/rust.sh "$prefix/lib" build/rust
    else
        skip "Rust" "rustc is not installed"
    fi
    check "conformance kit" kit_consumer
    check "program (installed)" "$prefix/bin/vjp" info
    check "hardening, needs and paths" scripts/elf.sh "$prefix"
    check "bill of materials" bill_of_materials
    check "manual page" mandoc -Tlint -W warning "$prefix/share/man/man1/vjp.1"
    for front in infiniop dnnl_graph; do
        check "$front (gcc)" tests/$front/installed.sh "$prefix"
        check "$front (clang)" env CC=clang CXX=clang++ tests/$front/installed.sh "$prefix"
    done
}

install_and_move() {
    rm -rf "$prefix" "$prefix.first" &&
        make configure && take_kernels &&
        make install PREFIX="$prefix.first" &&
        mv "$prefix.first" "$prefix"
}

# CUDA kernels take minutes to compile, and their objects do not depend on the build folder: build/release
# takes those of build/check if it has none and is for the same GPUs.
take_kernels() {
    for dir in build/check/CMakeFiles/vjp_cuda_*.dir/src/cuda; do
        to=build/release/${dir#build/check/}
        if [ ! -e "$dir/kernels.cu.o" ] || [ -e "$to/kernels.cu.o" ] ||
            [ "$(architectures check)" != "$(architectures release)" ]; then
            continue
        fi
        mkdir -p "$to" && cp "$dir/kernels.cu.o" "$to" || return
    done
}

architectures() {
    grep '^CMAKE_CUDA_ARCHITECTURES:' "build/$1/CMakeCache.txt"
}

# With a PATH that has no cmake, as a user who may not install it.
make_without_cmake() {
    bin=$PWD/build/commands
    rm -rf "$bin" && mkdir -p "$bin" || return
    for command in sh make cc nproc; do
        ln -s "$(command -v $command)" "$bin/$command" || return
    done
    printf '#!/bin/sh\necho 1000\n' >"$bin/id" && chmod +x "$bin/id" || return
    for target in all install demo; do
        said=$(PATH=$bin make $target 2>&1) && return 1
        echo "$said"
        echo "$said" | grep -q '^ *sudo apt-get .* install .* cmake$' || return
    done
}

make_demo() {
    make demo || return
    said=$(cmake -B build/demo -DVJP_ISAS='scalar;mmx' 2>&1) && return 1
    cmake -B build/demo -DVJP_ISAS=native
    echo "$said"
    echo "$said" | grep -q 'VJP_ISAS: mmx is not one of'
}

# A dry run: the build folder would remember the choice.
make_cuda() {
    make -n install CUDA=0 | grep -q 'cmake --preset.* -DVJP_CUDA=OFF' &&
        make -n install CUDA=1 | grep -q 'cmake --preset.* -DVJP_CUDA=ON' &&
        ! make -n install CUDA=/usr/local/cuda | grep 'VJP_CUDA'
}

install_into_destdir() {
    rm -rf build/destdir &&
        make install DESTDIR="$PWD/build/destdir" PREFIX=/usr &&
        diff -r build/destdir/usr "$prefix"
}

# The bill is generated from a separate installation and must match this one: files and hashes.
bill_of_materials() {
    make sbom &&
        awk '/^FileName:/ { name = $2 } /^FileChecksum: SHA256:/ { print $3 "  " name }' \
            build/vjp.spdx >build/vjp.sha256 &&
        (cd "$prefix" && sha256sum --check --quiet ../vjp.sha256) &&
        [ "$(wc -l <build/vjp.sha256)" = "$(find "$prefix" -type f | wc -l)" ]
}

# pc_consumer COMPILER SOURCE [-static]
pc_consumer() {
    flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config ${3+--static} --cflags --libs vjp) ||
        return
    eval "$1 ${3-} -o build/consumer_main tests/consumer/$2 $flags" && # quoted for the shell
        LD_LIBRARY_PATH=$prefix/lib build/consumer_main
}

# cpp_wrapper COMPILER STANDARD - the tests of vjp.hpp and its example.
cpp_wrapper() {
    flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs vjp) || return
    for source in tests/consumer/wrapper.cpp examples/cpp/gradient.cpp; do
        eval "$1 -std=$2 -Wall -Wextra -Wpedantic -Werror -o build/cpp_wrapper $source $flags" &&
            LD_LIBRARY_PATH=$prefix/lib build/cpp_wrapper || return
    done
}

# The kit, unpacked and built as docs/conformance-kit.md says: with vjp's kernel and a wrong one.
kit_consumer() {
    kit=build/kit-unpacked
    rm -rf $kit && mkdir -p $kit && scripts/kit.sh $kit && tar -xzf $kit/*.tar.gz -C $kit &&
        kit=$(echo $kit/vjp-conformance-*[0-9]) &&
        flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs vjp) || return
    for kernel in library naive; do
        eval "gcc -O2 -I$kit/conformance/kit -I$kit/reference -o build/kit_$kernel \
            $kit/conformance/kit/runner.c $kit/conformance/kit/kit.c $kit/conformance/kit/$kernel.c \
            $kit/reference/*.c $flags -lm" || return
    done
    vectors=$kit/conformance/vectors/silu_backward.safetensors
    LD_LIBRARY_PATH=$prefix/lib build/kit_library "$vectors" &&
        ! LD_LIBRARY_PATH=$prefix/lib build/kit_naive "$vectors"
}

cmake_consumer() {
    rm -rf build/consumer && cmake -S tests/consumer -B build/consumer \
        -DCMAKE_PREFIX_PATH="$prefix" && cmake --build build/consumer &&
        ctest --test-dir build/consumer --output-on-failure
}

# Not run: what takes minutes under an emulator and depends on bits alone, for same_bits_vjp_program shows
# that those are x86-64's, and test_grid that both instruction sets have them; orders of calls, which are
# the same; the commands run and bench of the program and OpenMP's settings, which are the same C as in the
# native tests. A thread's stack has at least 128 KiB here, so there are none of 64.
emulated_slowly='^(example_train|test_(bounds|limits|memory|optional|same_bits|sum_depths|threads)'
emulated_slowly="$emulated_slowly|test_team_OMP_.*|test_tool_(bench.*|check|run)|dnnl_graph_lifetimes"
emulated_slowly="$emulated_slowly|same_bits_(vjp_program_static|on_stacks_of_64_kib))\$"

suite_aarch64() {
    if [ "$(uname -m)" = aarch64 ]; then
        return # the native tests cover this
    fi
    sysroot=$PWD/build/aarch64-sysroot
    check "libraries (aarch64)" scripts/aarch64_sysroot.sh "$sysroot" &&
        check "build (aarch64)" build aarch64 --preset release -DVJP_SYSROOT="$sysroot" \
            --toolchain "$PWD/cmake/aarch64.cmake" &&
        tests aarch64 -E "$emulated_slowly"
}

# The Python package, in a virtual environment of its own, around the library that is built already.
suite_python() {
    check "build (gcc)" build_check || return
    check "pip install" pip_install python check -C cmake.define.VJP_WERROR=ON &&
        pytests python python/tests/test_*.py
}

# vjp.jax, with the newest JAX that this Python can install.
suite_jax() {
    check "build (gcc)" build_check &&
        check "pip install (jax)" pip_install jax check &&
        check "pip install jax" build/jax/bin/pip install -q --upgrade jax &&
        pytests jax python/tests/with_jax
}

# vjp.torch with the newest torch, then the same files with the oldest that is supported.
suite_torch() {
    check "build (gcc)" build_check &&
        check "pip install torch" torch_venv torch torch &&
        check "pip install (torch)" pip_install torch check -C cmake.define.VJP_WERROR=ON \
            -C cmake.define.VJP_TORCH_DIR="$(packages torch)/torch" &&
        torch_tests torch || return
    check "pip install torch 2.10" torch_venv torch-oldest torch==2.10.0 &&
        check "copy the package" cp -R "$(packages torch)/vjp" "$(packages torch-oldest)" &&
        torch_tests torch-oldest
}

# torch_venv VENV REQUIREMENT - install torch into build/VENV, with stand-ins for the libraries of CUDA,
# which are 2 GB.
torch_venv() {
    "${PYTHON:-python3}" -m venv "build/$1" &&
        "build/$1/bin/pip" install -q --upgrade pip &&
        "build/$1/bin/pip" install -q --no-deps "$2" &&
        "build/$1/bin/pip" install -q typing_extensions filelock fsspec jinja2 networkx sympy \
            setuptools numpy ml_dtypes pytest &&
        scripts/torch_standins.py "$(packages "$1")/torch/lib" "build/$1/standins"
}

torch_tests() {
    settings="LD_LIBRARY_PATH=$PWD/build/$1/standins"
    pytests "$1" python/tests/with_torch
    settings=
}

# packages VENV - where build/VENV has its packages.
packages() {
    "build/$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
}

# pip_install VENV DIR OPTION... - install the package into build/VENV, with the library of build/DIR.
pip_install() {
    venv=$PWD/build/$1
    library=$PWD/build/$2
    shift 2
    rm -rf "$venv-library" &&
        cmake --install "$library" --prefix "$venv-library" &&
        "${PYTHON:-python3}" -m venv "$venv" &&
        "$venv/bin/pip" install -q --upgrade pip numpy ml_dtypes pytest &&
        "$venv/bin/pip" install -q -C cmake.define.VJP_PREFIX="$venv-library" \
            -C build-dir="$venv-build" "$@" .
}

# pytests VENV PATH... - run pytest and count its tests.
pytests() {
    python=build/$1/bin/python
    shift
    # shellcheck disable=SC2086 # settings, or none
    env ${settings-} "$python" -m pytest -q -p no:cacheprovider "$@" 2>&1 | tee "$log" || true
    summary=$(grep -E '^[0-9]+ (passed|failed|skipped|error).* in [0-9.]+s' "$log" || echo "1 failed")
    passed=$((passed + $(number_of passed)))
    failed=$((failed + $(number_of failed) + $(number_of error)))
    skipped=$((skipped + $(number_of skipped)))
}

# number_of WORD - the number before this word in pytest's summary, or 0.
number_of() {
    echo "$summary" | grep -oE "[0-9]+ $1" | grep -oE '^[0-9]+' || echo 0
}

# The site: built strictly; its figures and examples; every page in a browser.
suite_site() {
    check "build (gcc)" build_check || return
    check "site" scripts/site.sh build/check || return
    check "one version number" build/site-tools/bin/python tests/site/version.py build/site-tools-library \
        build/site
    check "README within 120 lines" [ "$(wc -l <README.md)" -le 120 ]
    check "figures of the docs" build/site-tools/bin/python tests/site/figures.py build/check
    check "charts of the docs" build/site-tools/bin/python tools/site/charts.py --check
    check "examples of the docs" build/site-tools/bin/python tests/site/examples.py build/check \
        build/site-tools-library
    if scripts/need.sh chromium=chromium >"$log" 2>&1; then
        check "every page in Chromium" build/site-tools/bin/python tests/site/browser.py build/site
    else
        cat "$log"
        skip "every page in Chromium" "Chromium is not installed"
    fi
}

suite_sanitize() {
    for preset in asan tsan; do
        check "build ($preset)" build $preset --preset $preset && tests $preset
    done
}

# The tests of the Python package under ASan and UBSan. Python's own allocations are not freed at
# exit, so leaks are not reported: test_memory.py finds them.
suite_python_sanitize() {
    check "build (asan)" build asan --preset asan &&
        check "pip install (asan)" pip_install python-asan asan \
            -C cmake.define.VJP_SANITIZE=address,undefined || return
    settings="LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0"
    pytests python-asan python/tests/test_*.py
    settings=
}

suite_static() {
    for tool in clang-tidy cppcheck shellcheck; do
        check "$tool" scripts/static.sh $tool
    done
}

# The proofs of docs/reliability.md: all of them, or only what takes a few seconds.
suite_proofs() {
    for file in proofs/gappa/*.formula; do
        formula=$(basename "$file" .formula)
        for dtype in f32 f64; do
            check "error bounds of $formula ($dtype, Gappa)" \
                proofs/gappa/prove.py --dtype $dtype "$formula"
        done
    done
    check "descriptors with any fields (Eva)" proofs/eva/run.sh tensors
    check "calls with any descriptors (Eva)" proofs/eva/run.sh calls
    check "a fault in the check of a descriptor is found (Eva)" \
        proofs/eva/run.sh --refute tensors core/check.c 's/ || tensor->ndim > VJP_MAX_DIMS//'
    check "a fault in the check of a call is found (Eva)" \
        proofs/eva/run.sh --refute calls core/check.c 's/s >= 0 && //'
    check "loops and walks over them, of any calls (Eva)" proofs/eva/run.sh loops
    check "a fault in a walk is found (Eva)" \
        proofs/eva/run.sh --refute loops cpu/nest.c 's/int32_t a = to - 1; a >= from/int32_t a = to; a >= from/'
    check "elements lie in their spans; faults are found (WP)" proofs/wp/run.sh spans
    check "the search for overlaps is safe and ends; faults are found (WP)" proofs/wp/run.sh search
    check "dims are reversed and sorted; faults are found (WP)" proofs/wp/run.sh loops
}

suite_proofs_quick() {
    if command -v frama-c >"$log"; then
        check "descriptors with any fields (Eva)" proofs/eva/run.sh tensors
    else
        skip "descriptors with any fields (Eva)" "it needs frama-c"
    fi
    if ! command -v gappa >"$log" || ! command -v sollya >"$log"; then
        skip "error bounds (Gappa)" "they need gappa and sollya"
        return
    fi
    check "error bounds of exp (Gappa)" proofs/gappa/prove.py exp
    check "error bounds of sigmoid_right (f32, Gappa)" \
        proofs/gappa/prove.py --dtype f32 sigmoid_right
    check "error bounds without an exponential (Gappa)" proofs/gappa/prove.py elu_from_dst \
        reciprocal_vjp sigmoid_from_dst softsign softsign_vjp sqrt_vjp tanh_from_dst tanh_shrink_small
    check "error bounds of late results (Gappa)" proofs/gappa/prove.py late
}

# MemorySanitizer must see every store, so only programs that need nothing but libc are run: they
# cover the core and both front-ends, with every instruction set.
suite_msan() {
    check "build (msan)" build_targets "fuzzers vjp_program" msan --preset msan || return
    tests msan -R '^(fuzz_.*|same_bits_vjp_program|conformance_vectors)$'
    isas=$(sed -nE "s#^ISA\((\w+), (any|$(uname -m)),.*#\1#p" src/isas.def)
    for isa in $isas; do
        check "vjp check (msan, $isa)" env VJP_ISA="$isa" build/msan/vjp check --quick
    done
}

# memcheck runs unmodified programs. It has no AVX-512, so the library does not detect it; it
# computes long double in double, so the oracle and fuzz_run would report false errors; and it gives
# the zeros of an fnmadd the wrong sign, so AVX2 is only compared with itself.
suite_valgrind() {
    check "build (valgrind)" build_targets "fuzzers vjp_program test_stores" valgrind \
        --preset release -DCMAKE_BUILD_TYPE=RelWithDebInfo -DVJP_CUDA=OFF -DVJP_OPENMP=OFF || return
    for target in plan infiniop dnnl_graph npy safetensors arguments; do
        check "fuzz_$target (valgrind)" memcheck build/valgrind/tests/fuzz/fuzz_$target \
            tests/fuzz/corpus/$target
    done
    check "test_stores (valgrind, scalar and avx2)" memcheck build/valgrind/tests/test_stores
    check "conformance_vectors (valgrind, scalar)" memcheck env VJP_ISA=scalar \
        build/valgrind/vjp check --vectors conformance/vectors
}

memcheck() {
    VJP_TEST_QUICK=1 valgrind -q --trace-children=yes --error-exitcode=1 --leak-check=full \
        --errors-for-leak-kinds=definite "$@"
}

# build_targets TARGETS DIR OPTION... - like build, but only these targets.
build_targets() {
    targets=$1
    dir=build/$2
    shift 2
    # shellcheck disable=SC2086 # a list of targets
    cmake -B "$dir" -DVJP_WERROR=ON "$@" && cmake --build "$dir" "-j$jobs" --target $targets
}

# A failed check is counted, and the run continues.
for suite in "$@"; do
    echo "== $suite"
    "suite_$suite" || true
done
[ "$skipped" = 0 ] ||
    echo "$skipped skipped: they need what this machine does not have: a GPU, a library, a compiler, a prover"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
