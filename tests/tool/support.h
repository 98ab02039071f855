/* SPDX-License-Identifier: Apache-2.0 */
/* support.h - run the program `vjp` in an empty folder and check its output and the files it
 * leaves; .npy files are written independently, so that the program's own code does not test
 * itself. */
#ifndef VJP_TESTS_TOOL_SUPPORT_H
#define VJP_TESTS_TOOL_SUPPORT_H

#include <stdbool.h>
#include <sys/types.h>

#include "unit.h"

/* ---- the folder --------------------------------------------------------------------------- */

/* Group fixtures: make an empty folder and work in it; remove it. */
int folder_open(void **state);
int folder_close(void **state);

/* folder_clear - remove every file in it; folder_count - how many there are, hidden ones too. */
void folder_clear(void);
int folder_count(void);

/* file_write, file_read - a whole file. What is read ends with a 0 that is not counted, and is to
 * be freed. file_is - the file holds exactly that. */
void file_write(const char *path, const void *bytes, size_t size);
char *file_read(const char *path, size_t *size);
bool file_is(const char *path, const void *bytes, size_t size);

/* ---- .npy files --------------------------------------------------------------------------- */

enum {
    DICT_SIZE = 512,
    HEADER_SIZE = 1024
};

/* numpy_dict - what NumPy writes for such a tensor. */
const char *numpy_dict(char dict[DICT_SIZE], const char *descr, bool fortran_order, int32_t ndim,
                     const int64_t *shape);

/* numpy_head - the bytes before the data: the dict, then blanks up to a multiple of `multiple`.
 * Returns how many. */
size_t numpy_head(char head[HEADER_SIZE], int major, const char *dict, size_t multiple);

/* numpy_save - a file of that header and data. numpy_ramp - one of f32 with `count` elements, 1-D:
 * first, first + 1 and so on. */
void numpy_save(const char *path, int major, const char *dict, size_t multiple, const void *data,
              size_t size);
void numpy_ramp(const char *path, int64_t count, float first);

/* numpy_descr - how NumPy names the dtype. */
const char *numpy_descr(vjp_dtype dtype);

/* ---- the program -------------------------------------------------------------------------- */

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* A resource limit for the program. */
typedef struct limit {
    int resource;
    size_t bytes;
} limit;

/* tool_start - run it with these arguments; `in`, `out` and `err` become its standard streams, -1
 * for /dev/null. limit may be NULL. */
pid_t tool_start(const char *const *args, int in, int out, int err, const limit *limit);

/* tool_wait - its exit status, or minus the signal that ended it. */
int tool_wait(pid_t pid);

/* What a run did; the texts are replaced by the next run. */
typedef struct outcome {
    int status;
    const char *out, *err;
} outcome;

/* tool - run it to its end, standard input a file (NULL: /dev/null). */
outcome tool(const char *const *args);
outcome tool_with(const char *const *args, const char *in, const limit *limit);

/* assert_says - the run ended with that status and its standard error has these words; without
 * words, it is empty. */
void assert_says(outcome got, int status, const char *words);

#endif
