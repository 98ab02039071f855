/* SPDX-License-Identifier: Apache-2.0 */
/* test_temporary.c - temporary files, on file systems that have files without a name and on others:
 * however the process ends, nothing is left behind.
 *
 * The functions of the C library below take its own functions' place. */
#define _GNU_SOURCE

#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

/* Whether the file system refuses files without a name; what happens instead of a rename. */
static bool no_unnamed;
static void (*instead_of_rename)(void);

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = va_arg(list, mode_t);
    va_end(list);
    if (no_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int rename(const char *from, const char *to)
{
    if (instead_of_rename)
        instead_of_rename();
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static int prepare(void **state)
{
    (void)state;
    folder_clear();
    file_write("old", "before", 6);
    no_unnamed = false;
    instead_of_rename = NULL;
    return 0;
}

static int prepare_without(void **state)
{
    prepare(state);
    no_unnamed = true;
    return 0;
}

static temporary make(const char *target)
{
    temporary t;
    if (!temporary_open(&t, target))
        fail_msg("%s: %s", target, strerror(errno));
    assert_int_equal(write(t.fd, "after", 5), 5);
    return t;
}

static void check_file(const char *target, int count)
{
    temporary t = make(target);
    assert_int_equal(folder_count(), 1 + no_unnamed); /* a hidden one */
    assert_true(file_is("old", "before", 6));
    assert_true(temporary_appear(&t, target));
    temporary_close(&t);
    assert_int_equal(folder_count(), count);
    assert_true(file_is(target, "after", 5));
}

static void a_file_appears(void **state)
{
    (void)state;
    check_file("new", 2);
}

static void a_file_is_replaced(void **state)
{
    (void)state;
    check_file("old", 1);
}

static void a_file_that_does_not_appear_is_gone(void **state)
{
    (void)state;
    temporary t = make("old");
    temporary_close(&t);
    temporary_close(&(temporary){ 0 });
    assert_true(file_is("old", "before", 6));
    assert_int_equal(folder_count(), 1);
}

/* What an earlier process with our number left behind stays. */
static void a_hidden_name_may_be_taken(void **state)
{
    (void)state;
    char name[64];
    snprintf(name, sizeof name, ".vjp-%ld-0", (long)getpid());
    file_write(name, "kept", 4);
    no_unnamed = true;
    temporary t = make("old");
    assert_true(temporary_appear(&t, "old"));
    temporary_close(&t);
    assert_true(file_is(name, "kept", 4));
    assert_int_equal(folder_count(), 2);
}

static void a_folder_that_is_not_there_is_named_by_errno(void **state)
{
    (void)state;
    temporary t;
    assert_false(temporary_open(&t, "no/where"));
    assert_int_equal(errno, ENOENT);
    temporary_close(&t);
}

/* ---- however the process ends -------------------------------------------------------------- */

static int fatal;

static void end_process(void)
{
    if (fatal)
        raise(fatal);
    exit(1);
}

/* A child that ends while it has a file, or in the moment before a rename. */
static void check_end(int number, bool at_rename)
{
    fatal = number;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (number && number != SIGKILL)
            signal(number, SIG_DFL); /* cmocka has some */
        temporary_guard();
        temporary t = make("old");
        instead_of_rename = at_rename ? end_process : NULL;
        if (at_rename)
            temporary_appear(&t, "old");
        end_process();
    }
    assert_int_equal(tool_wait(pid), number ? -number : 1);
    assert_true(file_is("old", "before", 6));
    assert_int_equal(folder_count(), 1);
}

static void nothing_stays_behind(void **state)
{
    (void)state;
    static const int signals[] = { 0 /* exit */, SIGTERM, SIGALRM, SIGUSR2, SIGSEGV, SIGABRT };
    for (int i = 0; i < COUNT_OF(signals); i++) {
        check_end(signals[i], false);
        check_end(signals[i], true);
    }
    if (!no_unnamed)
        check_end(SIGKILL, false);
}

#define BOTH(test) \
    cmocka_unit_test_setup(test, prepare), cmocka_unit_test_setup(test, prepare_without)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(a_file_appears),
        BOTH(a_file_is_replaced),
        BOTH(a_file_that_does_not_appear_is_gone),
        BOTH(a_folder_that_is_not_there_is_named_by_errno),
        cmocka_unit_test_setup(a_hidden_name_may_be_taken, prepare),
        BOTH(nothing_stays_behind),
    };
    return cmocka_run_group_tests_name("temporary files", tests, folder_open, folder_close);
}
