/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - infinirt's calls, on a few blocks of memory and events. */
#ifndef VJP_FUZZ_INFINIOP_RUNTIME_H
#define VJP_FUZZ_INFINIOP_RUNTIME_H

#include <infinirt.h>

#include "bytes.h"

enum {
    BLOCKS = 4,
    EVENTS = 2
};

typedef struct runtime {
    char *blocks[BLOCKS];
    size_t sizes[BLOCKS];
    infinirtEvent_t events[EVENTS];
} runtime;

/* runtime_call - one call that the bytes choose. runtime_end - give everything back. */
void runtime_call(runtime *r, bytes *b);
void runtime_end(runtime *r);

#endif
