# The tests: each tests/test_*.c is one cmocka program, tests/support/*.c is what they share,
# beside reference/.

# vjp_need(VARIABLE HEADER LIBRARY PACKAGE) - find a library of the tests, or say what to install.
macro(vjp_need variable header library package)
  find_path(${variable}_INCLUDE_DIR ${header})
  find_library(${variable}_LIBRARY ${library})
  if(NOT ${variable}_INCLUDE_DIR OR NOT ${variable}_LIBRARY)
    message(FATAL_ERROR "The tests need ${header}: install ${package} (Debian), or set -DVJP_TESTS=OFF")
  endif()
  list(APPEND test_include_dirs ${${variable}_INCLUDE_DIR})
  list(APPEND test_libraries ${${variable}_LIBRARY})
endmacro()
vjp_need(CMOCKA cmocka.h cmocka libcmocka-dev)
vjp_need(MPFR mpfr.h mpfr libmpfr-dev)
vjp_need(GMP gmp.h gmp libgmp-dev)

add_library(vjp_test_build INTERFACE)
target_include_directories(vjp_test_build INTERFACE tests/support)
target_include_directories(vjp_test_build SYSTEM INTERFACE ${test_include_dirs})
target_link_libraries(vjp_test_build INTERFACE
  vjp ${test_libraries} Threads::Threads ${CMAKE_DL_LIBS} m)

file(GLOB support CONFIGURE_DEPENDS tests/support/*.c)
add_library(vjp_test_support STATIC ${support})
target_link_libraries(vjp_test_support PRIVATE vjp_test_build)
target_link_libraries(vjp_test_build INTERFACE vjp_test_support vjp_reference)

# vjp_test_allocations: a malloc that counts and fails. Linked only by those that want it in malloc's
# place.
add_library(vjp_test_allocations OBJECT tests/faults/allocations.c)
target_include_directories(vjp_test_allocations PUBLIC tests/faults tests/support)
target_include_directories(vjp_test_allocations SYSTEM PRIVATE ${CMOCKA_INCLUDE_DIR})

# vjp_test(NAME) - run the executable NAME as a test, in a folder of the build tree.
function(vjp_test name)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  if(VJP_SANITIZE OR CMAKE_CROSSCOMPILING) # slow: fewer samples, and no waiting at full speed
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "VJP_TEST_QUICK=1;OMP_WAIT_POLICY=passive")
  endif()
endfunction()

# The constants and layouts of the header, checked by the compiler.
add_library(vjp_layout OBJECT tests/layout.c)
target_link_libraries(vjp_layout PRIVATE vjp)

# vjp_cuda_host: the CUDA backend without CUDA. Its kernels are compiled as plain C++, so that they
# run on the CPU; access to memory that a GPU would refuse ends the program. Needs a C++
# compiler for the target, which a cross build has none of: the native tests cover it.
if(NOT CMAKE_CROSSCOMPILING)
  enable_language(CXX)
  file(GLOB host CONFIGURE_DEPENDS tests/cuda/*.c)
  add_library(vjp_cuda_host STATIC src/cuda/stages.c src/cuda/shapes.c ${host} tests/cuda/emulate.cpp)
  target_include_directories(vjp_cuda_host PUBLIC src tests/cuda)
  target_link_libraries(vjp_cuda_host PRIVATE vjp_static vjp_test_build)
  target_compile_features(vjp_cuda_host PRIVATE cxx_std_17)
  foreach(dtype_line IN LISTS dtypes)
    string(REGEX MATCH "^DTYPE\\(([a-z0-9_]+), .*, ([a-z0-9_]+)\\)" match "${dtype_line}")
    set(object vjp_cuda_host_${CMAKE_MATCH_1})
    add_library(${object} OBJECT tests/cuda/kernels.cpp)
    target_include_directories(${object} PRIVATE include src tests/cuda)
    target_compile_features(${object} PRIVATE cxx_std_17)
    target_compile_definitions(${object} PRIVATE
      VJPI_EMULATED VJPI_DTYPE=${CMAKE_MATCH_1} VJPI_COMPUTE=${CMAKE_MATCH_2})
    # nvcc warns about the same text; here its pragmas are unknown and its formulas in two copies.
    target_compile_options(${object} PRIVATE -Og -ffp-contract=off -fno-strict-aliasing -w
      -fsanitize=alignment -fno-sanitize-recover=all)
    target_sources(vjp_cuda_host PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  target_link_options(vjp_cuda_host PUBLIC -fsanitize=alignment)
endif()

# What test_module.c puts in the place of libvjp_cuda.so.
add_library(fake_module MODULE tests/module/fake_module.c)
target_link_libraries(fake_module PRIVATE vjp_build)

file(GLOB tests CONFIGURE_DEPENDS tests/test_*.c)
if(NOT VJP_COMPAT)
  list(FILTER tests EXCLUDE REGEX "/test_unload") # opens these libraries too
endif()
if(CMAKE_CROSSCOMPILING)
  list(FILTER tests EXCLUDE REGEX "/test_cuda_") # vjp_cuda_host, above
endif()
if(NOT TARGET vjp_openblas)
  list(FILTER tests EXCLUDE REGEX "/test_language_model")
  add_test(NAME test_language_model COMMAND sh -c "echo OpenBLAS not found; exit 77")
  set_tests_properties(test_language_model PROPERTIES SKIP_RETURN_CODE 77)
endif()
foreach(file IN LISTS tests)
  get_filename_component(name ${file} NAME_WE)
  add_executable(${name} ${file})
  if(name MATCHES "^test_(unload|module)$") # open libraries, and so must not be linked with them
    target_include_directories(${name} PRIVATE include tests/support)
    target_include_directories(${name} SYSTEM PRIVATE ${CMOCKA_INCLUDE_DIR})
    target_compile_definitions(${name} PRIVATE
      VJP_SHARED_PATH="$<TARGET_FILE:vjp>" FAKE_MODULE_PATH="$<TARGET_FILE:fake_module>")
    target_link_libraries(${name} PRIVATE ${CMOCKA_LIBRARY} ${CMAKE_DL_LIBS})
    add_dependencies(${name} vjp fake_module)
  elseif(name MATCHES "^test_cuda_") # the library's insides
    target_link_libraries(${name} PRIVATE vjp_cuda_host vjp_static vjp_test_build)
  elseif(name MATCHES "^test_(stores|sum_depths|tiles)$")
    target_include_directories(${name} PRIVATE src)
    target_link_libraries(${name} PRIVATE vjp_static vjp_test_build)
  else()
    target_link_libraries(${name} PRIVATE vjp_test_build)
  endif()
  vjp_test(${name})
endforeach()
target_link_libraries(test_memory PRIVATE vjp_test_allocations)
target_sources(test_doubles PRIVATE tests/exhaustive/named.c) # its attributes
if(TARGET vjp_openblas)
  target_link_libraries(test_language_model PRIVATE vjp_openblas)
endif()
list(JOIN built_isas "," built)
target_compile_definitions(test_contexts PRIVATE VJP_BUILT_ISAS="${built}")

# test_team under other settings of OpenMP, which are read when a program starts.
if(VJP_OPENMP AND OpenMP_C_FOUND)
  target_link_libraries(test_team PRIVATE OpenMP::OpenMP_C)
  foreach(setting OMP_NUM_THREADS=100000 OMP_NUM_THREADS=2 OMP_THREAD_LIMIT=5 OMP_PROC_BIND=true)
    add_test(NAME test_team_${setting} COMMAND test_team)
    set_tests_properties(test_team_${setting} PROPERTIES ENVIRONMENT ${setting})
  endforeach()
endif()
if(VJP_COMPAT)
  target_compile_definitions(test_unload PRIVATE
    INFINIOP_PATH="$<TARGET_FILE:vjp_infiniop>" DNNL_GRAPH_PATH="$<TARGET_FILE:vjp_dnnl_graph>")
  add_dependencies(test_unload vjp_infiniop vjp_dnnl_graph)
endif()

# The program `vjp`: each tests/tool/test_*.c. VJP_TOOL is the command as a list of C strings, so that
# an emulator may come first.
if(VJP_EXAMPLES)
  set(command ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:vjp_program>)
  list(JOIN command "\",\"" command)
  add_library(vjp_peer_fake MODULE tests/tool/peer_fake.c)
  set_target_properties(vjp_peer_fake PROPERTIES PREFIX "" OUTPUT_NAME peer_fake
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/peers)
  target_include_directories(vjp_peer_fake PRIVATE bench include tests/support)
  target_link_libraries(vjp_peer_fake PRIVATE m)
  file(GLOB tests CONFIGURE_DEPENDS tests/tool/test_*.c)
  foreach(file IN LISTS tests)
    get_filename_component(name ${file} NAME_WE)
    string(REPLACE test_ test_tool_ name ${name})
    add_executable(${name} ${file} tests/tool/support.c)
    target_compile_definitions(${name} PRIVATE "VJP_TOOL=\"${command}\""
      VJP_TEST_PEERS="${PROJECT_BINARY_DIR}/tests/peers"
      VJP_TEST_VECTORS="${PROJECT_SOURCE_DIR}/conformance/vectors")
    target_link_libraries(${name} PRIVATE vjp_tool vjp_test_build)
    add_dependencies(${name} vjp_program vjp_peer_fake)
    vjp_test(${name})
  endforeach()
  add_test(NAME test_tool_perfdoc COMMAND ${PROJECT_SOURCE_DIR}/tests/tool/perfdoc/test.sh
    ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tool_perfdoc>)
  add_test(NAME test_tool_errors COMMAND ${PROJECT_SOURCE_DIR}/tests/tool/errors.sh
    ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tool_errors>)
  if(NOT CMAKE_CROSSCOMPILING) # a shell starts the program by its name
    add_test(NAME test_tool_completions COMMAND ${PROJECT_SOURCE_DIR}/tests/tool/completions.sh
      ${PROJECT_SOURCE_DIR}/tools/completions $<TARGET_FILE:vjp_program>)
  endif()
  target_link_libraries(test_tool_allocations PRIVATE vjp_test_allocations)
endif()

# tests/fuzz: each fuzz_<name>.c, with the files of the folder <name> if there is one, is a target.
# Built for libFuzzer (the preset fuzz; make fuzz) it is a fuzzer; otherwise a test that replays the
# checked-in inputs.
if(VJP_EXAMPLES AND VJP_COMPAT)
  set(fuzz_dir ${PROJECT_SOURCE_DIR}/tests/fuzz)
  file(GLOB targets CONFIGURE_DEPENDS ${fuzz_dir}/fuzz_*.c)
  add_custom_target(fuzzers)
  if(VJP_SANITIZE MATCHES "fuzzer") # inputs are for new paths in the library, not in the oracle
    target_compile_options(vjp_test_support PRIVATE -fno-sanitize=all)
    target_compile_options(vjp_reference PRIVATE -fno-sanitize=all)
    foreach(file json safetensors) # but what reads files is tried itself
      set_source_files_properties(reference/${file}.c PROPERTIES
        COMPILE_OPTIONS "-fsanitize=${VJP_SANITIZE};-fno-sanitize-recover=all")
    endforeach()
  endif()
  foreach(file IN LISTS targets)
    get_filename_component(name ${file} NAME_WE)
    string(REPLACE fuzz_ "" subject ${name})
    file(GLOB parts CONFIGURE_DEPENDS ${fuzz_dir}/${subject}/*.c)
    add_executable(${name} ${file} ${parts})
    target_include_directories(${name} PRIVATE ${fuzz_dir} src)
    if(subject STREQUAL infiniop)
      target_sources(${name} PRIVATE tests/infiniop/operators.c)
    endif()
    target_link_libraries(${name} PRIVATE vjp_tool vjp_infiniop vjp_dnnl_graph vjp_test_build)
    set_target_properties(${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fuzz)
    add_dependencies(fuzzers ${name})
    if(VJP_SANITIZE MATCHES "fuzzer")
      target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    else()
      target_sources(${name} PRIVATE ${fuzz_dir}/replay.c)
      add_test(NAME ${name} COMMAND ${name} ${fuzz_dir}/corpus/${subject})
    endif()
  endforeach()
endif()

# tests/exhaustive: a program that runs for hours (make check-exhaustive), on the machine that
# builds it. Its loops over results want vector code; exp.c measures the text of the kernels.
file(GLOB exhaustive CONFIGURE_DEPENDS tests/exhaustive/*.c)
list(REMOVE_ITEM exhaustive ${PROJECT_SOURCE_DIR}/tests/exhaustive/exp.c)
list(APPEND exhaustive # called so often that they are inlined
  reference/dtypes.c reference/problem.c reference/quick.c reference/random.c reference/values.c
  tests/support/doubles.c tests/support/points.c)
add_executable(exhaustive ${exhaustive})
foreach(is_f64 0 1)
  add_library(exhaustive_exp_${is_f64} OBJECT tests/exhaustive/exp.c)
  target_compile_definitions(exhaustive_exp_${is_f64} PRIVATE VJPI_COMPUTE_F64=${is_f64})
  target_include_directories(exhaustive_exp_${is_f64} PRIVATE src)
  target_link_libraries(exhaustive_exp_${is_f64} PRIVATE vjp_test_build)
  target_sources(exhaustive PRIVATE $<TARGET_OBJECTS:exhaustive_exp_${is_f64}>)
endforeach()
set_target_properties(exhaustive PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(exhaustive PRIVATE vjp_test_build)
# A loop that chooses by comparisons becomes vector code only if these need not trap.
target_compile_options(exhaustive PRIVATE -fopenmp-simd -fno-trapping-math)
set(VJP_EXHAUSTIVE_CPU native CACHE STRING "Processor of tests/exhaustive, as in -march=")
if(NOT CMAKE_CROSSCOMPILING AND NOT VJP_SANITIZE)
  # The oracle's numbers stay in registers if nearly everything is inlined.
  set(whole_program -flto=auto --param=max-inline-insns-single=3000 --param=max-inline-insns-auto=1000
    --param=large-function-growth=3000 --param=large-stack-frame-growth=5000
    --param=inline-unit-growth=1000)
  set(fast -O3 -march=${VJP_EXHAUSTIVE_CPU} "$<$<C_COMPILER_ID:GNU>:${whole_program}>")
  target_compile_options(exhaustive PRIVATE ${fast})
  target_link_options(exhaustive PRIVATE ${fast})
endif()

# tests/large: more than 2^31 and 2^32 elements (make check-large), and a part of it as a test.
file(GLOB large CONFIGURE_DEPENDS tests/large/*.c)
add_executable(large ${large})
set_target_properties(large PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(large PRIVATE vjp_reference)
if(NOT VJP_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME large_quick COMMAND large --quick)
endif()

# Declarations of ours against NVIDIA's, where they are found.
if(CUDAToolkit_FOUND)
  add_library(cuda_prototypes OBJECT tests/cuda_prototypes.c)
  target_include_directories(cuda_prototypes SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(cuda_prototypes PRIVATE vjp_cuda_driver)
  target_compile_options(cuda_prototypes PRIVATE -Werror=incompatible-pointer-types)
endif()

# The library keeps to the conformance vectors, and these are what their generator writes.
if(VJP_EXAMPLES)
  add_test(NAME conformance_vectors
    COMMAND vjp_program check --vectors ${PROJECT_SOURCE_DIR}/conformance/vectors)
endif()

# The kit's runner in C finds nothing wrong with the library's kernel, and enough with a naive one.
foreach(kernel library naive)
  add_executable(kit_${kernel} conformance/kit/runner.c conformance/kit/kit.c
    conformance/kit/${kernel}.c)
  target_link_libraries(kit_${kernel} PRIVATE vjp_reference)
  add_test(NAME kit_${kernel}
    COMMAND kit_${kernel} ${PROJECT_SOURCE_DIR}/conformance/vectors/silu_backward.safetensors)
endforeach()
set_tests_properties(kit_naive PROPERTIES
  PASS_REGULAR_EXPRESSION " cases served, [1-9][0-9]+ elements wrong")

if(VJP_EXAMPLES AND NOT CMAKE_CROSSCOMPILING) # MPFR is slow under an emulator
  file(GLOB files CONFIGURE_DEPENDS conformance/*.c)
  add_executable(conformance_generate ${files})
  target_link_libraries(conformance_generate PRIVATE vjp_test_build)
  set(vectors ${PROJECT_BINARY_DIR}/vectors)
  add_test(NAME conformance_generate COMMAND conformance_generate ${vectors})
  add_test(NAME conformance_is_current
    COMMAND diff -r ${PROJECT_SOURCE_DIR}/conformance/vectors ${vectors})
  set_tests_properties(conformance_generate PROPERTIES FIXTURES_SETUP vectors)
  set_tests_properties(conformance_is_current PROPERTIES FIXTURES_REQUIRED vectors)
endif()
