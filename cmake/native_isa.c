/* SPDX-License-Identifier: Apache-2.0 */
/* native_isa.c - the name of the best instruction set of this machine: for VJP_ISAS=native. */
#include <stdio.h>

#include "cpu/cpuid.c"

#undef ISA
#define ISA(isa) const vjpi_isa vjpi_isa_##isa = { .name = #isa };
VJPI_ISAS

int main(void)
{
    fputs(vjpi_best_isa(NULL)->name, stdout);
    return 0;
}
