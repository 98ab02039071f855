/* SPDX-License-Identifier: Apache-2.0 */
/* npy_write.c - a .npy file as an output: a temporary file beside the target, mapped to be filled,
 * renamed onto the target at the end. Whatever happens before that, the target is as it was and
 * the temporary file goes. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy.h"

/* ---- signals ------------------------------------------------------------------------------- */

enum {
    MOST_TEMPORARIES = 16
};

/* What a signal has to remove. */
static char *volatile temporaries[MOST_TEMPORARIES];

static void forget(const char *temporary)
{
    for (int i = 0; i < MOST_TEMPORARIES; i++)
        if (temporaries[i] == temporary)
            temporaries[i] = NULL;
}

static bool remember(char *temporary)
{
    for (int i = 0; i < MOST_TEMPORARIES; i++) {
        if (!temporaries[i]) {
            temporaries[i] = temporary;
            return true;
        }
    }
    errno = EMFILE;
    return false;
}

static void clean_up(int number)
{
    static const char lost[] = "vjp: a mapped file was cut short, or its disk is full\n";
    for (int i = 0; i < MOST_TEMPORARIES; i++)
        if (temporaries[i])
            unlink(temporaries[i]);
    if (number == SIGBUS) {
        ssize_t ignored = write(STDERR_FILENO, lost, sizeof(lost) - 1);
        (void)ignored;
        _exit(1);
    }
    raise(number); /* held back until this returns, and then fatal: the handler is gone */
}

static void catch_signals(void)
{
    static const int fatal[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU, SIGBUS };
    static bool done;
    struct sigaction action = { .sa_handler = clean_up, .sa_flags = (int)SA_RESETHAND }, before;
    if (done)
        return;
    done = true;
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        if (!sigaction(fatal[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaction(fatal[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file over its limit is an error like others: EFBIG */
}

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
    if (!output->temporary || !remember(output->temporary))
        return false;
    output->fd = mkstemp(output->temporary);
    if (output->fd < 0)
        return false;
    int error = posix_fallocate(output->fd, 0, (off_t)output->size);
    if (error == EOPNOTSUPP || error == EINVAL) /* not every file system and C library can */
        error = ftruncate(output->fd, (off_t)output->size) ? errno : 0;
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

/* One name for one file, so that two outputs for it can be told; to be freed. */
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
static const char *open_target(const char *path, npy_output *output)
{
    struct stat status, link;
    bool exists = !stat(path, &status);
    if (exists && !S_ISREG(status.st_mode))
        return "not a regular file; - is standard output";
    if (!exists && errno == ENOENT && !lstat(path, &link))
        return "a link to a file that is not there";
    output->target = resolve(path);
    if (output->target)
        output->temporary = beside(output->target, ".vjp-XXXXXX");
    if (!make_file(output) || !set_permissions(output->fd, exists ? &status : NULL))
        return strerror(errno);
    return NULL;
}

bool npy_create(const char *path, const vjp_tensor *tensor, npy_output *output,
                char reason[NPY_REASON_SIZE])
{
    char header[NPY_HEADER_SIZE];
    size_t header_size = npy_header(tensor, header);
    bool standard = !strcmp(path, "-");
    *output = (npy_output){ .size = header_size + npy_data_size(tensor), .fd = -1 };
    catch_signals();
    const char *trouble = standard ? NULL : open_target(path, output);
    if (!trouble) {
        int flags = standard ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
        void *mapped = mmap(NULL, output->size, PROT_READ | PROT_WRITE, flags, output->fd, 0);
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
        if (outputs[i].target && fsync(outputs[i].fd))
            return refuse(reason, &outputs[i], NULL, strerror(errno));
    for (int i = 0; i < count; i++)
        if (!outputs[i].target && !write_standard(&outputs[i]))
            return refuse(reason, &outputs[i], NULL, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (outputs[i].target && rename(outputs[i].temporary, outputs[i].target))
            return refuse(reason, &outputs[i], NULL, strerror(errno));
        forget(outputs[i].temporary);
        free(outputs[i].temporary);
        outputs[i].temporary = NULL;
        npy_abandon(&outputs[i]);
    }
    return true;
}

void npy_abandon(npy_output *output)
{
    if (output->mapped)
        munmap(output->mapped, output->size);
    if (output->temporary && output->fd >= 0)
        unlink(output->temporary);
    if (output->fd >= 0 && output->target)
        close(output->fd);
    if (output->temporary)
        forget(output->temporary);
    free(output->temporary);
    free(output->target);
    *output = (npy_output){ .fd = -1 };
}
