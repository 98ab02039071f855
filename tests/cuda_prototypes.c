/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_prototypes.c - driver.def against NVIDIA's own cuda.h: compiled, where that is found, and
 * never run. A signature or a number that differs is an error. */
#include <cuda.h>

#include "cuda/driver.h"

#define CALL(member, symbol, parameters)
#define VALUE(name, cuda_name, number) \
    _Static_assert((int)name == (int)cuda_name, #name " is not " #cuda_name);
#include "cuda/driver.def"

extern const cuda_driver cuda_prototypes;

const cuda_driver cuda_prototypes = {
#define CALL(member, symbol, parameters) .member = symbol,
#define VALUE(name, cuda_name, number)
#include "cuda/driver.def"
};
