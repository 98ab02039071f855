/* SPDX-License-Identifier: Apache-2.0 */
/* test_allocations.c - each allocation of `vjp run` failing in turn: it says so, leaves nothing in
 * the folder and nothing in memory, and the next try succeeds.
 *
 * The command runs in this process. One input comes through a pipe and has to be read, the other is
 * misaligned in its file and has to be copied; the output is the file that a link names. */
#define _DEFAULT_SOURCE

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocations.h"
#include "samples.h"
#include "support.h"
#include "tool.h"

enum {
    FILES = 3, /* askew.npy, out.npy and the link to it */
    COUNT = 100
};

static const float zeros[COUNT];

/* Standard input becomes a pipe that holds an .npy file. */
static void fill_standard_input(void)
{
    char dict[DICT_SIZE], head[HEADER_SIZE];
    const int64_t shape = COUNT;
    size_t size = numpy_head(head, 1, numpy_dict(dict, "<f4", false, 1, &shape), 64);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], head, size), size);
    assert_int_equal(write(ends[1], zeros, sizeof zeros), sizeof zeros);
    assert_int_equal(close(ends[1]), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(close(ends[0]), 0);
}

/* What the output was before, without stdio, which allocates. */
static void write_old(void)
{
    int fd = open("out.npy", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "old", 3), 3);
    assert_int_equal(close(fd), 0);
}

static bool is_old(void)
{
    char bytes[16];
    int fd = open("out.npy", O_RDONLY);
    assert_true(fd >= 0);
    ssize_t size = read(fd, bytes, sizeof bytes);
    assert_int_equal(close(fd), 0);
    return size == 3 && memcmp(bytes, "old", 3) == 0;
}

static bool run_command(void *arg)
{
    char *words[] = {
        SAMPLE_MAP, "--src", "-", "--diff_dst", "askew.npy", "--diff_src", "link.npy"
    };
    arguments args;
    struct stat link;
    FILE *screen = stderr;
    fill_standard_input();
    write_old();
    assert_true(parse(&command_run, COUNT_OF(words), words, &args));
    stderr = arg;
    int status = command_run.run(&args);
    stderr = screen;
    assert_int_equal(is_old(), status != DONE);
    assert_int_equal(lstat("link.npy", &link), 0);
    assert_true(S_ISLNK(link.st_mode));
    return status == DONE;
}

static void every_failed_allocation_is_reported_and_leaves_nothing(void **state)
{
    (void)state;
    char dict[DICT_SIZE], line[256];
    const int64_t shape = COUNT;
    FILE *said = tmpfile();
    assert_non_null(said);
    numpy_save("askew.npy", 1, numpy_dict(dict, "<f4", false, 1, &shape), 1, zeros, sizeof zeros);
    assert_int_equal(symlink("out.npy", "link.npy"), 0);
    setvbuf(said, NULL, _IONBF, 0);
    int64_t calls = allocations_fail_each("vjp run", run_command, said);
    assert_true(calls >= 7 || !ALLOCATIONS_COUNTED);
    assert_int_equal(folder_count(), FILES);
    rewind(said);
    while (fgets(line, sizeof line, said))
        if (strstr(line, " 0 bytes"))
            fail_msg("memory was wanted for nothing: %s", line);
    fclose(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
