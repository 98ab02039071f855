/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h - tensors in .npy files, NumPy's format: inputs are mapped, not read, and outputs appear
 * complete or not at all.
 *
 * Versions 1.0, 2.0 and 3.0, C and Fortran order, little-endian f2, f4, f8, i4, i8, u1, b1 (as u1),
 * and bfloat16, which NumPy knows as two bytes of any meaning: '<V2' or '|V2'. A function that
 * returns false has written one sentence to `reason`, which begins with the file's name. */
#ifndef VJP_NPY_H
#define VJP_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include <vjp/vjp.h>

#include "temporary.h"

enum {
    NPY_REASON_SIZE = 4096 + VJP_REASON_SIZE /* a path and a one-line reason */
};

/* ---- npy.c -------------------------------------------------------------------------------- */

/* npy_parse - the description of a whole .npy file in memory, and where its data begin. The reason
 * has no name in front. */
bool npy_parse(const void *file, size_t size, vjp_tensor *tensor, size_t *offset,
               char reason[NPY_REASON_SIZE]);

/* npy_extent - how large a .npy file is that begins with these `size` bytes. Where they do not hold
 * the whole header, *extent is how many are needed to know more, always more than `size`. */
bool npy_extent(const void *file, size_t size, size_t *extent, char reason[NPY_REASON_SIZE]);

/* npy_header - the header of a dense row-major tensor of that dtype and shape: writes and returns
 * a multiple of 64 bytes. */
enum {
    NPY_HEADER_SIZE = 512
};

size_t npy_header(const vjp_tensor *tensor, char header[NPY_HEADER_SIZE]);

/* npy_data_size - bytes of the elements. */
size_t npy_data_size(const vjp_tensor *tensor);

/* ---- npy_read.c --------------------------------------------------------------------------- */

typedef struct npy_input {
    vjp_tensor tensor;
    const void *data;    /* aligned to its elements */
    void *mapped, *read; /* the whole file: one of the two */
    size_t size;
    void *aligned; /* a copy of the data, if it is misaligned in the file */
} npy_input;

/* npy_open - open a file, or "-" for standard input. Anything but a regular file, such as a pipe,
 * is read into memory, up to one byte past the end that its header states. */
bool npy_open(const char *path, npy_input *input, char reason[NPY_REASON_SIZE]);

/* npy_close - release what npy_open acquired. An input of zeros is allowed. */
void npy_close(npy_input *input);

/* ---- npy_write.c -------------------------------------------------------------------------- */

typedef struct npy_output {
    void *data;      /* to be filled; zeros at first */
    char *target;    /* where it will appear, links followed; NULL: standard output */
    temporary file;  /* what it is until then */
    void *mapped;
    size_t size;
} npy_output;

/* npy_create - make room for a dense row-major tensor of that dtype and shape, in a temporary file
 * in the folder of `path`. Nothing is changed at `path` itself before npy_commit. "-" is standard
 * output, for which the tensor is kept in memory. A terminal and a file that is read-only are
 * refused without force. */
bool npy_create(const char *path, bool force, const vjp_tensor *tensor, npy_output *output,
                char reason[NPY_REASON_SIZE]);

/* npy_commit - let all outputs appear: standard output first, then the files, each at once, and
 * only if the bytes of all of them have reached their disks. */
bool npy_commit(npy_output *outputs, int count, char reason[NPY_REASON_SIZE]);

/* npy_abandon - remove what npy_create made, unless it was committed. An output of zeros is
 * allowed. */
void npy_abandon(npy_output *output);

#endif
