/* SPDX-License-Identifier: Apache-2.0 */
/* tiled.c - see tiled.h. */
#define _GNU_SOURCE

#include "tiled.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base.h"

enum {
    ZONE = TILED_PAGE / 2, /* elements, at least, on either side of a place */
    WINDOW_SIZE = TILED_WINDOW_PAGES * TILED_PAGE
};

int tiled_zones(int64_t count, zone zones[TILED_MOST_ZONES])
{
    const int64_t places[] = { 0, INT64_C(1) << 30, INT64_C(1) << 31, INT64_C(1) << 32, count };
    int n = 0;
    for (int64_t i = 0; i < COUNT_OF(places); i++) {
        int64_t begin = places[i] - places[i] % ZONE - ZONE, end = begin + 3 * ZONE;
        zone z = { begin < 0 ? 0 : begin, end < count ? end : count };
        if (z.begin >= z.end)
            continue;
        if (n > 0 && z.begin <= zones[n - 1].end)
            zones[n - 1].end = z.end;
        else
            zones[n++] = z;
    }
    return n;
}

static void *map(void *where, size_t size, int flags, int fd)
{
    void *mapped = mmap(where, size, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (mapped == MAP_FAILED)
        broken("mapping %zu bytes: %s", size, strerror(errno));
    return mapped;
}

tiled tiled_open(int64_t count)
{
    tiled t = { .count = count };
    zone zones[TILED_MOST_ZONES];
    size_t size = ((size_t)count * 2 + TILED_PAGE - 1) / TILED_PAGE * TILED_PAGE;
    int fd = memfd_create("window", 0);
    if (fd < 0 || ftruncate(fd, WINDOW_SIZE) != 0)
        broken("a window of memory: %s", strerror(errno));
    t.map_size = size + TILED_PAGE;
    char *bytes = mmap(NULL, t.map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
    if (bytes == MAP_FAILED)
        broken("%zu bytes of address space: %s", t.map_size, strerror(errno));
    for (size_t at = 0; at < size; at += WINDOW_SIZE)
        map(bytes + at, size - at < WINDOW_SIZE ? size - at : WINDOW_SIZE,
            MAP_SHARED | MAP_FIXED, fd);
    t.elements = (uint16_t *)bytes;
    for (int i = 0, n = tiled_zones(count, zones); i < n; i++) {
        size_t begin = (size_t)zones[i].begin * 2, end = (size_t)zones[i].end * 2;
        end = (end + TILED_PAGE - 1) / TILED_PAGE * TILED_PAGE;
        map(bytes + begin, end - begin, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
    }
    t.window = map(NULL, WINDOW_SIZE, MAP_SHARED, fd);
    close(fd);
    return t;
}

void tiled_rest(const tiled *t)
{
    zone zones[TILED_MOST_ZONES];
    int n = tiled_zones(t->count, zones);
    for (int i = 0; i + 1 < n; i++) { /* there is a zone at either end */
        uint16_t *begin = t->elements + zones[i].end;
        madvise(begin, (size_t)(zones[i + 1].begin - zones[i].end) * sizeof *begin, MADV_DONTNEED);
    }
}

void tiled_close(tiled *t)
{
    munmap(t->elements, t->map_size);
    munmap(t->window, WINDOW_SIZE);
}
