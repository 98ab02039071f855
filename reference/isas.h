/* SPDX-License-Identifier: Apache-2.0 */
/* isas.h - a context for each instruction set. */
#ifndef VJP_REFERENCE_ISAS_H
#define VJP_REFERENCE_ISAS_H

#include "vjp/vjp.h"

/* Every line of isas.def, whether or not this build has kernels for it. */
enum {
#define ISA(name, architecture, flags) ISA_INDEX_##name,
#include "../src/isas.def"
#undef ISA
    ISAS
};
extern const char *const all_isas[ISAS];

/* context_for_isa - a context that uses exactly this instruction set, NULL if the machine lacks it.
 * The environment is left as it was. options may be NULL. */
vjp_context *context_for_isa(const char *isa, const vjp_context_options *options);

#endif
