/* SPDX-License-Identifier: Apache-2.0 */
/* test_check.c - `vjp check`: the library passes, and the command says how much it looked at. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

/* The number that passed; fails the test unless the last line says so and nothing failed. */
static int64_t passed(outcome got)
{
    int64_t passed = -1, failed = -1;
    assert_says(got, 0, NULL);
    if (sscanf(got.out, "%" SCNd64 " passed, %" SCNd64 " failed", &passed, &failed) != 2)
        fail_msg("no count in: %s", got.out);
    assert_int_equal(failed, 0);
    return passed;
}

static void the_library_passes(void **state)
{
    (void)state;
    int64_t count = passed(tool(ARGS("check", "--quick")));
    assert_true(count > 20 * vjp_op_count());
    if (unit_quick())
        return;
    outcome again = tool(ARGS("check", "--quick", "--device", "cpu", "--seed", "7"));
    assert_int_equal(passed(again), count);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    assert_says(tool(ARGS("check", "--seed", "x")), 2, "is not a whole number");
    assert_says(tool(ARGS("check", "--device", "tpu")), 2, "is neither cpu nor cuda");
    assert_says(tool(ARGS("check", "--quick=1")), 2, "takes no value");
}

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static void vectors_that_cannot_be_read_are_failures(void **state)
{
    (void)state;
    assert_says(tool(ARGS("check", "--vectors", "nowhere")), 1, "No such file");
    write_text("cases.txt", "");
    assert_says(tool(ARGS("check", "--vectors", ".")), 1, "there is nothing to check");
    write_text("cases.txt", "one no_such_operator\ntwo relu_backward use_dst=0\n");
    outcome o = tool(ARGS("check", "--vectors", "."));
    assert_int_equal(o.status, 1);
    assert_non_null(strstr(o.out, "there is no such operator"));
    assert_non_null(strstr(o.out, "two/src.npy"));
    assert_non_null(strstr(o.out, "0 passed, 2 failed"));
}

static void without_a_gpu_it_says_so(void **state)
{
    (void)state;
    if (dlopen("libcuda.so.1", RTLD_LAZY) != NULL)
        skip();
    assert_says(tool(ARGS("check", "--device", "cuda")), 1, "there is no NVIDIA driver");
    assert_says(tool(ARGS("bench", "--device", "cuda")), 1, "there is no NVIDIA driver");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_passes),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(vectors_that_cannot_be_read_are_failures),
        cmocka_unit_test(without_a_gpu_it_says_so),
    };
    return cmocka_run_group_tests_name("check", tests, folder_open, folder_close);
}
