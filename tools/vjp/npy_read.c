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

/* All that is left to read. */
static bool read_all(int fd, npy_input *input)
{
    size_t room = 0;
    for (;;) {
        if (input->size == room) {
            room = room ? 2 * room : FIRST_READ;
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
}

/* The bytes of the file; errno says why not. Standard input may be a regular file of which
 * something has been read already: then it is read on. */
static bool load(int fd, npy_input *input)
{
    struct stat status;
    if (fstat(fd, &status))
        return false;
    if (!S_ISREG(status.st_mode) || status.st_size == 0 || lseek(fd, 0, SEEK_CUR) != 0)
        return read_all(fd, input);
    void *mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED)
        return false;
    input->mapped = mapped;
    input->size = (size_t)status.st_size;
    return true;
}

/* The library wants elements at multiples of their size. A header may have any length. */
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
    bool ok = fd >= 0 && load(fd, input);
    const char *trouble = ok ? NULL : strerror(errno);
    if (fd >= 0 && !standard)
        close(fd);
    if (ok && !npy_parse(input->mapped ? input->mapped : input->read, input->size, &input->tensor,
                         &offset, sentence))
        trouble = sentence;
    if (!trouble &&
        !align(input, (const char *)(input->mapped ? input->mapped : input->read) + offset))
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
