/* SPDX-License-Identifier: Apache-2.0 */
/* test_files.c - what `vjp run` does to files: outputs are complete or absent after any error;
 * names that are links, inputs or not writable; and pipes. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "samples.h"
#include "support.h"

#define INPUTS "--src", "x.npy", "--diff_dst", "g.npy"
#define RUN_MAP "run", SAMPLE_MAP
#define RUN_FOLD "run", SAMPLE_FOLD, INPUTS, "--slope", "w.npy"

enum {
    COUNT = 100000, /* more than a pipe holds */
    HEAD = 128
};

static const char old[] = "what was there before";

/* Inputs, and an output that exists. x is -COUNT / 2 and up, g is 1 and up. */
static int prepare(void **state)
{
    (void)state;
    folder_clear();
    numpy_ramp("x.npy", COUNT, -COUNT / 2);
    numpy_ramp("g.npy", COUNT, 1);
    numpy_ramp("w.npy", COUNT, 2);
    file_write("d.npy", old, sizeof(old));
    return 0;
}

enum {
    PREPARED = 4
};

/* d.npy is unchanged and nothing else appeared. */
static void assert_untouched(void)
{
    assert_true(file_is("d.npy", old, sizeof(old)));
    assert_int_equal(folder_count(), PREPARED);
}

/* The bytes of a .npy file are the map's gradient of x and g. */
static void assert_gradient(const char *file, size_t size)
{
    float value;
    assert_int_equal(size, HEAD + COUNT * sizeof(float));
    assert_memory_equal(file, "\x93NUMPY\x01\x00", 8);
    for (int i = 0; i < COUNT; i++) {
        memcpy(&value, file + HEAD + (size_t)i * sizeof(float), sizeof(value));
        if (value != (i > COUNT / 2 ? (float)(i + 1) : 0.0f))
            fail_msg("element %d is %g", i, (double)value);
    }
}

static void assert_gradient_in(const char *path)
{
    size_t size;
    char *file = file_read(path, &size);
    assert_gradient(file, size);
    free(file);
}

/* ---- whole ... ----------------------------------------------------------------------------- */

static void an_output_is_replaced(void **state)
{
    (void)state;
    struct stat before, after;
    assert_int_equal(chmod("d.npy", 0640), 0);
    assert_int_equal(stat("d.npy", &before), 0);
    assert_says(tool(ARGS(RUN_MAP, INPUTS, "--diff_src", "d.npy")), 0, NULL);
    assert_gradient_in("d.npy");
    assert_int_equal(stat("d.npy", &after), 0);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_true(after.st_ino != before.st_ino); /* a process that has the old one open keeps it */
    assert_int_equal(folder_count(), PREPARED);
}

static void a_new_output_has_ordinary_permissions(void **state)
{
    (void)state;
    struct stat status;
    mode_t mask = umask(027);
    assert_says(tool(ARGS(RUN_MAP, INPUTS, "--diff_src", "./new.npy")), 0, NULL);
    umask(mask);
    assert_gradient_in("new.npy");
    assert_int_equal(stat("new.npy", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_int_equal(folder_count(), PREPARED + 1);
}

static void an_output_may_be_an_input(void **state)
{
    (void)state;
    assert_says(tool(ARGS(RUN_MAP, INPUTS, "--diff_src", "g.npy")), 0, NULL);
    assert_gradient_in("g.npy");
}

static void a_link_is_followed(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(symlink("d.npy", "link.npy"), 0);
    assert_says(tool(ARGS(RUN_MAP, INPUTS, "--diff_src", "link.npy")), 0, NULL);
    assert_gradient_in("d.npy");
    assert_int_equal(lstat("link.npy", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

/* Nothing is written in the link's place. */
static void a_link_that_leads_nowhere_is_refused(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(symlink("missing.npy", "link.npy"), 0);
    assert_says(tool(ARGS(RUN_MAP, INPUTS, "--diff_src", "link.npy")), 1,
                "--diff_src: link.npy: a link to a file that is not there");
    assert_int_equal(lstat("link.npy", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(folder_count(), PREPARED + 1);
}

/* ---- ... or not at all --------------------------------------------------------------------- */

static void a_refused_call_leaves_nothing(void **state)
{
    (void)state;
    numpy_ramp("g.npy", COUNT - 1, 1);
    assert_says(tool(ARGS(RUN_MAP, INPUTS, "--diff_src", "d.npy")), 1,
                SAMPLE_MAP ": diff_dst: dim 0 is 99999, src has 100000");
    assert_untouched();
}

static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    const limit small = { RLIMIT_FSIZE, 4096 };
    assert_says(tool_with(ARGS(RUN_MAP, INPUTS, "--diff_src", "d.npy"), NULL, &small), 1,
                "vjp run: --diff_src: d.npy: File too large");
    assert_untouched();
}

/* The first output has its temporary file when the second cannot be made. */
static void a_second_output_that_fails_leaves_nothing(void **state)
{
    (void)state;
    assert_says(tool(ARGS(RUN_FOLD, "--diff_src", "d.npy", "--diff_slope", "no/where.npy")), 1,
                "vjp run: --diff_slope: no/where.npy: No such file or directory");
    assert_untouched();
    assert_says(tool(ARGS(RUN_FOLD, "--diff_src", "d.npy", "--diff_slope", "./d.npy")), 2,
                "d.npy is also the file of --diff_src");
    assert_untouched();
    assert_says(tool(ARGS(RUN_FOLD, "--diff_src", "new.npy", "--diff_slope", "./new.npy")), 2,
                "new.npy is also the file of --diff_src");
    assert_untouched();
    assert_says(tool(ARGS(RUN_FOLD, "--diff_src", "d.npy", "--diff_slope", "")), 2,
                "vjp run: --diff_slope: the file name is empty");
    assert_untouched();
}

static void an_optional_output_may_be_left_out(void **state)
{
    (void)state;
    size_t size, whole;
    assert_says(tool(ARGS(RUN_FOLD, "--diff_src", "both.npy", "--diff_slope", "s.npy")), 0, NULL);
    assert_says(tool(ARGS(RUN_FOLD, "--diff_src", "d.npy")), 0, NULL);
    assert_int_equal(folder_count(), PREPARED + 2);
    char *alone = file_read("d.npy", &size), *both = file_read("both.npy", &whole);
    assert_int_equal(size, whole);
    assert_memory_equal(alone, both, size);
    free(alone);
    free(both);
    assert_says(tool(ARGS(RUN_FOLD, "--diff_slope", "s.npy")), 2,
                "--diff_src FILE is missing: an output of " SAMPLE_FOLD);
}

static void what_is_no_file_is_not_replaced(void **state)
{
    (void)state;
    assert_says(tool(ARGS(RUN_MAP, INPUTS, "--diff_src", "/dev/null")), 1,
                "--diff_src: /dev/null: not a regular file; - is standard output");
    assert_says(tool(ARGS(RUN_MAP, INPUTS, "--diff_src", ".")), 1,
                "--diff_src: .: not a regular file; - is standard output");
    assert_untouched();
}

/* A read-only file, even for root, who could write to it. */
static void a_read_only_file_is_replaced_by_force_alone(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(chmod("d.npy", 0444), 0);
    assert_says(tool(ARGS(RUN_MAP, INPUTS, "--diff_src", "d.npy")), 1,
                "vjp run: --diff_src: d.npy: read-only; --force replaces it");
    assert_untouched();
    assert_says(tool(ARGS(RUN_MAP, INPUTS, "--force", "--diff_src", "d.npy")), 0, NULL);
    assert_gradient_in("d.npy");
    assert_int_equal(stat("d.npy", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0444);
}

/* Whether files here can be without a name until they are complete. */
static bool has_unnamed_files(void)
{
    int fd = open(".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The program waits for someone to read its standard output, with a file to become d.npy. */
static pid_t start_and_wait_for_output(int pipe_ends[2])
{
    char byte;
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    pid_t pid = tool_start(ARGS(RUN_FOLD, "--diff_src", "d.npy", "--diff_slope", "-"), -1,
                           pipe_ends[1], -1, NULL);
    close(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
    assert_int_equal(folder_count(), PREPARED + !has_unnamed_files());
    return pid;
}

static void a_signal_leaves_nothing(void **state)
{
    static const int signals[] = { SIGTERM, SIGINT,  SIGHUP,  SIGQUIT, SIGALRM,
                                   SIGSEGV, SIGABRT, SIGUSR1, SIGKILL };
    (void)state;
    for (int i = 0; i < COUNT_OF(signals) - !has_unnamed_files(); i++) {
        int ends[2];
        if (UNIT_SANITIZED && signals[i] == SIGSEGV)
            continue; /* reports it, and exits */
        pid_t pid = start_and_wait_for_output(ends);
        assert_int_equal(kill(pid, signals[i]), 0);
        assert_int_equal(tool_wait(pid), -signals[i]);
        close(ends[0]);
        assert_untouched();
    }
}

static void a_reader_that_goes_leaves_nothing(void **state)
{
    (void)state;
    int ends[2];
    pid_t pid = start_and_wait_for_output(ends);
    close(ends[0]);
    assert_int_equal(tool_wait(pid), -SIGPIPE);
    assert_untouched();
}

static void a_full_device_leaves_nothing(void **state)
{
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    FILE *err = tmpfile();
    char text[256] = "";
    assert_true(full >= 0 && err);
    pid_t pid = tool_start(ARGS(RUN_FOLD, "--diff_src", "d.npy", "--diff_slope", "-"), -1, full,
                           fileno(err), NULL);
    assert_int_equal(tool_wait(pid), 1);
    rewind(err);
    assert_non_null(fgets(text, sizeof text, err));
    assert_string_equal(text, "vjp run: standard output: No space left on device\n");
    fclose(err);
    close(full);
    assert_untouched();
}

/* Standard output takes a part of what is written, and then no more. */
static void a_file_on_standard_output_may_be_limited(void **state)
{
    (void)state;
    const limit small = { RLIMIT_FSIZE, 4096 };
    assert_says(tool_with(ARGS(RUN_MAP, INPUTS, "--diff_src", "-"), NULL, &small), 1,
                "vjp run: standard output: File too large");
    assert_untouched();
}

/* ---- pipes --------------------------------------------------------------------------------- */

/* Feed a file to a pipe, a part of it at a time. */
static void feed(int fd, const char *path)
{
    size_t size;
    char *file = file_read(path, &size);
    for (size_t at = 0, part = 1; at < size; at += part, part = part * 3 + 1) {
        part = part < size - at ? part : size - at;
        assert_int_equal(write(fd, file + at, part), part);
    }
    free(file);
}

static void an_input_may_be_a_pipe(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid =
        tool_start(ARGS(RUN_MAP, "--src", "-", "--diff_dst", "g.npy", "--diff_src", "d.npy"),
                   ends[0], -1, -1, NULL);
    close(ends[0]);
    feed(ends[1], "x.npy");
    close(ends[1]);
    assert_int_equal(tool_wait(pid), 0);
    assert_gradient_in("d.npy");
}

static void an_input_may_be_a_file_on_standard_input(void **state)
{
    (void)state;
    assert_says(tool_with(ARGS(RUN_MAP, "--src", "-", "--diff_dst", "g.npy", "--diff_src", "d.npy"),
                          "x.npy", NULL),
                0, NULL);
    assert_gradient_in("d.npy");
}

static void an_input_may_be_a_named_pipe(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    pid_t pid =
        tool_start(ARGS(RUN_MAP, "--src", "x.npy", "--diff_dst", "fifo", "--diff_src", "d.npy"), -1,
                   -1, -1, NULL);
    int fd = open("fifo", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    feed(fd, "g.npy");
    close(fd);
    assert_int_equal(tool_wait(pid), 0);
    assert_gradient_in("d.npy");
}

static void an_input_pipe_may_break_off(void **state)
{
    (void)state;
    assert_says(tool(ARGS(RUN_MAP, "--src", "-", "--diff_dst", "g.npy", "--diff_src", "d.npy")), 1,
                "vjp run: --src: standard input: the file is empty");
    file_write("cut", "\x93NUMPY\x01\x00\x76\x00{'descr", 17);
    assert_says(tool_with(ARGS(RUN_MAP, "--src", "x.npy", "--diff_dst", "-", "--diff_src", "d.npy"),
                          "cut", NULL),
                1, "vjp run: --diff_dst: standard input: the file ends within its header");
    assert_int_equal(unlink("cut"), 0);
    assert_untouched();
}

static void an_output_may_be_a_pipe(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = tool_start(ARGS(RUN_MAP, INPUTS, "--diff_src", "-"), -1, ends[1], -1, NULL);
    close(ends[1]);
    char *file = unit_malloc(2 * HEAD + COUNT * sizeof(float));
    size_t size = 0;
    for (ssize_t got; (got = read(ends[0], file + size, 2 * HEAD)) > 0 &&
                      size <= HEAD + COUNT * sizeof(float);)
        size += (size_t)got;
    close(ends[0]);
    assert_int_equal(tool_wait(pid), 0);
    assert_gradient(file, size);
    free(file);
    assert_untouched();
}

/* ---- mapped files -------------------------------------------------------------------------- */

/* x.npy is mapped when the program waits for g; cut short, it is not there to be read. */
static void an_input_cut_short_leaves_nothing(void **state)
{
    (void)state;
    int ends[2];
    FILE *err = tmpfile();
    char text[256] = "";
    assert_non_null(err);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid =
        tool_start(ARGS(RUN_MAP, "--src", "x.npy", "--diff_dst", "-", "--diff_src", "d.npy"),
                   ends[0], -1, fileno(err), NULL);
    close(ends[0]);
    feed(ends[1], "g.npy"); /* more than a pipe holds: once it is written the program reads it */
    assert_int_equal(truncate("x.npy", HEAD), 0);
    close(ends[1]);
    assert_int_equal(tool_wait(pid), 1);
    rewind(err);
    assert_non_null(fgets(text, sizeof text, err));
    assert_string_equal(text, "vjp: a mapped file was cut short, or its disk is full\n");
    fclose(err);
    assert_untouched();
}

#define PREPARED_TEST(test) cmocka_unit_test_setup(test, prepare)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PREPARED_TEST(an_output_is_replaced),
        PREPARED_TEST(a_new_output_has_ordinary_permissions),
        PREPARED_TEST(an_output_may_be_an_input),
        PREPARED_TEST(a_link_is_followed),
        PREPARED_TEST(a_link_that_leads_nowhere_is_refused),
        PREPARED_TEST(a_refused_call_leaves_nothing),
        PREPARED_TEST(a_full_disk_leaves_nothing),
        PREPARED_TEST(a_second_output_that_fails_leaves_nothing),
        PREPARED_TEST(an_optional_output_may_be_left_out),
        PREPARED_TEST(what_is_no_file_is_not_replaced),
        PREPARED_TEST(a_read_only_file_is_replaced_by_force_alone),
        PREPARED_TEST(a_signal_leaves_nothing),
        PREPARED_TEST(a_reader_that_goes_leaves_nothing),
        PREPARED_TEST(a_full_device_leaves_nothing),
        PREPARED_TEST(a_file_on_standard_output_may_be_limited),
        PREPARED_TEST(an_input_may_be_a_pipe),
        PREPARED_TEST(an_input_may_be_a_file_on_standard_input),
        PREPARED_TEST(an_input_may_be_a_named_pipe),
        PREPARED_TEST(an_input_pipe_may_break_off),
        PREPARED_TEST(an_output_may_be_a_pipe),
        PREPARED_TEST(an_input_cut_short_leaves_nothing),
    };
    signal(SIGPIPE, SIG_IGN); /* a program that ends early fails its test, not this one */
    return cmocka_run_group_tests_name("vjp and files", tests, folder_open, folder_close);
}
