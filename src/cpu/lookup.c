/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c - tables that replace the formulas of elementwise operators for 16-bit data on the CPU:
 * filled by the formula, read by the kernels of lookups.h. */
#include "core/fpmode.h"
#include "cpu/stage.h"

#define LEAST_ELEMENTS 16384 /* with fewer, a table that is not in L2 may cost more than it saves */
#define STEP 1024            /* entries that are made at once */

typedef struct entry {
    vjpi_lookup_entry base;
    vjpi_lookup lookup;
    _Alignas(16) char entries[];
} entry;

/* What a table is made for. */
typedef struct request {
    vjp_context *ctx;
    const vjpi_call *call;
    const vjpi_cpu_plan *plan;
} request;

/* The output of each value of the input, as the 16-bit kernel stores it. */
static void fill_values(const request *r, vjpi_tile *tile, int32_t first, uint16_t *to)
{
    uint16_t x[STEP];
    for (int i = 0; i < STEP; i++)
        x[i] = (uint16_t)(first + i);
    tile->data[0] = (char *)x;
    tile->data[1] = (char *)to;
    r->plan->kernels->map(tile);
}

/* The output for each value of the first input and 1 for the second, in f32. */
static void fill_factors(const request *r, vjpi_tile *tile, int32_t first, float *to)
{
    const vjpi_kernel_set *wide = vjpi_cpu_state(r->ctx)->isa->sets[VJP_F32];
    uint16_t bits[STEP];
    float x[STEP], ones[STEP];
    for (int i = 0; i < STEP; i++) {
        bits[i] = (uint16_t)(first + i);
        ones[i] = 1;
    }
    r->plan->set->load(r->call->dtype, (const char *)bits, sizeof(bits[0]), STEP, x);
    tile->data[0] = (char *)x;
    tile->data[1] = (char *)ones;
    tile->data[2] = (char *)to;
    wide->kernels[r->call->op->formula][r->call->choice][0]->map(tile);
    vjpi_keep_factors(to, STEP);
}

static vjpi_lookup_entry *make(void *user)
{
    const request *r = user;
    bool products = r->call->op->info.ninputs == 2;
    size_t size = products ? sizeof(float) : sizeof(uint16_t);
    entry *made = vjpi_allocate(r->ctx, sizeof(entry) + VJPI_LOOKUP_COUNT * size);
    if (!made)
        return NULL;
    made->lookup = (vjpi_lookup){ made->entries, r->plan->kernels->map };
    vjpi_tile tile = { .rows = 1, .n = STEP, .facts = r->plan->facts, .dtypes = r->plan->dtypes,
                       .constants = r->plan->constants };
    vjpi_fpmode caller = vjpi_fpmode_enter();
    for (int32_t first = 0; first < VJPI_LOOKUP_COUNT; first += STEP)
        if (products)
            fill_factors(r, &tile, first, (float *)(void *)made->entries + first);
        else
            fill_values(r, &tile, first, (uint16_t *)(void *)made->entries + first);
    vjpi_fpmode_leave(caller);
    return &made->base;
}

static void discard(void *user, vjpi_lookup_entry *made)
{
    const request *r = user;
    vjpi_deallocate(r->ctx, made);
}

void vjpi_cpu_lookup(vjp_context *ctx, const vjpi_call *call, vjpi_cpu_plan *plan)
{
    request r = { ctx, call, plan };
    const vjpi_lookup_maker maker = { make, discard, &r };
    if (call->elements < LEAST_ELEMENTS || !call->op->has_lookup)
        return;
    const vjpi_kernels *kernels = &plan->set->lookups[call->op->info.ninputs - 1];
    vjpi_cpu_context *state = (vjpi_cpu_context *)(void *)ctx->state;
    if (!kernels->map)
        return;
    entry *found = (entry *)(void *)vjpi_lookup_find(&state->lookups, call, &maker);
    if (!found)
        return;
    plan->lookup = &found->lookup;
    plan->kernels = kernels;
}

void vjpi_cpu_close(vjp_context *ctx)
{
    request r = { ctx, NULL, NULL };
    vjpi_lookups_free(&((vjpi_cpu_context *)(void *)ctx->state)->lookups, discard, &r);
}
