/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - see library.h. */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* find - a function of the library. */
static void *find(void *handle, const char *path, const char *name)
{
    void *function = dlsym(handle, name);
    if (!function)
        fprintf(stderr, "%s has no %s\n", path, name);
    return function;
}

const library *library_open(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    library *made = calloc(1, sizeof(*made));
    if (!handle || !made) {
        fprintf(stderr, "%s\n", handle ? "out of memory" : dlerror());
        return NULL;
    }
    int complete = 1;
#define FIND(name)                                             \
    *(void **)&made->name = find(handle, path, "dnnl_" #name); \
    complete &= made->name != NULL;
    LIBRARY_FUNCTIONS(FIND)
#undef FIND
    return complete ? made : NULL;
}
