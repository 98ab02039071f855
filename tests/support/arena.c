/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - see arena.h. Layout: guard page, whole pages with the bytes at one end, guard page.
 *
 * Maps that were closed are kept for the next arena of their size, since the kernel needs longer
 * for a map than a small test for all the rest. */
#define _DEFAULT_SOURCE

#include "arena.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

enum {
    CANARY = 0xc9,
    SPARES = 16
};

typedef struct spare {
    unsigned char *map;
    size_t map_size;
} spare;

static _Thread_local spare spares[SPARES];
static _Thread_local unsigned next_spare;

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static unsigned char *new_map(size_t size)
{
    size_t page = page_size(), body = size - 2 * page;
    unsigned char *map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        fail_msg("the test is out of memory: %zu bytes", size);
    if (body > 0 && mprotect(map + page, body, PROT_READ | PROT_WRITE) != 0)
        fail_msg("mprotect refuses %zu bytes", body);
    return map;
}

static unsigned char *take_map(size_t size)
{
    for (int i = 0; i < SPARES; i++)
        if (spares[i].map && spares[i].map_size == size) {
            unsigned char *map = spares[i].map;
            spares[i].map = NULL;
            return map;
        }
    return new_map(size);
}

arena arena_open(size_t size, arena_edge edge)
{
    size_t page = page_size();
    size_t body = (size + page - 1) / page * page;
    arena a = { NULL, size, take_map(body + 2 * page), body + 2 * page };
    a.bytes = edge == ARENA_AT_END ? a.map + page + body - size : a.map + page;
    memset(a.map + page, CANARY, (size_t)(a.bytes - a.map) - page);
    memset(a.bytes + size, CANARY, body - size - ((size_t)(a.bytes - a.map) - page));
    return a;
}

static int all_canaries(const unsigned char *from, const unsigned char *to)
{
    return from == to ||
           (*from == CANARY && memcmp(from, from + 1, (size_t)(to - from) - 1) == 0);
}

int arena_slack_intact(const arena *a)
{
    size_t page = page_size();
    return all_canaries(a->map + page, a->bytes) &&
           all_canaries(a->bytes + a->size, a->map + a->map_size - page);
}

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define HAS_MSAN
#include <sanitizer/msan_interface.h>
#endif
#endif

void arena_forget(const arena *a)
{
#if defined(HAS_MSAN)
    __msan_allocated_memory(a->bytes, a->size);
#else
    (void)a;
#endif
}

void arena_close(arena *a)
{
    int i = 0;
    while (i < SPARES - 1 && spares[i].map)
        i++;
    spare *place = spares[i].map ? &spares[next_spare++ % SPARES] : &spares[i];
    if (place->map)
        munmap(place->map, place->map_size);
    *place = (spare){ a->map, a->map_size };
    *a = (arena){ NULL, 0, NULL, 0 };
}
