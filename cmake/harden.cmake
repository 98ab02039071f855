# SPDX-License-Identifier: Apache-2.0
#
# Hardening, for whatever is compiled but the kernels (targets whose property VJP_KERNEL is set).
# Those get pointers and counts that a plan has checked, call nothing that could overrun, and have
# small frames; everything that meets what a caller wrote is outside them.
include(CheckCCompilerFlag)

set(not_a_kernel $<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<BOOL:$<TARGET_PROPERTY:VJP_KERNEL>>>>)
set(optimized $<NOT:$<CONFIG:Debug>>) # the C library's checks need the optimizer

# A run keeps up to 48 KiB on the stack of a thread that may be the caller's: touch every page of it,
# so that too small a stack is a fault and not a write beyond the guard page.
foreach(flag -fstack-protector-strong -fstack-clash-protection)
  string(MAKE_C_IDENTIFIER HAVE${flag} variable)
  check_c_compiler_flag("-Werror ${flag}" ${variable})
  if(${variable})
    add_compile_options($<${not_a_kernel}:${flag}>)
  endif()
endforeach()
add_compile_options(
  "$<$<AND:${not_a_kernel},${optimized}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")

# Every symbol is bound at the start, and what held their addresses is then read-only.
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
