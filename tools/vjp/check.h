/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - what the parts of `vjp check` share. */
#ifndef VJP_CHECK_H
#define VJP_CHECK_H

#include "probe.h"
#include "shaped.h"
#include "tool.h"

typedef struct checks {
    vjp_context *context, *reference;
    memory device, host; /* the reference runs in the host's */
    bool quick, large;
    bool bits;           /* only those over fixed inputs */
    const char *vectors; /* only those of this folder, unless NULL */
    bool terminal; /* show progress */
    int64_t planned, passed, failed;
} checks;

/* checks_problem - run a problem on both sides and compare. */
void checks_problem(checks *c, const problem *p, uint64_t number);

/* checks_count - count one check and, if it failed, describe it. */
void checks_count(checks *c, const probe *t, bool passed);

/* Each returns how many checks it has; a dry run only counts them. */
int64_t check_threads(checks *c, bool dry);
int64_t check_large(checks *c, bool dry);
int64_t check_bits(checks *c, bool dry);
int64_t check_vectors(checks *c, bool dry);

/* write_bits - print conformance/hashes.def as the reference, on the CPU, computes it; the exit
 * status. */
int write_bits(checks *c);

/* long_problems - long rows, many columns, transposes: up to some 10^7 elements; to be freed with
 * shaped_free. */
shaped_list long_problems(void);

#endif
