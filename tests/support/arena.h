/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory between two pages that cannot be touched.
 *
 * The bytes are flush against one of the guard pages, so that a read or write one byte past that
 * side faults at once; the slack at the other side holds canaries.
 */
#ifndef VJP_TESTS_ARENA_H
#define VJP_TESTS_ARENA_H

#include <stddef.h>

typedef enum arena_edge {
    ARENA_AT_END,  /* the last byte is the last before a guard page */
    ARENA_AT_START /* the first byte is the first after a guard page */
} arena_edge;

typedef struct arena {
    unsigned char *bytes;
    size_t size;
    unsigned char *map;
    size_t map_size;
} arena;

/* arena_open - `size` bytes, 0 too, that hold anything; fails the test if there is no memory. */
arena arena_open(size_t size, arena_edge edge);

/* arena_slack_intact - whether nothing was written between the bytes and the guard pages. */
int arena_slack_intact(const arena *a);

/* arena_forget - MemorySanitizer is to take the bytes for memory that was never written. */
void arena_forget(const arena *a);

void arena_close(arena *a);

#endif
