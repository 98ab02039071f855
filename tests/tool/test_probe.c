/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe.c - what `vjp check` would notice: each fault that a device could have is put into the
 * results of a correct run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dtypes.h"
#include "probe.h"
#include "samples.h"
#include "unit.h"

enum {
    POISON = 0xa5
};

static memory host;
static vjp_context *ctx;

static int open_context(void **state)
{
    (void)state;
    char reason[VJP_REASON_SIZE];
    bool opened = memory_open(&host, VJP_CPU, 0, reason);
    return opened ? (int)vjp_context_create(NULL, &ctx, NULL, 0) : 1;
}

static int close_context(void **state)
{
    (void)state;
    vjp_context_destroy(ctx);
    return 0;
}

/* Rows of 100 with gaps between them, run on both sides. */
static void open_rows(probe *t, vjp_dtype dtype, uint64_t number)
{
    const int64_t shape[] = { 7, 100 };
    problem p = problem_start(SAMPLE_ROWS);
    problem_contiguous(&p, dtype, dtype, 2, shape, 0, NULL);
    problem_drop_inputs(&p);
    p.tensors[problem_tensor(&p, "diff_src")].strides[0] = 103;
    assert_true(probe_open(t, &p, number, &host, &host));
    assert_true(probe_run(t, &t->reference, ctx, ON_DEFAULT_STREAM, POISON));
    assert_true(probe_run(t, &t->device, ctx, ON_OWN_STREAM, POISON));
    assert_true(probe_compare(t, false));
}

static void open_map(probe *t)
{
    const int64_t shape[] = { 300 };
    problem p = problem_start(SAMPLE_MAP);
    problem_contiguous(&p, VJP_F32, VJP_F32, 1, shape, 0, NULL);
    assert_true(probe_open(t, &p, 6, &host, &host));
    assert_true(probe_run(t, &t->reference, ctx, ON_DEFAULT_STREAM, POISON));
    assert_true(probe_run(t, &t->device, ctx, CAPTURED, POISON));
}

/* The device's element in dense order becomes this. */
static void set_element(probe *t, int64_t index, double value)
{
    unsigned char bytes[8];
    vjp_dtype dtype = t->p.tensors[t->p.op->ninputs].dtype;
    element_write(dtype, bytes, value);
    t->device.bits[index] = element_bits(dtype, bytes);
}

static double element(const probe *t, int64_t index)
{
    return element_from_bits(t->p.tensors[t->p.op->ninputs].dtype, t->device.bits[index]);
}

static void assert_found(probe *t, bool well, const char *words)
{
    assert_false(well);
    if (strstr(t->failure, words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, t->failure);
    probe_close(t);
}

static void a_wrong_bit_of_a_map_is_found(void **state)
{
    (void)state;
    probe t;
    open_map(&t);
    t.device.bits[299] ^= 1;
    assert_found(&t, probe_compare(&t, true), "diff_src(299)");
}

static void the_sign_of_a_zero_is_found(void **state)
{
    (void)state;
    probe t;
    int64_t i = 0;
    open_map(&t);
    while (t.device.bits[i] != 0)
        i++;
    set_element(&t, i, -0.0);
    assert_found(&t, probe_compare(&t, true), "is -0");
}

static void a_sum_may_be_another_within_its_bound(void **state)
{
    (void)state;
    static const vjp_dtype dtypes[] = { VJP_F64, VJP_F32, VJP_F16, VJP_BF16 };
    for (int64_t i = 0; i < COUNT_OF(dtypes); i++) {
        probe t;
        open_rows(&t, dtypes[i], 5);
        int64_t at = 321;
        while (fabs(element(&t, at)) < 0.1 || fabs(element(&t, at)) > 1)
            at++;
        set_element(&t, at, dtype_next(dtypes[i], element(&t, at), 1));
        if (!dtype_is_16_bit(dtypes[i])) /* there it may be on the wrong side of the exact value */
            assert_true(probe_compare(&t, true));
        assert_found(&t, probe_compare(&t, false), "the reference's");
    }
}

static void a_sum_beyond_its_bound_is_found(void **state)
{
    (void)state;
    static const vjp_dtype dtypes[] = { VJP_F64, VJP_F32, VJP_F16, VJP_BF16 };
    for (int64_t i = 0; i < COUNT_OF(dtypes); i++) {
        probe t;
        open_rows(&t, dtypes[i], 5);
        int64_t at = 321;
        while (fabs(element(&t, at)) < 0.1)
            at++;
        set_element(&t, at, element(&t, at) * (dtype_is_16_bit(dtypes[i]) ? 1.02 : 1.0001));
        assert_found(&t, probe_compare(&t, true), "a sum: off by");
    }
}

static void a_nan_is_found(void **state)
{
    (void)state;
    probe t;
    open_rows(&t, VJP_F32, 5);
    set_element(&t, 699, NAN);
    assert_found(&t, probe_compare(&t, true), "nan (0xffffffffffffffff)");
}

static void another_result_of_the_same_run_is_found(void **state)
{
    (void)state;
    probe t;
    open_rows(&t, VJP_F32, 5);
    uint64_t *earlier = unit_malloc((size_t)t.count * sizeof *earlier);
    memcpy(earlier, t.device.bits, (size_t)t.count * sizeof *earlier);
    assert_true(probe_repeats(&t, earlier));
    earlier[17] ^= 1;
    assert_found(&t, probe_repeats(&t, earlier), "in an earlier run");
    free(earlier);
}

/* What a run wrote where: a byte of the block of a tensor, `at` from its index 0. */
typedef struct stray {
    int32_t tensor;
    ptrdiff_t at;
    const char *words;
} stray;

/* Values whose blocks have room for it: some begin or end with their tensor. */
static ptrdiff_t open_rows_around(probe *t, const stray *s)
{
    for (uint64_t number = 0;; number++) {
        open_rows(t, VJP_F32, number);
        ptrdiff_t at = t->start[s->tensor] + s->at;
        if (at >= 0 && at < (ptrdiff_t)t->size[s->tensor])
            return at;
        probe_close(t);
    }
}

static void a_stray_byte_is_found(void **state)
{
    (void)state;
    static const stray strays[] = {
        { 0, 4, "diff_dst: the input" },
        { 1, 699 * 4, "dst: the input" },
        { 4, -1, "diff_src: memory" },              /* before the first element */
        { 4, 100 * 4, "diff_src: memory" },         /* between rows */
        { 4, (6 * 103 + 100) * 4, "diff_src: memory" }, /* after the last element */
    };
    for (int64_t i = 0; i < COUNT_OF(strays); i++) {
        probe t;
        const stray *s = &strays[i];
        ptrdiff_t at = open_rows_around(&t, s);
        ((unsigned char *)t.device.blocks[s->tensor])[at] ^= 1;
        assert_found(&t, probe_settle(&t, &t.device, POISON), s->words);
    }
}

static void an_output_that_is_not_written_is_found(void **state)
{
    (void)state;
    probe t;
    open_rows(&t, VJP_F32, 5);
    probe_prepare(&t, &t.device, 0x11);
    assert_true(probe_settle(&t, &t.device, 0x11));
    assert_found(&t, probe_compare(&t, true), "700 of 700 elements are wrong");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_bit_of_a_map_is_found),
        cmocka_unit_test(the_sign_of_a_zero_is_found),
        cmocka_unit_test(a_sum_may_be_another_within_its_bound),
        cmocka_unit_test(a_sum_beyond_its_bound_is_found),
        cmocka_unit_test(a_nan_is_found),
        cmocka_unit_test(another_result_of_the_same_run_is_found),
        cmocka_unit_test(a_stray_byte_is_found),
        cmocka_unit_test(an_output_that_is_not_written_is_found),
    };
    return cmocka_run_group_tests_name("probe", tests, open_context, close_context);
}
