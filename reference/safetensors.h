/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.h - named tensors and texts in one file, in the safetensors format: the header's size
 * in 8 bytes, a header in JSON, the elements.
 *
 * Files are not trusted. As in the format's own reader the data must be covered by the tensors
 * without a gap or an overlap, and names must be unique. A function that returns false has
 * written a one-line `reason`, which starts with the file's name and, if it concerns one tensor,
 * the tensor's.
 */
#ifndef VJP_REFERENCE_SAFETENSORS_H
#define VJP_REFERENCE_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "vjp/vjp.h"

enum {
    SAFETENSORS_REASON_SIZE = 4096 + VJP_REASON_SIZE /* a path and a one-line reason */
};

/* A tensor, dense and row-major, and its elements, which may have any address. */
typedef struct safetensor {
    char *name;
    vjp_dtype dtype; /* 0: the library has no such dtype */
    int32_t ndim;
    int64_t shape[VJP_MAX_DIMS];
    const void *data;
    size_t size; /* of the data */
} safetensor;

/* An entry of __metadata__. */
typedef struct safetensors_text {
    char *key, *value;
} safetensors_text;

typedef struct safetensors {
    safetensor *tensors;     /* of a file that was read: sorted by name */
    safetensors_text *texts; /* and by key */
    int64_t ntensors, ntexts;
    void *file; /* what the data of the tensors point into */
} safetensors;

/* safetensors_read - a whole file in memory. safetensors_parse - the same from memory, which must
 * outlive *s. To be freed if they return true. */
bool safetensors_read(const char *path, safetensors *s, char reason[SAFETENSORS_REASON_SIZE]);
bool safetensors_parse(const char *path, const void *bytes, size_t size, safetensors *s,
                       char reason[SAFETENSORS_REASON_SIZE]);
void safetensors_free(safetensors *s);

/* safetensors_find - the tensor of that name; safetensors_value - the text of that key. NULL if
 * there is none. */
const safetensor *safetensors_find(const safetensors *s, const char *name);
const char *safetensors_value(const safetensors *s, const char *key);

/* safetensors_write - write tensors and texts to a file. The data are in order of their elements'
 * size, so that all of them are aligned. */
bool safetensors_write(const char *path, const safetensors *s,
                       char reason[SAFETENSORS_REASON_SIZE]);

/* safetensors_dtype - how the format calls a dtype ("BF16"); NULL if it has no such dtype. */
const char *safetensors_dtype(vjp_dtype dtype);

#endif
