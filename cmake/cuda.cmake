# SPDX-License-Identifier: Apache-2.0
#
# libvjp_cuda.so: the CUDA backend, a module that libvjp.so loads when it is asked for a GPU. Its
# host side is plain C; only src/cuda/kernels.cu needs nvcc, and is compiled once for each dtype.

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "nvcc not found: no CUDA module")
  return()
endif()

# Machine code for each generation, and PTX of the newest for those to come; or what the user asks
# for, as for any CMake project. Kept in the cache: CMake itself reads CUDAARCHS only when it first
# meets the language, not when the tree is configured again.
set(architectures 80-real 90-real 100-real 120)
if(DEFINED ENV{CUDAARCHS})
  set(architectures $ENV{CUDAARCHS})
endif()
set(CMAKE_CUDA_ARCHITECTURES "${architectures}" CACHE STRING "GPUs to write machine code for")
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

add_library(vjp_cuda MODULE src/cuda/cuda.c src/cuda/lookup.c src/cuda/stages.c
  src/cuda/shapes.c src/core/layout.c src/core/lookup.c src/core/status.c src/core/table.c)
target_link_libraries(vjp_cuda PRIVATE vjp_build CUDA::cudart_static)
target_link_options(vjp_cuda PRIVATE
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/cuda/module.map -Wl,-z,defs)
set_target_properties(vjp_cuda PROPERTIES
  LINKER_LANGUAGE C LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/cuda/module.map)

# Kernels for several generations are mostly alike: compressed, they take a fraction.
set(compress --compress-mode=size)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.8)
  set(compress -Xfatbin=-compress-all)
endif()

foreach(dtype_line IN LISTS dtypes)
  string(REGEX MATCH "^DTYPE\\(([a-z0-9_]+), .*, ([a-z0-9_]+)\\)" match "${dtype_line}")
  set(object vjp_cuda_${CMAKE_MATCH_1})
  add_library(${object} OBJECT src/cuda/kernels.cu)
  set_target_properties(${object} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF)
  target_include_directories(${object} PRIVATE include src)
  target_compile_definitions(${object} PRIVATE
    VJPI_DTYPE=${CMAKE_MATCH_1} VJPI_COMPUTE=${CMAKE_MATCH_2})
  # The CPU's bits: no contraction. The same bytes everywhere: no temporary names, no folders.
  target_compile_options(${object} PRIVATE -fmad=false ${compress} -Xcompiler=-fvisibility=hidden
    --objdir-as-tempdir "-Xcompiler=\"-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=\"")
  target_sources(vjp_cuda PRIVATE $<TARGET_OBJECTS:${object}>)
endforeach()

install(TARGETS vjp_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
