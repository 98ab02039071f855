/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.h - a file that appears complete or not at all.
 *
 * Until then it has no name, where the file system can do that (O_TMPFILE): it disappears with the
 * process, however that ends. Elsewhere it has a hidden name beside its target, removed when the
 * process exits or gets a signal that can be caught. Only SIGKILL and a loss of power leave it
 * behind. */
#ifndef VJP_TEMPORARY_H
#define VJP_TEMPORARY_H

#include <stdbool.h>

typedef struct temporary {
    int fd;         /* -1: there is no file */
    char *hidden;   /* room for a hidden name; NULL: the struct holds nothing */
    bool is_hidden; /* the file has that name */
} temporary;

/* temporary_guard - remove hidden names when the process exits or is ended by a signal. A mapped
 * file that is truncated ends it with a message and status 1. A file over its size limit is an
 * error like others, EFBIG. Once is enough. */
void temporary_guard(void);

/* temporary_open - an empty file in the folder of `target`; false with errno if it cannot be made.
 * temporary_appear - give it the name `target`, in place of what has that name.
 * temporary_close - close it; if it has not appeared it is gone. One of zeros is allowed. */
bool temporary_open(temporary *t, const char *target);
bool temporary_appear(temporary *t, const char *target);
void temporary_close(temporary *t);

#endif
