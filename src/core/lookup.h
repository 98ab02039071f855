/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.h - a context's tables of what formulas make of each of the 65,536 values of a 16-bit
 * input.
 *
 * The first plan that needs a table makes it; later plans find it, and runs only read it. No lock
 * is needed, and none can be left locked in a forked child: a finished table is put into a free
 * place by one atomic exchange, places are never emptied, and the thread that comes second takes
 * what is there. */
#ifndef VJPI_LOOKUP_H
#define VJPI_LOOKUP_H

#include "core/internal.h"

#define VJPI_LOOKUP_COUNT 65536 /* entries of a table */
#define VJPI_MAX_LOOKUPS 32     /* tables of a context: up to 8 MiB; then the formula is used */

typedef struct vjpi_lookup_key {
    int32_t formula, choice, dtype;
    uint32_t facts;
    double attrs[VJPI_MAX_ATTRS];
} vjpi_lookup_key;

/* The start of a backend's own struct. */
typedef struct vjpi_lookup_entry {
    vjpi_lookup_key key;
} vjpi_lookup_entry;

/* Part of a backend's context: zeroed, and only ever added to. */
typedef struct vjpi_lookups {
    _Atomic(vjpi_lookup_entry *) places[VJPI_MAX_LOOKUPS];
} vjpi_lookups;

/* make: a filled table, its key aside, or NULL if there is no memory. */
typedef struct vjpi_lookup_maker {
    vjpi_lookup_entry *(*make)(void *user);
    void (*discard)(void *user, vjpi_lookup_entry *entry);
    void *user;
} vjpi_lookup_maker;

/* The table for a call of an operator that has_lookup; NULL: use the formula. */
vjpi_lookup_entry *vjpi_lookup_find(vjpi_lookups *lookups, const vjpi_call *call,
                                    const vjpi_lookup_maker *maker);

/* discard(user, entry) of every table. */
void vjpi_lookups_free(vjpi_lookups *lookups, void (*discard)(void *user, vjpi_lookup_entry *entry),
                       void *user);

/* Of the numbers that a second input is multiplied by, keep those that give the formula's bits with
 * any second input; the others become NaN: use the formula. */
void vjpi_keep_factors(float *factors, int64_t n);

#endif
