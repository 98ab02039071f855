/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c - finding a table; see lookup.h. */
#include "core/lookup.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Below it, formulas may apply a power of two after the second input, and then round a subnormal
 * result twice. A factor that is not a normal number would have lost digits. */
#define LEAST_FACTOR 0x1p-64f

void vjpi_keep_factors(float *factors, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(factors[i]) >= LEAST_FACTOR && fabsf(factors[i]) <= FLT_MAX))
            factors[i] = NAN;
}

static vjpi_lookup_key key_of(const vjpi_call *call)
{
    vjpi_lookup_key key = { (int32_t)call->op->formula, call->choice, (int32_t)call->dtype,
                            call->facts, { 0 } };
    memcpy(key.attrs, call->constants, sizeof(key.attrs));
    return key;
}

/* The place where the search for a key begins. */
static uint32_t start_of(const vjpi_lookup_key *key)
{
    uint64_t hash = (uint64_t)(key->formula * 4 + key->choice * 2 + key->dtype % 2);
    for (int i = 0; i < VJPI_MAX_ATTRS; i++) {
        uint64_t bits;
        memcpy(&bits, &key->attrs[i], sizeof(bits));
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15;
    }
    return (uint32_t)(hash >> 32);
}

static vjpi_lookup_entry *make_entry(const vjpi_lookup_maker *maker, const vjpi_lookup_key *key)
{
    vjpi_lookup_entry *entry = maker->make(maker->user);
    if (entry)
        entry->key = *key;
    return entry;
}

vjpi_lookup_entry *vjpi_lookup_find(vjpi_lookups *lookups, const vjpi_call *call,
                                    const vjpi_lookup_maker *maker)
{
    const vjpi_lookup_key key = key_of(call);
    vjpi_lookup_entry *own = NULL, *found = NULL;
    uint32_t start = start_of(&key);
    for (uint32_t i = 0; i < VJPI_MAX_LOOKUPS && !found; i++) {
        _Atomic(vjpi_lookup_entry *) *place = &lookups->places[(start + i) % VJPI_MAX_LOOKUPS];
        vjpi_lookup_entry *there = atomic_load_explicit(place, memory_order_acquire);
        if (!there && !own && !(own = make_entry(maker, &key)))
            return NULL;
        if (!there && atomic_compare_exchange_strong(place, &there, own))
            return own;
        if (memcmp(&there->key, &key, sizeof(key)) == 0)
            found = there; /* perhaps another thread's, made meanwhile */
    }
    if (own)
        maker->discard(maker->user, own);
    return found;
}

void vjpi_lookups_free(vjpi_lookups *lookups, void (*discard)(void *user, vjpi_lookup_entry *entry),
                       void *user)
{
    for (int i = 0; i < VJPI_MAX_LOOKUPS; i++) {
        vjpi_lookup_entry *entry =
            atomic_load_explicit(&lookups->places[i], memory_order_relaxed);
        if (entry)
            discard(user, entry);
    }
}
