# SPDX-License-Identifier: Apache-2.0
#
# Hardening, for whatever is compiled but the kernels (targets whose property VJP_KERNEL is set).
# Those get pointers and counts that a plan has checked and call nothing; everything that meets what
# a caller wrote is outside them. docs/reliability.md says what it costs.
set(not_a_kernel $<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<BOOL:$<TARGET_PROPERTY:VJP_KERNEL>>>>)
add_compile_options($<${not_a_kernel}:-fstack-protector-strong>
  "$<$<AND:${not_a_kernel},${shipped}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>") # need the optimizer

# Every symbol is bound at the start, and what held their addresses is then read-only.
add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
