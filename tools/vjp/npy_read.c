/* SPDX-License-Identifier: Apache-2.0 */
/* npy_read.c - a .npy file as an input: mapped where it can be, read where it must be. */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy.h"

enum {
    FIRST_READ = 1 << 16
};

/* Read until there are `wanted` bytes, or until the file ends. Room is made as bytes come: a header
 * may promise anything. */
static bool read_up_to(int fd, npy_input *input, size_t wanted)
{
    size_t room = input->size;
    while (input->size < wanted) {
        if (input->size == room) {
            room = room < FIRST_READ / 2 ? FIRST_READ : 2 * room;
            room = room < wanted ? room : wanted;
            void *more = realloc(input->read, room);
            if (!more)
                return false;
            input->read = more;
        }
        ssize_t got = read(fd, (char *)input->read + input->size, room - input->size);
        if (got == 0)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
        input->size += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* A stream, which may have no end: its first bytes are checked before more are read. NULL, or
 * what is wrong, which may be in `sentence`. */
static const char *read_stream(int fd, npy_input *input, char sentence[NPY_REASON_SIZE])
{
    for (bool whole = false; !whole;) {
        size_t extent;
        if (!npy_extent(input->read, input->size, &extent, sentence))
            return sentence;
        whole = input->size == extent; /* one byte more shows whether it ends here */
        if (!read_up_to(fd, input, extent + whole))
            return strerror(errno);
        whole |= input->size < extent; /* it ended early */
    }
    return NULL;
}

/* The bytes of the file; NULL, or what is wrong. Standard input may be a regular file that has been
 * read in part: then reading continues there. */
static const char *load(int fd, npy_input *input, char sentence[NPY_REASON_SIZE])
{
    struct stat status;
    if (fstat(fd, &status))
        return strerror(errno);
    if (!S_ISREG(status.st_mode) || status.st_size == 0 || lseek(fd, 0, SEEK_CUR) != 0)
        return read_stream(fd, input, sentence);
    void *mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED)
        return strerror(errno);
    input->mapped = mapped;
    input->size = (size_t)status.st_size;
    return NULL;
}

/* The library requires elements at multiples of their size. A header may have any length. */
static bool align(npy_input *input, const char *data)
{
    input->data = data;
    if ((uintptr_t)data % vjp_dtype_size(input->tensor.dtype) == 0)
        return true;
    size_t size = npy_data_size(&input->tensor);
    input->aligned = malloc(size ? size : 1);
    if (!input->aligned)
        return false;
    input->data = memcpy(input->aligned, data, size);
    return true;
}

bool npy_open(const char *path, npy_input *input, char reason[NPY_REASON_SIZE])
{
    bool standard = !strcmp(path, "-");
    const char *name = standard ? "standard input" : path;
    char sentence[NPY_REASON_SIZE];
    size_t offset = 0;
    *input = (npy_input){ 0 };
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    const char *trouble = fd >= 0 ? load(fd, input, sentence) : strerror(errno);
    const char *file = input->mapped ? input->mapped : input->read;
    if (fd >= 0 && !standard)
        close(fd);
    if (!trouble && !npy_parse(file, input->size, &input->tensor, &offset, sentence))
        trouble = sentence;
    if (!trouble && !align(input, file + offset))
        trouble = strerror(errno);
    if (!trouble)
        return true;
    snprintf(reason, NPY_REASON_SIZE, "%s: %.*s", name, VJP_REASON_SIZE, trouble);
    npy_close(input);
    return false;
}

void npy_close(npy_input *input)
{
    if (input->mapped)
        munmap(input->mapped, input->size);
    free(input->read);
    free(input->aligned);
    *input = (npy_input){ 0 };
}
