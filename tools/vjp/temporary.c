/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.c - see temporary.h. */
#define _GNU_SOURCE /* O_TMPFILE */

#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the end of the process ---------------------------------------------------------------- */

enum {
    MOST_HIDDEN = 16
};

/* The names to remove. */
static char *volatile hidden[MOST_HIDDEN];

static void forget(const char *name)
{
    for (int i = 0; i < MOST_HIDDEN; i++)
        if (hidden[i] == name)
            hidden[i] = NULL;
}

static bool remember(char *name)
{
    for (int i = 0; i < MOST_HIDDEN; i++) {
        if (!hidden[i]) {
            hidden[i] = name;
            return true;
        }
    }
    errno = EMFILE;
    return false;
}

static void remove_hidden(void)
{
    for (int i = 0; i < MOST_HIDDEN; i++)
        if (hidden[i])
            unlink(hidden[i]);
}

static void clean_up(int number)
{
    remove_hidden();
    raise(number); /* held back until this returns, and then fatal: the handler is gone */
}

/* A mapped file. Several threads may run into its end at once: the first ends the program. */
static void give_up(int number)
{
    static const char lost[] = "vjp: a mapped file was cut short, or its disk is full\n";
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    (void)number;
    while (atomic_flag_test_and_set(&ending))
        pause();
    remove_hidden();
    ssize_t ignored = write(STDERR_FILENO, lost, sizeof(lost) - 1);
    (void)ignored;
    _exit(1);
}

void temporary_guard(void)
{
    static const int fatal[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGTERM,   SIGXCPU,
                                 SIGALRM, SIGUSR1, SIGUSR2, SIGPROF, SIGVTALRM, SIGABRT,
                                 SIGSEGV, SIGILL,  SIGFPE,  SIGSYS };
    static bool done;
    const struct sigaction once = { .sa_handler = clean_up, .sa_flags = (int)SA_RESETHAND };
    const struct sigaction always = { .sa_handler = give_up };
    struct sigaction before;
    if (done)
        return;
    done = true;
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        if (!sigaction(fatal[i], NULL, &before) && before.sa_handler == SIG_DFL)
            sigaction(fatal[i], &once, NULL);
    sigaction(SIGBUS, &always, NULL); /* in the place of a sanitizer's, too */
    signal(SIGXFSZ, SIG_IGN);
    atexit(remove_hidden); /* OpenMP's runtime exits where it cannot go on */
}

/* ---- names --------------------------------------------------------------------------------- */

enum {
    MOST_TRIES = 100,
    NAME_SIZE = 40
};

/* Up to and with the last slash. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The file by its descriptor, under a name that is not taken; false with errno. */
static bool link_to(int fd, const char *name)
{
    char file[NAME_SIZE];
    snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
    return !linkat(AT_FDCWD, file, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static bool create(temporary *t)
{
    t->fd = open(t->hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return t->fd >= 0;
}

/* A hidden name that is not taken: a new file if there is none yet. */
static bool hide(temporary *t)
{
    char *name = t->hidden + folder_length(t->hidden);
    for (int i = 0; i < MOST_TRIES; i++) {
        snprintf(name, NAME_SIZE, ".vjp-%ld-%d", (long)getpid(), i);
        if (!remember(t->hidden))
            return false;
        t->is_hidden = t->fd < 0 ? create(t) : link_to(t->fd, t->hidden);
        if (t->is_hidden)
            return true;
        int error = errno;
        forget(t->hidden);
        errno = error;
        if (error != EEXIST)
            return false;
    }
    return false;
}

/* A file without a name, which can be given one: that takes /proc. */
static int open_unnamed(const char *folder)
{
    char file[NAME_SIZE];
    int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
    if (fd >= 0 && access(file, F_OK)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- a file -------------------------------------------------------------------------------- */

bool temporary_open(temporary *t, const char *target)
{
    size_t length = folder_length(target);
    *t = (temporary){ .fd = -1, .hidden = malloc(length + NAME_SIZE) };
    if (!t->hidden)
        return false;
    memcpy(t->hidden, target, length);
    snprintf(t->hidden + length, NAME_SIZE, ".");
    t->fd = open_unnamed(t->hidden);
    return t->fd >= 0 || hide(t);
}

bool temporary_appear(temporary *t, const char *target)
{
    if (!t->is_hidden && link_to(t->fd, target))
        return true;
    if ((!t->is_hidden && (errno != EEXIST || !hide(t))) || rename(t->hidden, target))
        return false;
    t->is_hidden = false;
    forget(t->hidden);
    return true;
}

void temporary_close(temporary *t)
{
    if (t->is_hidden) {
        unlink(t->hidden);
        forget(t->hidden);
    }
    if (t->hidden && t->fd >= 0)
        close(t->fd);
    free(t->hidden);
    *t = (temporary){ .fd = -1 };
}
