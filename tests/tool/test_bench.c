/* SPDX-License-Identifier: Apache-2.0 */
/* test_bench.c - `vjp bench`: one small case, its line of JSON, and what is refused. */
#define _XOPEN_SOURCE 700 /* terminals */

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "samples.h"
#include "support.h"

#define ONE_CASE "bench", "--op", SAMPLE_MAP, "--dtype", "f32", "--shape", "4096"
#define TWO_CASES "bench", "--op", SAMPLE_MAP, "--dtype", "f32", "--shape", "4096,65536"

/* The text after "key": in a line of JSON. */
static const char *value_of(const char *line, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *found = strstr(line, quoted);
    if (found == NULL)
        fail_msg("no %s in %s", key, line);
    return found + strlen(quoted);
}

static void assert_word(const char *line, const char *key, const char *word)
{
    const char *value = value_of(line, key);
    if (value[0] != '"' || strncmp(value + 1, word, strlen(word)) != 0 ||
        value[1 + strlen(word)] != '"')
        fail_msg("%s is not \"%s\" in %s", key, word, line);
}

static void a_case_becomes_a_line_of_json(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        { "who", "vjp" },    { "op", SAMPLE_MAP },  { "dtype", "f32" },
        { "shape", "4096" }, { "layout", "plain" }, { "device", "cpu" },
    };
    size_t size;
    folder_clear();
    assert_says(tool(ARGS(ONE_CASE, "--json", "out.json")), 0, NULL);
    char *line = file_read("out.json", &size);
    for (int64_t i = 0; i < COUNT_OF(words); i++)
        assert_word(line, words[i][0], words[i][1]);
    double ns = atof(value_of(line, "median_ns")), gbps = atof(value_of(line, "gbps"));
    assert_int_equal(atoi(value_of(line, "threads")), 1);
    assert_true(atof(value_of(line, "ceiling_gbps")) > 0);
    assert_true(ns > 0 && gbps > 0);
    double share = atof(value_of(line, "share")), ceiling = atof(value_of(line, "ceiling_gbps"));
    assert_true(fabs(gbps / ceiling - share) < 0.01 * share);
    assert_true(gbps * ns > 0.95 * 3 * 4096 * 4 && gbps * ns < 1.05 * 3 * 4096 * 4);
    assert_true(line[0] == '{' && strchr(line, '\n') == line + size - 1);
    free(line);
}

static void runs_add_up_in_one_file(void **state)
{
    (void)state;
    size_t once, twice;
    folder_clear();
    assert_says(tool(ARGS(ONE_CASE, "--json", "out.json")), 0, NULL);
    free(file_read("out.json", &once));
    assert_says(tool(ARGS(ONE_CASE, "--json", "out.json", "--threads", "2")), 0, NULL);
    char *lines = file_read("out.json", &twice);
    assert_true(twice > once);
    assert_int_equal(atoi(value_of(lines + once, "threads")), 2);
    free(lines);
}

/* Everyone in the file is on the page, and the page needs nothing from elsewhere. */
static void a_page_shows_every_line_of_the_file(void **state)
{
    (void)state;
    static const char peer[] =
        "{\"who\": \"a < b & c\", \"op\": \"" SAMPLE_MAP "\", \"case\": \"" SAMPLE_MAP_CASE "\", "
        "\"dtype\": \"f32\", \"shape\": \"4096\", \"device\": \"cpu\", \"threads\": 1, "
        "\"median_ns\": 1000, \"gbps\": 49.25}\n"
        "this line is not JSON\n";
    static const char *const wanted[] = {
        "<!DOCTYPE html>", "<svg", "49.25 GB/s", "a &lt; b &amp; c", "4096 f32", "</html>",
    };
    size_t size;
    folder_clear();
    file_write("out.json", peer, strlen(peer));
    assert_says(tool(ARGS(ONE_CASE, "--json", "out.json", "--html", "out.html")), 0, NULL);
    char *page = file_read("out.html", &size);
    for (int64_t i = 0; i < COUNT_OF(wanted); i++)
        if (strstr(page, wanted[i]) == NULL)
            fail_msg("\"%s\" is not on the page", wanted[i]);
    assert_null(strstr(page, "http"));
    assert_null(strstr(page, "src="));
    free(page);
}

static void a_page_can_be_of_this_run_alone(void **state)
{
    (void)state;
    size_t size;
    folder_clear();
    assert_says(tool(ARGS(ONE_CASE, "--html", "out.html")), 0, NULL);
    char *page = file_read("out.html", &size);
    assert_non_null(strstr(page, "4096 f32"));
    assert_null(strstr(page, "over size")); /* one point is no line */
    assert_int_equal(folder_count(), 1);
    free(page);
}

static void assert_page(const char *text)
{
    size_t size;
    char *page = file_read("out.html", &size);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(page, text, size);
    free(page);
}

/* A run that measures nothing leaves the page of an earlier one. */
static void a_page_stays_until_there_is_another(void **state)
{
    (void)state;
    static const char old[] = "an old page";
    size_t size;
    folder_clear();
    file_write("out.html", old, strlen(old));
    assert_says(tool(ARGS("bench", "--op", "dropout", "--html", "out.html")), 2,
                "there is no operator dropout");
    assert_page(old);
    assert_says(tool(ARGS("bench", "--op", SAMPLE_ROWS_CASE ", rows of 8192", "--dtype", "f32",
                          "--html", "out.html")),
                1, "no case has this");
    assert_page(old);
    assert_says(tool(ARGS(ONE_CASE, "--json", "no/such.json", "--html", "out.html")), 1,
                "--json: no/such.json: No such file or directory");
    assert_page(old);
    assert_says(tool(ARGS(ONE_CASE, "--json", "./out.html", "--html", "out.html")), 1,
                "--html: out.html is also the file of --json");
    assert_says(tool(ARGS(ONE_CASE, "--html", "out.html")), 0, NULL);
    char *page = file_read("out.html", &size);
    assert_true(strncmp(page, "<!DOCTYPE html>", 15) == 0);
    free(page);
}

static void several_sizes_and_threads_become_lines(void **state)
{
    (void)state;
    static const char *const wanted[] = { "over size", "over threads", "<path" };
    size_t size;
    folder_clear();
    assert_says(tool(ARGS(TWO_CASES, "--json", "out.json")), 0, NULL);
    assert_says(tool(ARGS(TWO_CASES, "--json", "out.json", "--threads", "2", "--html", "out.html")),
                0, NULL);
    char *page = file_read("out.html", &size);
    for (int64_t i = 0; i < COUNT_OF(wanted); i++)
        if (strstr(page, wanted[i]) == NULL)
            fail_msg("\"%s\" is not on the page", wanted[i]);
    free(page);
}

static void the_table_has_one_line_for_a_case(void **state)
{
    (void)state;
    outcome got = tool(ARGS(ONE_CASE));
    assert_says(got, 0, NULL);
    const char *row = strstr(got.out, "\nrelu ");
    assert_non_null(row);
    assert_null(strstr(row + 1, "\nrelu "));
    assert_non_null(strstr(row, "4096"));
}

/* The layouts of the lines that one run wrote must be these, in this order. */
static void assert_layouts(const char *const *layouts)
{
    size_t size;
    char *text = file_read("out.json", &size), *line = text;
    for (; *layouts; layouts++, line = strchr(line, '\n') + 1)
        assert_word(line, "layout", *layouts);
    assert_true(*line == 0);
    free(text);
}

static void sets_have_cases_of_their_own(void **state)
{
    (void)state;
    folder_clear();
    assert_says(tool(ARGS("bench", "--set", "growth", "--op", SAMPLE_MAP, "--shape", "64",
                          "--seconds", "0", "--json", "out.json")),
                0, NULL);
    assert_layouts(ARGS("plain"));
    folder_clear();
    assert_says(tool(ARGS("bench", "--set", "cliffs", "--op", SAMPLE_ROWS, "--shape", "64x1023",
                          "--dtype", "bf16", "--seconds", "0", "--json", "out.json")),
                0, NULL);
    assert_layouts(ARGS("plain", "off by one element", "subnormal numbers"));
}

static void lines_say_what_memory_it_was(void **state)
{
    (void)state;
    size_t size;
    folder_clear();
    assert_says(tool(ARGS(ONE_CASE, "--json", "out.json", "--pages", "ordinary")), 0, NULL);
    outcome got = tool(ARGS(ONE_CASE, "--json", "out.json", "--pages", "huge"));
    char *text = file_read("out.json", &size);
    assert_word(text, "pages", "ordinary");
    if (got.status == 0)
        assert_word(strchr(text, '\n') + 1, "pages", "huge");
    else
        assert_says(got, 2, "this system gives no huge pages");
    free(text);
}

/* What the program writes to a terminal. */
static char *on_a_terminal(const char *const *args)
{
    enum {
        MOST = 1 << 16
    };
    char *text = unit_malloc(MOST);
    size_t used = 0;
    int host = posix_openpt(O_RDWR | O_NOCTTY);
    if (host < 0 || grantpt(host) != 0 || unlockpt(host) != 0)
        fail_msg("there are no terminals here");
    int terminal = open(ptsname(host), O_RDWR | O_NOCTTY);
    pid_t pid = tool_start(args, -1, terminal, -1, NULL);
    close(terminal);
    for (ssize_t n; used < MOST - 1 && (n = read(host, text + used, MOST - 1 - used)) > 0;)
        used += (size_t)n;
    assert_int_equal(tool_wait(pid), 0);
    close(host);
    text[used] = 0;
    return text;
}

static void a_terminal_has_a_bar_and_a_pipe_has_none(void **state)
{
    (void)state;
    char *text = on_a_terminal(ARGS(TWO_CASES));
    const char *first = strstr(text, "] 0 of 2  " SAMPLE_MAP_CASE " f32 4096"),
               *gone = strstr(text, "\r\033[K");
    const char *second =
        strstr(text, "[###############...............] 1 of 2  " SAMPLE_MAP_CASE " f32 65536");
    assert_true(first && gone && second && first < gone && gone < second);
    free(text);
    assert_null(strstr(tool(ARGS(TWO_CASES)).out, " of 2 "));
}

/* Every operator, though no case has this shape; and one that has cases, in shapes of either
 * kind. */
static void any_shape_is_measured(void **state)
{
    (void)state;
    size_t size;
    folder_clear();
    assert_says(tool(ARGS("bench", "--shape", "3x5x7", "--dtype", "f16", "--seconds", "0", "--json",
                          "out.json")),
                0, NULL);
    char *lines = file_read("out.json", &size), *line = lines;
    for (int32_t i = 0; i < vjp_op_count(); i++, line = strchr(line, '\n') + 1) {
        assert_word(line, "op", vjp_op_at(i)->name);
        assert_word(line, "dtype", "f16");
        assert_word(line, "shape", "3x5x7");
        assert_word(line, "layout", "plain");
    }
    assert_true(*line == 0);
    free(lines);
    outcome got = tool(ARGS("bench", "--op", SAMPLE_MAP_TITLE, "--dtype", "f32", "--shape",
                            "1x2x3x4x5x1x1x1x1x1x1x1,4096", "--seconds", "0"));
    assert_says(got, 0, NULL);
    assert_non_null(
        strstr(got.out, "\n" SAMPLE_MAP "              f32   1x2x3x4x5x1x1x1x1x1x1x1 "));
    assert_non_null(strstr(got.out, "\n" SAMPLE_MAP_CASE "                       f32   4096 "));
    assert_null(strstr(got.out, "\n" SAMPLE_MAP "              f32   4096 "));
}

/* Nothing is measured, and the file stays. */
static void a_file_with_a_wrong_line_is_not_resumed(void **state)
{
    (void)state;
    static const char *const wrong[] = { "this line is not JSON\n", "{\"who\": \"vjp\"}\n", "\n" };
    size_t size;
    for (int i = 0; i < COUNT_OF(wrong); i++) {
        folder_clear();
        assert_says(tool(ARGS(ONE_CASE, "--json", "out.json", "--seconds", "0")), 0, NULL);
        char *line = file_read("out.json", &size), text[2048];
        snprintf(text, sizeof text, "%s%s%s", line, wrong[i], line);
        file_write("out.json", text, strlen(text));
        outcome got = tool(ARGS(TWO_CASES, "--json", "out.json", "--resume"));
        assert_says(got, 1, "vjp bench: --resume: out.json: line 2 was not written by vjp bench\n");
        assert_null(strstr(got.out, "65536"));
        assert_true(file_is("out.json", text, strlen(text)));
        free(line);
    }
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const char *const no_shapes[] = {
        "0",    "3x",   "x3", "3xx4", "3x-1", "9999999999999999999", "4000000000x4000000000",
        "1x1x1x1x1x1x1x1x1x1x1x1x1",
    };
    assert_says(tool(ARGS("bench", "--threads", "0")), 2, "--threads");
    assert_says(tool(ARGS("bench", "--device", "tpu")), 2, "is neither cpu nor cuda");
    assert_says(tool(ARGS("bench", "--set", "all")), 2, "cpu has no set \"all\"");
    assert_says(tool(ARGS("bench", "--pages", "tiny")), 2, "neither huge nor ordinary");
    assert_says(tool(ARGS("bench", "--dtype", "f32,f33")), 2, "--dtype: \"f33\" is no dtype");
    assert_says(tool(ARGS("bench", "--resume")), 2, "--resume needs --json FILE");
    for (int i = 0; i < COUNT_OF(no_shapes); i++)
        assert_says(tool(ARGS("bench", "--shape", no_shapes[i])), 2,
                    "is not a shape such as 65536x1024");
    assert_says(tool(ARGS("bench", "--op", SAMPLE_MAP "s")), 2, "did you mean " SAMPLE_MAP "?");
    assert_says(tool(ARGS(ONE_CASE, "--html", "no/such/folder")), 1,
                "--html: no/such/folder: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_case_becomes_a_line_of_json),
        cmocka_unit_test(runs_add_up_in_one_file),
        cmocka_unit_test(a_page_shows_every_line_of_the_file),
        cmocka_unit_test(a_page_can_be_of_this_run_alone),
        cmocka_unit_test(a_page_stays_until_there_is_another),
        cmocka_unit_test(several_sizes_and_threads_become_lines),
        cmocka_unit_test(the_table_has_one_line_for_a_case),
        cmocka_unit_test(sets_have_cases_of_their_own),
        cmocka_unit_test(lines_say_what_memory_it_was),
        cmocka_unit_test(a_terminal_has_a_bar_and_a_pipe_has_none),
        cmocka_unit_test(any_shape_is_measured),
        cmocka_unit_test(a_file_with_a_wrong_line_is_not_resumed),
        cmocka_unit_test(wrong_options_are_refused),
    };
    return cmocka_run_group_tests_name("bench", tests, folder_open, folder_close);
}
