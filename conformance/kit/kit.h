/* SPDX-License-Identifier: Apache-2.0 */
/* kit.h - run a kernel over the conformance vectors, from C. runner.c is an example, and
 * docs/conformance-kit.md a walk through it. */
#ifndef VJP_KIT_H
#define VJP_KIT_H

#include "safetensors.h"

enum {
    KIT_ATTRS = 16,
    KIT_NOT_SERVED = -1 /* what a kernel returns for a case that is not for it */
};

/* One case of a file. Tensors are dense and row-major; the strides that a case may have are left to
 * `vjp check --vectors`. */
typedef struct kit_case {
    const safetensors *file;
    char *name; /* "0-f32-rows" */
    char *attrs[KIT_ATTRS], *values[KIT_ATTRS];
    int nattrs;
} kit_case;

/* kit_tensor - an input, or an exact result, by name; NULL if the case has none of that name. */
const safetensor *kit_tensor(const kit_case *c, const char *name);

/* kit_attr - the value of an attribute as text ("true", "0.5", "gelu_tanh"), or `otherwise` if the
 * case does not have it. */
const char *kit_attr(const kit_case *c, const char *name, const char *otherwise);

/* kit_wrong - how many elements of a result, dense and of the exact result's dtype, are wrong. The
 * first is printed. */
int64_t kit_wrong(const kit_case *c, const char *output, const void *result);

/* kit_run - call the kernel for every case of a file and print a total. Returns the number of wrong
 * elements, or -1, and prints why, if the file cannot be read or no case was served. */
int64_t kit_run(const char *path, int64_t (*kernel)(const kit_case *c));

#endif
