# SPDX-License-Identifier: Apache-2.0
#
# Sets built_isas to the instruction sets to build, the best last, flags_of_<isa> to their compiler
# flags, and defines VJPI_ISAS, their list for cpu/cpuid.c.

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" arch)
string(REPLACE "amd64" "x86_64" arch "${arch}")
string(REPLACE "arm64" "aarch64" arch "${arch}")
set(known_isas)
file(STRINGS src/isas.def lines REGEX "^ISA\\(")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^ISA\\(([a-z0-9_]+), *([a-z0-9_]+), *\"([^\"]*)\"")
    message(FATAL_ERROR "src/isas.def: cannot read: ${line}")
  endif()
  set(isa ${CMAKE_MATCH_1})
  set(isa_arch ${CMAKE_MATCH_2})
  separate_arguments(flags_of_${isa} UNIX_COMMAND "${CMAKE_MATCH_3}")
  if(isa_arch STREQUAL "any" OR isa_arch STREQUAL arch)
    list(APPEND known_isas ${isa})
  endif()
endforeach()

# "ISA(a)ISA(b)", which cpu/cpuid.c expands, into a variable.
function(as_macros isas variable)
  list(TRANSFORM isas REPLACE "(.+)" "ISA(\\1)")
  list(JOIN isas "" macros)
  set(${variable} "${macros}" PARENT_SCOPE)
endfunction()

set(wanted_isas ${VJP_ISAS})
if(VJP_ISAS STREQUAL native)
  as_macros("${known_isas}" all)
  try_run(native_runs native_compiles ${PROJECT_BINARY_DIR}/native_isa
    ${PROJECT_SOURCE_DIR}/cmake/native_isa.c
    CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/include;${PROJECT_SOURCE_DIR}/src"
    COMPILE_DEFINITIONS "-DVJPI_ISAS=${all}" COMPILE_OUTPUT_VARIABLE output
    RUN_OUTPUT_VARIABLE wanted_isas)
  if(NOT native_compiles)
    message(FATAL_ERROR "VJP_ISAS=native: ${output}")
  endif()
  message(STATUS "Instruction set: ${wanted_isas}")
endif()
foreach(isa IN LISTS wanted_isas)
  if(NOT isa IN_LIST known_isas)
    message(FATAL_ERROR "VJP_ISAS: ${isa} is not one of ${known_isas}")
  endif()
endforeach()

set(built_isas)
foreach(isa IN LISTS known_isas)
  if(NOT wanted_isas OR isa IN_LIST wanted_isas)
    list(APPEND built_isas ${isa})
  endif()
endforeach()
as_macros("${built_isas}" built)
target_compile_definitions(vjp_portable PRIVATE "VJPI_ISAS=${built}")
