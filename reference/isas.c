/* SPDX-License-Identifier: Apache-2.0 */
/* isas.c - see isas.h. */
#define _DEFAULT_SOURCE

#include "isas.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"

const char *const all_isas[ISAS] = {
#define ISA(name, architecture, flags) #name,
#include "../src/isas.def"
#undef ISA
};

/* A build for another machine may not know an instruction set even by name: NULL. */
static vjp_context *create_capped(const char *isa, const vjp_context_options *options)
{
    char reason[VJP_REASON_SIZE] = "";
    const char *was = getenv("VJP_ISA");
    char *kept = was != NULL ? strdup(was) : NULL;
    vjp_context *ctx = NULL;
    setenv("VJP_ISA", isa, 1);
    vjp_status status = vjp_context_create(options, &ctx, reason, sizeof reason);
    if (kept != NULL)
        setenv("VJP_ISA", kept, 1);
    else
        unsetenv("VJP_ISA");
    free(kept);
    if (strcmp(isa, "scalar") == 0 && status != VJP_OK)
        broken("no context for scalar code: %s", reason);
    return ctx;
}

vjp_context *context_for_isa(const char *isa, const vjp_context_options *options)
{
    vjp_context *ctx = create_capped(isa, options);
    if (ctx != NULL && strcmp(vjp_context_isa(ctx), isa) == 0)
        return ctx;
    vjp_context_destroy(ctx);
    return NULL;
}
