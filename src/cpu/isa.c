/* SPDX-License-Identifier: Apache-2.0 */
/* isa.c - the kernels of one instruction set by dtype. Compiled once per line of isas.def. */
#include "cpu/kernels.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define STRING_(a) #a
#define STRING(a) STRING_(a)
#define SET(dtype) JOIN(vjpi_kernel_set_##dtype##_, VJPI_ISA)

#define DTYPE(name, suffix, size, compute) extern const vjpi_kernel_set SET(name);
#include "dtypes.def"

extern const vjpi_isa JOIN(vjpi_isa_, VJPI_ISA);
const vjpi_isa JOIN(vjpi_isa_, VJPI_ISA) = {
    STRING(VJPI_ISA),
    {
#define DTYPE(name, suffix, size, compute) [VJP_##suffix] = &SET(name),
#include "dtypes.def"
    }
};
