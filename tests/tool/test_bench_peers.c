/* SPDX-License-Identifier: Apache-2.0 */
/* test_bench_peers.c - `vjp bench --peers` beside the peer of peer_fake.c: peers that are right,
 * refuse or are wrong, in the table, in the lines and on the page. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"
#include "support.h"

#define BENCH_MAP "bench", "--op", SAMPLE_MAP, "--shape", "4096", "--seconds", "0"

/* The first line of a file that has all three words, cut out of the text; fails without one. */
static char *line_with(char *text, const char *a, const char *b, const char *c)
{
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strstr(line, a) && strstr(line, b) && strstr(line, c))
            return line;
    fail_msg("no line with %s, %s and %s", a, b, c);
    return NULL;
}

static char *lines(void)
{
    size_t size;
    return file_read("out.json", &size);
}

static void peers_are_there(void)
{
    folder_clear();
    setenv("VJP_PEERS", VJP_TEST_PEERS, 1);
    unsetenv("FAKE_PEER_IS_MISSING");
}

/* A line of the fake peer in that dtype must have these words, and not those. */
static void assert_line(const char *dtype, const char *words, const char *not_words)
{
    char quoted[32], *text = lines();
    snprintf(quoted, sizeof(quoted), "\"dtype\": \"%s\"", dtype);
    const char *line = line_with(text, "\"who\": \"fake 1.2\"", quoted, "\"shape\": \"4096\"");
    if (!strstr(line, words) || strstr(line, not_words))
        fail_msg("\"%s\" is missing or \"%s\" is there: %s", words, not_words, line);
    free(text);
}

static void a_peer_has_lines_that_say_what_became_of_it(void **state)
{
    (void)state;
    peers_are_there();
    assert_says(tool(ARGS(BENCH_MAP, "--peers", "--json", "out.json")), 0, NULL);
    assert_line("f32", "\"over_vjp\": ", "note");
    assert_line("f32", "\"isa\": \"FAKE1\"", "note");
    assert_line("f64", "\"median_ns\": ", "note");
    assert_line("bf16", "\"note\": \"differs from vjp\"", "refuses");
    assert_line("f16", "\"note\": \"refuses: has no f16 \"", "median_ns");
}

/* NaN is a result like others, and what may be omitted a peer may lack. */
static void a_peer_agrees_without_optional_results_and_where_there_is_none(void **state)
{
    static const char *const cases[][2] = { { SAMPLE_NAN, "4096" },
                                                { SAMPLE_STATS, "4x1024" } };
    (void)state;
    for (int i = 0; i < 2; i++) {
        peers_are_there();
        assert_says(tool(ARGS("bench", "--op", cases[i][0], "--shape", cases[i][1], "--dtype", "f32",
                              "--seconds", "0", "--peers", "--json", "out.json")),
                    0, NULL);
        char *text = lines();
        const char *line = line_with(text, "\"who\": \"fake 1.2\"", cases[i][0], "over_vjp");
        assert_null(strstr(line, "note"));
        free(text);
    }
}

/* A run that is stopped between two cases has every line of the first. */
static void the_line_of_vjp_is_the_last_of_a_case(void **state)
{
    (void)state;
    peers_are_there();
    assert_says(tool(ARGS(BENCH_MAP, "--dtype", "f32", "--peers", "--json", "out.json")), 0, NULL);
    char *text = lines();
    const char *peer = strstr(text, "\"who\": \"fake 1.2\"");
    const char *ours = strstr(text, "\"who\": \"vjp\"");
    assert_non_null(peer);
    assert_non_null(ours);
    assert_true(peer < ours);
    free(text);
}

static void the_table_marks_wrong_results_and_refusals(void **state)
{
    (void)state;
    peers_are_there();
    outcome got = tool(ARGS(BENCH_MAP, "--peers"));
    assert_says(got, 0, NULL);
    char *copy = strdup(got.out);
    assert_non_null(strstr(copy, "beside fake 1.2"));
    assert_non_null(strchr(strstr(copy, " bf16 "), '!'));
    assert_true(strchr(strstr(copy, " f64 "), '!') == NULL);
    assert_non_null(strstr(strstr(copy, " f16 "), "refuses"));
    free(copy);
}

static void the_page_shows_both(void **state)
{
    (void)state;
    size_t size;
    peers_are_there();
    assert_says(tool(ARGS(BENCH_MAP, "--peers", "--html", "out.html")), 0, NULL);
    char *page = file_read("out.html", &size);
    assert_non_null(strstr(page, "fake 1.2"));
    assert_non_null(strstr(page, ">refuses: has no f16 </text>")); /* in place of a bar */
    assert_non_null(strstr(page, ", differs from vjp</text>"));
    assert_non_null(strstr(page, "<td>refuses: has no f16 </tr>"));
    assert_non_null(strstr(page, "<td>differs from vjp</tr>"));
    free(page);
}

static void a_run_can_be_resumed(void **state)
{
    (void)state;
    peers_are_there();
    assert_says(tool(ARGS(BENCH_MAP, "--dtype", "f32", "--json", "out.json")), 0, NULL);
    char *alone = lines();
    assert_says(tool(ARGS(BENCH_MAP, "--dtype", "f32", "--json", "out.json", "--resume")), 0, NULL);
    char *again = lines();
    assert_string_equal(alone, again);
    assert_says(tool(ARGS("bench", "--op", "dropout", "--json", "out.json", "--resume")), 2,
                "there is no operator dropout");
    assert_says(
        tool(ARGS(BENCH_MAP, "--peers", "--json", "out.json", "--resume", "--dtype", "f32")), 0,
        NULL);
    char *beside = lines(); /* the peer was missing */
    assert_true(strlen(beside) > strlen(again));
    assert_says(
        tool(ARGS(BENCH_MAP, "--peers", "--json", "out.json", "--resume", "--dtype", "f32")), 0,
        NULL);
    char *last = lines();
    assert_string_equal(beside, last);
    free(alone);
    free(again);
    free(beside);
    free(last);
}

/* The program ended while it wrote a line. */
static void a_line_that_was_cut_off_is_measured_again(void **state)
{
    (void)state;
    size_t size;
    peers_are_there();
    assert_says(tool(ARGS(BENCH_MAP, "--dtype", "f32", "--json", "out.json")), 0, NULL);
    char *whole = file_read("out.json", &size);
    file_write("out.json", whole, size - 10);
    assert_says(tool(ARGS(BENCH_MAP, "--dtype", "f32", "--json", "out.json", "--resume")), 0, NULL);
    char *again = lines(); /* and what was left of it is gone */
    for (const char *at = again; *at; at = strchr(at, '\n') + 1)
        assert_memory_equal(strchr(at, '\n') - 1, "}\n", 2);
    assert_non_null(strstr(again, "{\"who\": \"vjp\""));
    assert_says(tool(ARGS(BENCH_MAP, "--dtype", "f32", "--json", "out.json", "--resume")), 0, NULL);
    char *last = lines();
    assert_string_equal(again, last);
    free(whole);
    free(again);
    free(last);
}

static void who_has_no_peers_is_told_how_to_get_them(void **state)
{
    (void)state;
    peers_are_there();
    setenv("VJP_PEERS", ".", 1);
    assert_says(tool(ARGS(BENCH_MAP, "--peers")), 1, "make peers");
    peers_are_there();
    setenv("FAKE_PEER_IS_MISSING", "1", 1);
    assert_says(tool(ARGS(BENCH_MAP, "--peers")), 1, "it is not here");
    peers_are_there();
    assert_says(tool(ARGS(BENCH_MAP, "--peers", "--device", "cuda")), 2, "--peers is for the CPU");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_has_lines_that_say_what_became_of_it),
        cmocka_unit_test(a_peer_agrees_without_optional_results_and_where_there_is_none),
        cmocka_unit_test(the_line_of_vjp_is_the_last_of_a_case),
        cmocka_unit_test(the_table_marks_wrong_results_and_refusals),
        cmocka_unit_test(the_page_shows_both),
        cmocka_unit_test(a_run_can_be_resumed),
        cmocka_unit_test(a_line_that_was_cut_off_is_measured_again),
        cmocka_unit_test(who_has_no_peers_is_told_how_to_get_them),
    };
    return cmocka_run_group_tests_name("bench_peers", tests, folder_open, folder_close);
}
