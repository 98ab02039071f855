/* SPDX-License-Identifier: Apache-2.0 */
/* allocations.h - count what a thread allocates, and let any one of its allocations fail.
 *
 * A program that links this has the malloc family of allocations.c in place of the C library's,
 * in every library it loads. New memory is filled with garbage and freed memory is overwritten, so
 * that uses of either show.
 */
#ifndef VJP_TESTS_ALLOCATIONS_H
#define VJP_TESTS_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "sanitized.h"

/* ALLOCATIONS_COUNTED - 0 where a sanitizer has taken malloc's place: counts are 0 then, and
 * nothing fails. */
#if defined(__GLIBC__) && !UNIT_SANITIZED
#define ALLOCATIONS_COUNTED 1
#else
#define ALLOCATIONS_COUNTED 0
#endif

typedef enum allocation_fault {
    FAULT_ONCE,    /* the one allocation returns NULL */
    FAULT_FOR_GOOD /* and so do all after it */
} allocation_fault;

typedef struct allocation_count {
    int64_t calls;
    int64_t live; /* blocks not freed again */
} allocation_count;

/* allocations_begin - count this thread's allocations from here, and let number `fail_at` fail
 * (1 is the first; 0: none). allocations_end - stop, and say what was counted. */
void allocations_begin(int64_t fail_at, allocation_fault fault);
allocation_count allocations_end(void);

/* A scenario makes objects, uses them and destroys them. It returns whether all went well; if not,
 * it has seen a status that says so and no object. It fails the test itself on anything else. */
typedef bool allocation_scenario(void *arg);

/* allocations_fail_each - fail the test unless the scenario goes well, and does not with any one
 * of its allocations failing, nor with all of them from there on; leaves nothing behind each time;
 * and goes well again afterwards. Returns how many allocations it makes. */
int64_t allocations_fail_each(const char *name, allocation_scenario *scenario, void *arg);

#endif
