/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.h - tables of a CUDA context, on its device. */
#ifndef VJPI_CUDA_LOOKUP_H
#define VJPI_CUDA_LOOKUP_H

#include "core/lookup.h"
#include "cuda/stage.h"

/* The entries for a plan, on the device; NULL: it uses the formula. wide: the operator's kernels of
 * f32. The current device is the context's, also in what frees all tables. */
const void *vjpi_cuda_lookup(const vjp_context *ctx, vjpi_lookups *lookups, const vjpi_call *call,
                             const vjpi_cuda_plan *plan, const vjpi_cuda_kernels *wide);
void vjpi_cuda_lookups_free(const vjp_context *ctx, vjpi_lookups *lookups);

#endif
