/* SPDX-License-Identifier: Apache-2.0 */
/* allocations.c - see allocations.h. */
#define _DEFAULT_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocations.h"

/* Of each thread: what OpenMP's threads allocate is not ours. */
static _Thread_local struct {
    bool counting;
    int64_t calls, live;
    int64_t fail_at;
    allocation_fault fault;
} now;

void allocations_begin(int64_t fail_at, allocation_fault fault)
{
    now.calls = now.live = 0;
    now.fail_at = fail_at;
    now.fault = fault;
    now.counting = true;
}

allocation_count allocations_end(void)
{
    now.counting = false;
    return (allocation_count){ now.calls, now.live };
}

/* ---- malloc ------------------------------------------------------------------------------- */

#if ALLOCATIONS_COUNTED
#include <malloc.h>

enum {
    FRESH = 0xa5,
    STALE = 0xdd
};

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

/* One more allocation: is it to fail? */
static bool fails(void)
{
    if (!now.counting)
        return false;
    now.calls++;
    bool failing = now.fail_at > 0 && (now.fault == FAULT_ONCE ? now.calls == now.fail_at
                                                               : now.calls >= now.fail_at);
    if (failing)
        errno = ENOMEM;
    return failing;
}

static void *counted(void *memory)
{
    if (now.counting && memory)
        now.live++;
    return memory;
}

static void *filled(void *memory, size_t size)
{
    if (now.counting && memory)
        memset(memory, FRESH, size);
    return counted(memory);
}

void *malloc(size_t size)
{
    return fails() ? NULL : filled(__libc_malloc(size), size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *memory, size_t size)
{
    if (!memory)
        return malloc(size);
    return fails() ? NULL : __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails() ? NULL : filled(__libc_memalign(alignment, size), size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    int before = errno;
    void *made = memalign(alignment, size);
    errno = before;
    if (!made)
        return ENOMEM;
    *memory = made;
    return 0;
}

void free(void *memory)
{
    if (now.counting && memory) {
        now.live--;
        memset(memory, STALE, malloc_usable_size(memory));
    }
    __libc_free(memory);
}
#endif

/* ---- scenarios ---------------------------------------------------------------------------- */

static int64_t go(const char *name, allocation_scenario *scenario, void *arg, int64_t fail_at,
                  allocation_fault fault)
{
    allocations_begin(fail_at, fault);
    bool well = scenario(arg);
    allocation_count count = allocations_end();
    if (well != (fail_at == 0))
        fail_msg("%s: allocation %" PRId64 " failed and %s", name, fail_at,
                 well ? "nobody said so" : "there was none to fail");
    if (count.live != 0)
        fail_msg("%s: allocation %" PRId64 " failed and %" PRId64 " blocks are left", name,
                 fail_at, count.live);
    return count.calls;
}

int64_t allocations_fail_each(const char *name, allocation_scenario *scenario, void *arg)
{
    int64_t calls = go(name, scenario, arg, 0, FAULT_ONCE);
    for (int64_t fail_at = 1; fail_at <= calls; fail_at++) {
        go(name, scenario, arg, fail_at, FAULT_ONCE);
        go(name, scenario, arg, fail_at, FAULT_FOR_GOOD);
    }
    go(name, scenario, arg, 0, FAULT_ONCE);
    return calls;
}
