/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - see arena.h. Layout: guard page, whole pages with the bytes at one end, guard page. */
#define _DEFAULT_SOURCE

#include "arena.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

enum {
    CANARY = 0xc9
};

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

arena arena_open(size_t size, arena_edge edge)
{
    size_t page = page_size();
    size_t body = (size + page - 1) / page * page;
    arena a = { NULL, size, NULL, body + 2 * page };
    void *map = mmap(NULL, a.map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        fail_msg("the test is out of memory: %zu bytes", a.map_size);
    a.map = map;
    if (body > 0 && mprotect(a.map + page, body, PROT_READ | PROT_WRITE) != 0)
        fail_msg("mprotect refuses %zu bytes", body);
    a.bytes = edge == ARENA_AT_END ? a.map + page + body - size : a.map + page;
    memset(a.map + page, CANARY, (size_t)(a.bytes - a.map) - page);
    memset(a.bytes + size, CANARY, body - size - ((size_t)(a.bytes - a.map) - page));
    return a;
}

static int all_canaries(const unsigned char *from, const unsigned char *to)
{
    while (from < to)
        if (*from++ != CANARY)
            return 0;
    return 1;
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
    munmap(a->map, a->map_size);
    *a = (arena){ NULL, 0, NULL, 0 };
}
