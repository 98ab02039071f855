/* SPDX-License-Identifier: Apache-2.0 */
/* test_streams.c - inputs that do not end: `vjp run` reads no more of a stream than a .npy file of
 * that header has, and nothing of a stream that is not one; large files, which need little memory;
 * and terminals. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npy.h"
#include "samples.h"
#include "support.h"

enum {
    COUNT = 1000,
    HEAD = 128,
    MUCH = 64 << 20
};

static const limit little = { RLIMIT_DATA, MUCH };

static int prepare(void **state)
{
    (void)state;
    folder_clear();
    numpy_ramp("x.npy", COUNT, -COUNT / 2);
    numpy_ramp("g.npy", COUNT, 1);
    return 0;
}

#define RUN_MAP_TO(d) "run", SAMPLE_MAP, "--src", "x.npy", "--diff_dst", "g.npy", "--diff_src", d
#define RUN_MAP(x, g) "run", SAMPLE_MAP, "--src", x, "--diff_dst", g, "--diff_src", "d.npy"

static void a_stream_that_is_no_npy_file_is_refused_at_once(void **state)
{
    (void)state;
    assert_says(tool_with(ARGS(RUN_MAP("-", "g.npy")), "/dev/zero", &little), 1,
                "vjp run: --src: standard input: not a .npy file");
    assert_says(tool_with(ARGS(RUN_MAP("x.npy", "/dev/zero")), NULL, &little), 1,
                "vjp run: --diff_dst: /dev/zero: not a .npy file");
    assert_int_equal(folder_count(), 2);
}

/* Bytes into a pipe, and zeros after them until its reader has gone, at most `more` of these. */
static size_t pour(int fd, const char *bytes, size_t size, size_t more)
{
    static const char zeros[1 << 16];
    size_t poured = 0;
    ssize_t n = write(fd, bytes, size);
    for (; n > 0 && poured < more; n = write(fd, zeros, sizeof zeros))
        poured += (size_t)n;
    return poured;
}

/* The program fed so: it says these words. Returns how many zeros went into the pipe. */
static size_t feed(const char *bytes, size_t size, size_t more, const char *words)
{
    char text[256] = "";
    int ends[2];
    FILE *err = tmpfile();
    assert_non_null(err);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = tool_start(ARGS(RUN_MAP("x.npy", "-")), ends[0], -1, fileno(err), &little);
    close(ends[0]);
    size_t poured = pour(ends[1], bytes, size, more);
    close(ends[1]);
    assert_int_equal(tool_wait(pid), 1);
    rewind(err);
    assert_non_null(fgets(text, sizeof text, err));
    if (!strstr(text, words))
        fail_msg("expected \"%s\", got \"%s\"", words, text);
    fclose(err);
    assert_int_equal(folder_count(), 2);
    return poured;
}

static void a_stream_is_read_to_the_end_of_its_data(void **state)
{
    (void)state;
    enum {
        PIPE = 1 << 20 /* more than a pipe holds */
    };
    size_t size;
    char *file = file_read("g.npy", &size);
    assert_true(feed(file, size, MUCH, "standard input: bytes follow the data") < PIPE);
    free(file);
    assert_true(feed("yes\nyes\n", 8, MUCH, "standard input: not a .npy file") < PIPE);
    assert_true(feed("\x93NUMPY\x04\x00", 8, MUCH, "version 4.0 of the format") < PIPE);
    assert_true(feed("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12, MUCH,
                     "the header is said to have 4294967295 bytes") < PIPE);
}

/* A header that promises more than there is memory for takes as much as comes. */
static void a_large_promise_takes_no_memory(void **state)
{
    (void)state;
    char dict[DICT_SIZE], head[HEADER_SIZE];
    const int64_t huge = (int64_t)1 << 50;
    size_t size = numpy_head(head, 1, numpy_dict(dict, "<f4", false, 1, &huge), 64);
    feed(head, size, 0, "standard input: the data are cut off: 0 bytes of 4503599627370496");
}

/* ---- large files --------------------------------------------------------------------------- */

/* A file of f32 without blocks on the disk: zeros. */
static void make_sparse(const char *path, int64_t count)
{
    char dict[DICT_SIZE];
    numpy_save(path, 1, numpy_dict(dict, "<f4", false, 1, &count), 64, NULL, 0);
    assert_int_equal(truncate(path, HEAD + count * (int64_t)sizeof(float)), 0);
}

/* Memory of its own is limited to a quarter of what one of the files would take. */
static void a_large_file_takes_little_memory(void **state)
{
    (void)state;
    const limit quarter = { RLIMIT_DATA, 32 << 20 };
    const int64_t count = 32 << 20;
    struct stat status;
    make_sparse("x.npy", count);
    make_sparse("g.npy", count);
    assert_says(tool_with(ARGS(RUN_MAP("x.npy", "g.npy"), "--threads", "1"), NULL, &quarter), 0,
                NULL);
    assert_int_equal(stat("d.npy", &status), 0);
    assert_int_equal(status.st_size, HEAD + count * (int64_t)sizeof(float));
}

/* ---- terminals ----------------------------------------------------------------------------- */

/* The program's status with a terminal for its standard output, and the first byte that
 * appeared. */
static int run_on_a_terminal(const char *const *args, char *first, FILE *err)
{
    int host = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (host < 0 || grantpt(host) != 0 || unlockpt(host) != 0)
        fail_msg("there are no terminals here");
    int terminal = open(ptsname(host), O_RDWR | O_NOCTTY | O_CLOEXEC);
    pid_t pid = tool_start(args, -1, terminal, fileno(err), NULL);
    close(terminal);
    char bytes[1 << 12];
    *first = 0;
    for (ssize_t n; (n = read(host, bytes, sizeof bytes)) > 0;)
        *first = *first ? *first : bytes[0];
    close(host);
    return tool_wait(pid);
}

static void a_terminal_gets_a_tensor_by_force_alone(void **state)
{
    (void)state;
    char first, text[256] = "";
    FILE *err = tmpfile();
    assert_non_null(err);
    assert_int_equal(run_on_a_terminal(ARGS(RUN_MAP_TO("-")), &first, err), 1);
    assert_int_equal(first, 0);
    rewind(err);
    assert_non_null(fgets(text, sizeof text, err));
    assert_string_equal(text,
                        "vjp run: --diff_src: standard output: a terminal; --force writes to it\n");
    assert_int_equal(run_on_a_terminal(ARGS(RUN_MAP_TO("-"), "--force"), &first, err), 0);
    assert_int_equal(first, '\x93');
    fclose(err);
}

/* ---- how large a file is, by its first bytes ------------------------------------------------ */

static void the_size_of_a_file_shows_as_its_header_is_read(void **state)
{
    (void)state;
    char dict[DICT_SIZE], head[HEADER_SIZE], reason[NPY_REASON_SIZE];
    const int64_t shape = 7;
    for (int major = 1; major <= 3; major++) {
        size_t size = numpy_head(head, major, numpy_dict(dict, "<f4", false, 1, &shape), 64);
        for (size_t known = 0; known <= size; known++) {
            size_t extent;
            assert_true(npy_extent(head, known, &extent, reason));
            assert_true(known < size ? extent > known && extent <= size
                                     : extent == size + 7 * sizeof(float));
        }
    }
}

#define PREPARED_TEST(test) cmocka_unit_test_setup(test, prepare)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_size_of_a_file_shows_as_its_header_is_read),
        PREPARED_TEST(a_terminal_gets_a_tensor_by_force_alone),
        PREPARED_TEST(a_large_file_takes_little_memory),
        PREPARED_TEST(a_large_promise_takes_no_memory),
        PREPARED_TEST(a_stream_is_read_to_the_end_of_its_data),
        PREPARED_TEST(a_stream_that_is_no_npy_file_is_refused_at_once),
    };
    const size_t count = COUNT_OF(tests) - (UNIT_SANITIZED ? 4 : 0); /* which take more memory */
    signal(SIGPIPE, SIG_IGN);
    return _cmocka_run_group_tests("vjp and streams", tests, count, folder_open, folder_close);
}
