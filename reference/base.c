/* SPDX-License-Identifier: Apache-2.0 */
/* base.c - see base.h. */
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void broken(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

void *unit_malloc(size_t size)
{
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL)
        broken("out of memory: %zu bytes", size);
    return memory;
}
