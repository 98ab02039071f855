/* SPDX-License-Identifier: Apache-2.0 */
/* npy_write.c - a .npy file as an output: a temporary file, mapped to be filled, which takes the
 * target's name at the end. After any error before that, the target is unchanged and the temporary
 * file is removed. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy.h"

/* ---- one output ---------------------------------------------------------------------------- */

static bool refuse(char *reason, const npy_output *output, const char *path, const char *trouble)
{
    if (!path)
        path = output->target ? output->target : "standard output";
    snprintf(reason, NPY_REASON_SIZE, "%.4095s: %s", path, trouble);
    return false;
}

/* The folder of a path, with its last slash, and a name in it; to be freed. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0, length = strlen(name);
    char *made = malloc(folder + length + 1);
    if (made) {
        memcpy(made, path, folder);
        memcpy(made + folder, name, length + 1);
    }
    return made;
}

/* A file of that size, mapped. Its space is claimed now: a disk that fills up later would be a
 * signal instead of an error. */
static bool make_file(npy_output *output)
{
    if (!output->target || !temporary_open(&output->file, output->target))
        return false;
    int fd = output->file.fd, error = posix_fallocate(fd, 0, (off_t)output->size);
    if (error == EOPNOTSUPP || error == EINVAL) /* not every file system and C library can */
        error = ftruncate(fd, (off_t)output->size) ? errno : 0;
    errno = error;
    return !error;
}

/* As an ordinary new file would have them, or as they were. */
static bool set_permissions(int fd, const struct stat *old)
{
    mode_t mask = umask(0);
    umask(mask);
    return !fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask);
}

/* One name for one file, so that two outputs for it can be detected; to be freed. */
static char *resolve(const char *path)
{
    char *target = realpath(path, NULL);
    if (target || errno != ENOENT) /* a link that could not be followed must not be replaced */
        return target;
    char *here = beside(path, "."), *folder = here ? realpath(here, NULL) : NULL;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t size = folder ? strlen(folder) + strlen(name) + 2 : 0;
    target = folder ? malloc(size) : NULL;
    if (target)
        snprintf(target, size, "%s/%s", folder, name);
    free(folder);
    free(here);
    return target;
}

/* The target and its temporary file; NULL, or what is wrong. */
static const char *open_target(const char *path, bool force, npy_output *output)
{
    struct stat status, link;
    bool exists = !stat(path, &status);
    if (exists && !S_ISREG(status.st_mode))
        return "not a regular file; - is standard output";
    if (!exists && errno == ENOENT && !lstat(path, &link))
        return "a link to a file that is not there";
    if (exists && !force && (!(status.st_mode & 0222) || access(path, W_OK)))
        return "read-only; --force replaces it";
    output->target = resolve(path);
    if (!make_file(output) || !set_permissions(output->file.fd, exists ? &status : NULL))
        return strerror(errno);
    return NULL;
}

bool npy_create(const char *path, bool force, const vjp_tensor *tensor, npy_output *output,
                char reason[NPY_REASON_SIZE])
{
    char header[NPY_HEADER_SIZE];
    size_t header_size = npy_header(tensor, header);
    bool standard = !strcmp(path, "-");
    *output = (npy_output){ .size = header_size + npy_data_size(tensor), .file = { .fd = -1 } };
    temporary_guard();
    const char *trouble = !standard ? open_target(path, force, output) : NULL;
    if (standard && !force && isatty(STDOUT_FILENO))
        trouble = "a terminal; --force writes to it";
    if (!trouble) {
        int flags = standard ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
        void *mapped = mmap(NULL, output->size, PROT_READ | PROT_WRITE, flags, output->file.fd, 0);
        if (mapped == MAP_FAILED)
            trouble = strerror(errno);
        else
            output->mapped = mapped;
    }
    if (trouble) {
        refuse(reason, output, standard ? NULL : path, trouble);
        npy_abandon(output);
        return false;
    }
    memcpy(output->mapped, header, header_size);
    output->data = (char *)output->mapped + header_size;
    return true;
}

/* ---- all of them --------------------------------------------------------------------------- */

static bool write_standard(const npy_output *output)
{
    for (size_t done = 0; done < output->size;) {
        ssize_t n = write(STDOUT_FILENO, (const char *)output->mapped + done, output->size - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool npy_commit(npy_output *outputs, int count, char reason[NPY_REASON_SIZE])
{
    for (int i = 0; i < count; i++) /* errors of the disk itself show here */
        if (outputs[i].target && fsync(outputs[i].file.fd))
            return refuse(reason, &outputs[i], NULL, strerror(errno));
    for (int i = 0; i < count; i++)
        if (!outputs[i].target && !write_standard(&outputs[i]))
            return refuse(reason, &outputs[i], NULL, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (outputs[i].target && !temporary_appear(&outputs[i].file, outputs[i].target))
            return refuse(reason, &outputs[i], NULL, strerror(errno));
        npy_abandon(&outputs[i]);
    }
    return true;
}

void npy_abandon(npy_output *output)
{
    if (output->mapped)
        munmap(output->mapped, output->size);
    temporary_close(&output->file);
    free(output->target);
    *output = (npy_output){ 0 };
}
