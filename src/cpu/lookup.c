/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c - tables that replace the formulas of elementwise operators for 16-bit data.
 *
 * A 16-bit input has 65,536 values. A table holds what the formula makes of each of them; that takes
 * less time to load than to compute. Tables belong to a context, by operator, dtype and attributes.
 * The first plan that needs one makes it; runs only read it. No lock is needed, and none can be left
 * locked in a forked child: a finished table is put into a free place by one atomic exchange, places
 * are never emptied, and whoever comes second takes what is there. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/fpmode.h"
#include "cpu/stage.h"

#define LEAST_ELEMENTS 8192 /* with fewer, the formula is faster: its constants take less cache */
#define STEP 1024           /* entries that are made at once */

/* Below it, formulas may apply a power of two after diff_dst, where subnormal results are rounded
 * differently; not normal: the factor alone would have lost digits. */
#define LEAST_FACTOR 0x1p-64f

typedef struct key {
    int32_t formula, choice, dtype;
    uint32_t facts;
    double attrs[VJPI_MAX_ATTRS];
} key;

struct vjpi_lookup_entry {
    key key;
    vjpi_lookup lookup;
    _Alignas(16) char entries[];
};

static key key_of(const vjpi_call *call)
{
    key made = { (int32_t)call->op->formula, call->choice, (int32_t)call->dtype, call->facts, { 0 } };
    memcpy(made.attrs, call->constants, sizeof(made.attrs));
    return made;
}

/* The place where the search for a key begins. */
static uint32_t place_of(const key *key)
{
    uint64_t hash = (uint64_t)(key->formula * 4 + key->choice * 2 + key->dtype % 2);
    for (int i = 0; i < VJPI_MAX_ATTRS; i++) {
        uint64_t bits;
        memcpy(&bits, &key->attrs[i], sizeof(bits));
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15;
    }
    return (uint32_t)(hash >> 32);
}

/* ---- making one --------------------------------------------------------------------------- */

/* The output of each value of the input, as the 16-bit kernel stores it. */
static void fill_values(vjpi_tile *tile, uint16_t first, const vjpi_kernels *kernels, uint16_t *to)
{
    uint16_t x[STEP];
    for (int i = 0; i < STEP; i++)
        x[i] = (uint16_t)(first + i);
    tile->data[0] = (char *)x;
    tile->data[1] = (char *)to;
    kernels->map(tile);
}

/* The output for each value of the first input and 1 for the second, in f32. */
static void fill_factors(vjpi_tile *tile, uint16_t first, const vjpi_kernel_set *set,
                         vjp_dtype dtype, const vjpi_kernels *kernels, float *to)
{
    uint16_t bits[STEP];
    float x[STEP], ones[STEP];
    for (int i = 0; i < STEP; i++) {
        bits[i] = (uint16_t)(first + i);
        ones[i] = 1;
    }
    set->load(dtype, (const char *)bits, sizeof(bits[0]), STEP, x);
    tile->data[0] = (char *)x;
    tile->data[1] = (char *)ones;
    tile->data[2] = (char *)to;
    kernels->map(tile);
    for (int i = 0; i < STEP; i++)
        if (!(fabsf(to[i]) >= LEAST_FACTOR && fabsf(to[i]) <= FLT_MAX))
            to[i] = NAN;
}

static void fill(const vjp_context *ctx, const vjpi_call *call, const vjpi_cpu_plan *plan,
                 char *entries)
{
    const vjpi_kernel_set *wide = vjpi_cpu_state(ctx)->isa->sets[VJP_F32];
    bool products = call->op->info.ninputs == 2;
    const vjpi_kernel_set *set = products ? wide : plan->set;
    const vjpi_kernels *kernels = &set->kernels[call->op->formula][call->choice][0];
    vjpi_tile tile = { .rows = 1, .n = STEP, .facts = plan->facts, .dtypes = plan->dtypes,
                       .constants = plan->constants };
    vjpi_fpmode caller = vjpi_fpmode_enter();
    for (int32_t first = 0; first < VJPI_LOOKUP_COUNT; first += STEP)
        if (products)
            fill_factors(&tile, (uint16_t)first, plan->set, call->dtype, kernels,
                         (float *)(void *)entries + first);
        else
            fill_values(&tile, (uint16_t)first, kernels, (uint16_t *)(void *)entries + first);
    vjpi_fpmode_leave(caller);
}

/* NULL: no memory. */
static vjpi_lookup_entry *make_entry(vjp_context *ctx, const vjpi_call *call, const key *key,
                                     const vjpi_cpu_plan *plan)
{
    size_t size = call->op->info.ninputs == 2 ? sizeof(float) : sizeof(uint16_t);
    vjpi_lookup_entry *entry =
        vjpi_allocate(ctx, sizeof(vjpi_lookup_entry) + VJPI_LOOKUP_COUNT * size);
    if (!entry)
        return NULL;
    entry->key = *key;
    entry->lookup = (vjpi_lookup){ entry->entries, plan->kernels->map };
    fill(ctx, call, plan, entry->entries);
    return entry;
}

/* ---- finding one -------------------------------------------------------------------------- */

/* The context's table; NULL: all places are taken, or there is no memory. */
static const vjpi_lookup *find(vjp_context *ctx, const vjpi_call *call, const vjpi_cpu_plan *plan)
{
    vjpi_cpu_context *state = (vjpi_cpu_context *)(void *)ctx->state;
    const key key = key_of(call);
    vjpi_lookup_entry *own = NULL, *there = NULL;
    uint32_t start = place_of(&key);
    for (uint32_t i = 0; i < VJPI_MAX_LOOKUPS; i++) {
        _Atomic(vjpi_lookup_entry *) *place = &state->lookups[(start + i) % VJPI_MAX_LOOKUPS];
        there = atomic_load_explicit(place, memory_order_acquire);
        if (!there && !own && !(own = make_entry(ctx, call, &key, plan)))
            return NULL;
        if (!there && atomic_compare_exchange_strong(place, &there, own))
            return &own->lookup;
        if (memcmp(&there->key, &key, sizeof(key)) == 0)
            break; /* perhaps another thread's, made meanwhile */
        there = NULL;
    }
    if (own)
        vjpi_deallocate(ctx, own);
    return there ? &there->lookup : NULL;
}

void vjpi_lookup_attach(vjp_context *ctx, const vjpi_call *call, vjpi_cpu_plan *plan)
{
    if (call->elements < LEAST_ELEMENTS ||
        !call->op->has_lookup(call->constants, call->choice, call->facts))
        return;
    const vjpi_kernels *kernels = &plan->set->lookups[call->op->info.ninputs - 1];
    plan->lookup = kernels->map ? find(ctx, call, plan) : NULL;
    if (plan->lookup)
        plan->kernels = kernels;
}

void vjpi_lookups_free(vjp_context *ctx)
{
    vjpi_cpu_context *state = (vjpi_cpu_context *)(void *)ctx->state;
    for (int i = 0; i < VJPI_MAX_LOOKUPS; i++) {
        vjpi_lookup_entry *entry = atomic_load_explicit(&state->lookups[i], memory_order_relaxed);
        if (entry)
            vjpi_deallocate(ctx, entry);
    }
}
