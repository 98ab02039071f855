/* SPDX-License-Identifier: Apache-2.0 */
/* tiled.h - the appearance of memory for tensors of billions of 16-bit elements.
 *
 * One window of some 64 MiB is mapped again and again, so that most of the tensor repeats. Its
 * length is a prime number of pages: no power of two is a multiple of it, and an index that lost
 * its upper bits leads to another element of the window. Around the places where indices and
 * offsets need one more bit, and at both ends, there are zones with memory of their own, in which
 * every element differs from all others. Nothing after the last page may be touched.
 */
#ifndef VJP_TESTS_TILED_H
#define VJP_TESTS_TILED_H

#include <stddef.h>
#include <stdint.h>

enum {
    TILED_PAGE = 1 << 16, /* bytes: a multiple of every system's page */
    TILED_WINDOW_PAGES = 1021,
    TILED_WINDOW = TILED_WINDOW_PAGES * (TILED_PAGE / 2), /* elements */
    TILED_MOST_ZONES = 5
};

typedef struct tiled {
    uint16_t *elements;
    int64_t count;
    size_t map_size;
    uint16_t *window; /* the window once more, for itself */
} tiled;

/* A zone: elements begin .. end - 1. */
typedef struct zone {
    int64_t begin, end;
} zone;

/* tiled_zones - the zones of a tensor of that many elements, in order; returns how many there are.
 */
int tiled_zones(int64_t count, zone zones[TILED_MOST_ZONES]);

/* tiled_open - zeros. Ends the program if the system does not have the address space. */
tiled tiled_open(int64_t count);
void tiled_close(tiled *t);

/* tiled_rest - the window's pages count once for each place that they were touched at: let those
 * places go, not what they hold, or the program would seem to have all that memory. */
void tiled_rest(const tiled *t);

#endif
