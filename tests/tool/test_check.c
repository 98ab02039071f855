/* SPDX-License-Identifier: Apache-2.0 */
/* test_check.c - `vjp check`: the library passes, and the command reports how much it checked. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "safetensors.h"
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

/* ---- conformance vectors ------------------------------------------------------------------ */

/* The folder's only file of vectors: one with these texts and no tensors. */
static outcome check_texts(const char *operator_name, const char *cases)
{
    safetensors_text texts[] = { { "cases", (char *)cases },
                                 { "operator", (char *)operator_name } };
    safetensors s = { NULL, texts, 0, operator_name ? 2 : 1, NULL };
    char reason[SAFETENSORS_REASON_SIZE];
    folder_clear();
    assert_true(safetensors_write("v.safetensors", &s, reason));
    return tool(ARGS("check", "--vectors", "."));
}

/* Fails unless the one thing that was checked is reported with these words. */
static void unreadable(outcome got, const char *words)
{
    assert_int_equal(got.status, 1);
    if (!strstr(got.out, words) || !strstr(got.out, "0 passed, 1 failed"))
        fail_msg("\"%s\" is not in: %s", words, got.out);
}

static void vectors_that_cannot_be_read_are_failures(void **state)
{
    (void)state;
    const char *op = vjp_op_at(0)->name;
    folder_clear();
    assert_says(tool(ARGS("check", "--vectors", "nowhere")), 1, "No such file");
    assert_says(tool(ARGS("check", "--vectors", ".")), 1, "there is nothing to check");
    file_write("v.safetensors", "?", 1);
    unreadable(tool(ARGS("check", "--vectors", ".")), "./v.safetensors: not a safetensors file");
    unreadable(check_texts(NULL, "[]"), "./v.safetensors: __metadata__: it names no operator");
    unreadable(check_texts("no_operator", "[]"), "there is no such operator");
    unreadable(check_texts(op, ""), "case 0: a JSON array is missing");
    unreadable(check_texts(op, "[{}]"), "case 0: a case has no name");
    unreadable(check_texts(op, "[{\"name\":\"a\",\"other\":1}]"), "a key other than");
    unreadable(check_texts(op, "[{\"name\":\"a\",\"attributes\":{\"nothing\":1}}]"),
               "there is no such attribute");
    unreadable(check_texts(op, "[{\"name\":\"a\",\"strides\":{\"nothing\":[1]}}]"),
               "strides: there is no such tensor");
    unreadable(check_texts(op, "[{\"name\":\"a\"}]"), ": there is no such tensor");
}

/* The vectors of an operator, with a lower end above every result. */
static void results_out_of_range_are_failures(void **state)
{
    (void)state;
    char path[4096], reason[SAFETENSORS_REASON_SIZE] = "";
    safetensors s;
    snprintf(path, sizeof(path), "%s/%s.safetensors", VJP_TEST_VECTORS, vjp_op_at(0)->name);
    if (!safetensors_read(path, &s, reason))
        fail_msg("%s", reason);
    folder_clear();
    assert_true(safetensors_write("v.safetensors", &s, reason));
    int64_t cases = passed(tool(ARGS("check", "--vectors", ".")));
    assert_true(cases > 4);
    for (int64_t i = 0; i < s.ntensors; i++)
        if (strstr(s.tensors[i].name, ".low"))
            memset((void *)s.tensors[i].data, 0x7f, s.tensors[i].size);
    assert_true(safetensors_write("v.safetensors", &s, reason));
    outcome got = tool(ARGS("check", "--vectors", "."));
    snprintf(reason, sizeof(reason), "0 passed, %" PRId64 " failed", cases);
    assert_int_equal(got.status, 1);
    assert_non_null(strstr(got.out, reason));
    assert_non_null(strstr(got.out, ": element "));
    safetensors_free(&s);
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
        cmocka_unit_test(results_out_of_range_are_failures),
        cmocka_unit_test(without_a_gpu_it_says_so),
    };
    return cmocka_run_group_tests_name("check", tests, folder_open, folder_close);
}
