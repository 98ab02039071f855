/* SPDX-License-Identifier: Apache-2.0 */
/* test_refuse_shapes.c - shapes, sizes and strides that plan creation refuses, and their
 * neighbours that it accepts.
 */
#include "refusal.h"
#include "samples.h"
#include "unit.h"

/* reshaped - give one tensor a dense layout of this shape. */
static problem reshaped(problem p, int32_t tensor, int32_t ndim, const int64_t *shape)
{
    vjp_status status =
        vjp_tensor_contiguous(p.tensors[tensor].dtype, ndim, shape, &p.tensors[tensor]);
    assert_status(VJP_OK, status, NULL);
    return p;
}

static problem restrided(problem p, int32_t tensor, const int64_t *strides)
{
    for (int32_t d = 0; d < p.tensors[tensor].ndim; d++)
        p.tensors[tensor].strides[d] = strides[d];
    return p;
}

/* ---- shapes ------------------------------------------------------------------------------- */

static void ranks_out_of_range(void **state)
{
    (void)state;
    const struct {
        int32_t ndim;
        const char *text;
    } ranks[] = { { 13, "13" }, { -1, "-1" }, { INT32_MAX, "2147483647" } };
    for (int64_t i = 0; i < COUNT_OF(ranks); i++)
        for (int32_t t = 0; t < 3; t++) {
            problem p = refusal_map();
            p.tensors[t].ndim = ranks[i].ndim;
            refused(&p, VJP_BAD_SHAPE, WORDS(vjp_op_tensor(p.op, t)->name, ranks[i].text));
        }
}

static void twelve_dims_are_allowed(void **state)
{
    (void)state;
    const int64_t shape[VJP_MAX_DIMS] = { 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2 };
    problem p = refusal_map();
    problem_contiguous(&p, VJP_F32, VJP_F32, VJP_MAX_DIMS, shape, 0, NULL);
    accepted(p);
}

static void negative_dims(void **state)
{
    (void)state;
    for (int32_t t = 0; t < 3; t++) {
        problem p = refusal_map();
        p.tensors[t].shape[1] = -3;
        refused(&p, VJP_BAD_SHAPE, WORDS(vjp_op_tensor(p.op, t)->name, "dim 1", "-3"));
    }
}

static void shapes_that_differ(void **state)
{
    (void)state;
    problem p = reshaped(refusal_map(), 1, 2, (int64_t[]){ 2, 7 });
    refused(&p, VJP_BAD_SHAPE, WORDS("diff_dst", "dim 1", "7", "5"));
    p = reshaped(refusal_map(), 2, 2, (int64_t[]){ 3, 5 });
    refused(&p, VJP_BAD_SHAPE, WORDS("diff_src", "dim 0", "3", "2"));
    p = reshaped(refusal_map(), 1, 1, (int64_t[]){ 5 });
    refused(&p, VJP_BAD_SHAPE, WORDS("diff_dst", "1", "2"));
    p = reshaped(refusal_map(), 1, 2, (int64_t[]){ 1, 5 });
    refused(&p, VJP_BAD_SHAPE, WORDS("diff_dst", "dim 0", "1", "2"));
    p = reshaped(refusal_map(), 2, 3, (int64_t[]){ 1, 2, 5 });
    refused(&p, VJP_BAD_SHAPE, WORDS("diff_src", "3", "2"));
    p = reshaped(refusal_row(1), 1, 2, (int64_t[]){ 2, 6 });
    refused(&p, VJP_BAD_SHAPE, WORDS("dst", "dim 1", "6", "5"));
    p = reshaped(refusal_map(), 1, 2, (int64_t[]){ 2, 0 });
    refused(&p, VJP_BAD_SHAPE, WORDS("diff_dst", "dim 1", "0", "5"));
}

/* ---- slopes ------------------------------------------------------------------------------- */

/* slopes_of - a fold of (2, 5, 7) with slope and diff_slope of this shape. */
static problem slopes_of(const char *format, int32_t ndim, const int64_t *shape)
{
    problem p = refusal_fold(format, 1);
    return reshaped(reshaped(p, 1, ndim, shape), 4, ndim, shape);
}

static void slopes_of_the_right_shape(void **state)
{
    (void)state;
    accepted(slopes_of("NCX", 1, (int64_t[]){ 5 }));
    accepted(slopes_of("NXC", 1, (int64_t[]){ 7 }));
    accepted(slopes_of("NCX", 1, (int64_t[]){ 1 }));
    accepted(slopes_of("NXC", 0, NULL));
    accepted(slopes_of("NXC", 2, (int64_t[]){ 5, 7 }));
    accepted(slopes_of("NCX", 2, (int64_t[]){ 5, 1 }));
    accepted(slopes_of("NCX", 3, (int64_t[]){ 1, 1, 7 }));
    accepted(slopes_of("NXC", 3, (int64_t[]){ 2, 1, 1 }));
    accepted(slopes_of("NXC", 3, (int64_t[]){ 2, 5, 7 }));
}

static void slopes_of_the_wrong_length(void **state)
{
    (void)state;
    const struct {
        const char *format;
        int64_t length;
        const char *text, *wanted;
    } slopes[] = { { "NCX", 7, "7", "5" }, { "NCX", 2, "2", "5" }, { "NCX", 0, "0", "5" },
                   { "NXC", 5, "5", "7" }, { "NXC", 8, "8", "7" }, { "NXC", 2, "2", "7" } };
    for (int64_t i = 0; i < COUNT_OF(slopes); i++) {
        problem p = slopes_of(slopes[i].format, 1, &slopes[i].length);
        refused(&p, VJP_BAD_SHAPE, WORDS("slope", slopes[i].text, slopes[i].wanted));
    }
}

static void slopes_that_do_not_broadcast(void **state)
{
    (void)state;
    problem p = slopes_of("NXC", 2, (int64_t[]){ 2, 7 });
    refused(&p, VJP_BAD_SHAPE, WORDS("slope", "dim 0", "2", "5"));
    p = slopes_of("NXC", 2, (int64_t[]){ 5, 6 });
    refused(&p, VJP_BAD_SHAPE, WORDS("slope", "dim 1", "6", "7"));
    p = slopes_of("NCX", 3, (int64_t[]){ 2, 5, 1 });
    accepted(p);
    p = slopes_of("NCX", 3, (int64_t[]){ 5, 1, 1 });
    refused(&p, VJP_BAD_SHAPE, WORDS("slope", "dim 0", "5", "2"));
    p = slopes_of("NCX", 4, (int64_t[]){ 1, 2, 5, 7 });
    refused(&p, VJP_BAD_SHAPE, WORDS("slope", "4", "3"));
}

static void a_slope_longer_than_a_scalar(void **state)
{
    (void)state;
    problem p = slopes_of("NXC", 1, (int64_t[]){ 1 });
    for (int32_t t = 0; t < 4; t++)
        if (t != 1)
            p = reshaped(p, t, 0, NULL);
    accepted(p);
    p = reshaped(reshaped(p, 1, 1, (int64_t[]){ 2 }), 4, 1, (int64_t[]){ 2 });
    refused(&p, VJP_BAD_SHAPE, WORDS("slope", "1", "0"));
}

static void a_diff_slope_unlike_slope(void **state)
{
    (void)state;
    problem p = reshaped(refusal_fold("NCX", 5), 4, 1, (int64_t[]){ 7 });
    refused(&p, VJP_BAD_SHAPE, WORDS("diff_slope", "dim 0", "7", "5"));
    p = reshaped(refusal_fold("NCX", 5), 4, 2, (int64_t[]){ 5, 1 });
    refused(&p, VJP_BAD_SHAPE, WORDS("diff_slope"));
    p = reshaped(refusal_fold("NCX", 1), 4, 0, NULL);
    refused(&p, VJP_BAD_SHAPE, WORDS("diff_slope"));
}

/* ---- sizes -------------------------------------------------------------------------------- */

/* sized - a map whose tensors all have this shape; strides as given for the inputs and the same,
 * or dense where they are NULL. */
static problem sized(vjp_dtype dtype, int32_t ndim, const int64_t *shape, const int64_t *strides)
{
    problem p = problem_start(SAMPLE_MAP);
    for (int32_t t = 0; t < 3; t++) {
        vjp_tensor *tensor = &p.tensors[t];
        int64_t step = 1;
        tensor->struct_size = sizeof *tensor;
        tensor->dtype = dtype;
        tensor->ndim = ndim;
        for (int32_t d = ndim - 1; d >= 0; d--) {
            tensor->shape[d] = shape[d];
            tensor->strides[d] = strides != NULL ? strides[d] : step;
            step = (int64_t)((uint64_t)step * (uint64_t)shape[d]);
        }
    }
    return p;
}

static void counts_that_overflow(void **state)
{
    (void)state;
    problem p = sized(VJP_F32, 2, (int64_t[]){ 1LL << 40, 1LL << 40 }, NULL);
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 0"));
    p = sized(VJP_F32, 3, (int64_t[]){ 1LL << 21, 1LL << 21, 1LL << 21 }, NULL);
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 0"));
    p = sized(VJP_F16, 1, (int64_t[]){ INT64_MAX }, NULL);
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 0"));
}

/* 62 bits for the bytes of a tensor: the last that fits, and the first that does not. */
static void bytes_that_overflow(void **state)
{
    (void)state;
    problem p = sized(VJP_F64, 1, (int64_t[]){ 1LL << 61 }, NULL);
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 0"));
    p = sized(VJP_F64, 1, (int64_t[]){ 1LL << 59 }, NULL);
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 0"));
    accepted(sized(VJP_F64, 1, (int64_t[]){ (1LL << 59) - 1 }, NULL));
    p = sized(VJP_BF16, 1, (int64_t[]){ 1LL << 61 }, NULL);
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 0"));
    accepted(sized(VJP_BF16, 1, (int64_t[]){ (1LL << 61) - 1 }, NULL));
}

static void extents_that_overflow(void **state)
{
    (void)state;
    const int64_t shape[] = { 1 << 30, 2 };
    problem p = sized(VJP_F32, 2, shape, (int64_t[]){ 1LL << 40, 1 });
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 0"));
    p = sized(VJP_F32, 2, shape, (int64_t[]){ -(1LL << 40), 1 });
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 0"));
    p = sized(VJP_F32, 2, shape, (int64_t[]){ 2, INT64_MIN });
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 1", "-9223372036854775808"));
    p = sized(VJP_F32, 2, shape, (int64_t[]){ 2, INT64_MAX });
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 1", "9223372036854775807"));
    p = sized(VJP_F64, 1, (int64_t[]){ 3 }, (int64_t[]){ 1LL << 60 });
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 0"));
    p = sized(VJP_F64, 2, (int64_t[]){ 2, 2 }, (int64_t[]){ 1LL << 59, 1LL << 59 });
    refused(&p, VJP_TOO_LARGE, WORDS("src", "dim 0"));
}

static void strides_of_dims_of_one_do_not_matter(void **state)
{
    (void)state;
    const int64_t wild[] = { INT64_MAX, INT64_MIN, 0, -1, 1LL << 62 };
    for (int64_t i = 0; i < COUNT_OF(wild); i++)
        accepted(sized(VJP_F32, 2, (int64_t[]){ 1, 5 }, (int64_t[]){ wild[i], 1 }));
}

static void more_than_two_to_the_31_elements_are_fine(void **state)
{
    (void)state;
    accepted(sized(VJP_BF16, 2, (int64_t[]){ 3, 1LL << 31 }, NULL));
}

/* ---- strides ------------------------------------------------------------------------------ */

static void outputs_that_repeat_an_element(void **state)
{
    (void)state;
    const struct {
        int64_t strides[2];
        const char *reason;
    } bad[] = {
        { { 0, 1 }, "stride 0 on dim 0" },   { { 5, 0 }, "stride 0 on dim 1" },
        { { 0, 0 }, "stride 0 on dim 0" },   { { 1, 1 }, "stride 1 on dim 1" },
        { { 1, -1 }, "stride -1 on dim 1" }, { { 4, 1 }, "stride 4 on dim 0" },
        { { -2, 1 }, "stride -2 on dim 0" }, { { 6, 2 }, "stride 6 on dim 0" },
    };
    for (int64_t i = 0; i < COUNT_OF(bad); i++) {
        problem p = restrided(refusal_map(), 2, bad[i].strides);
        refused(&p, VJP_BAD_STRIDES, WORDS("diff_src: ", bad[i].reason));
        /* What an output may not do, inputs may. */
        accepted(restrided(restrided(refusal_map(), 0, bad[i].strides), 1, bad[i].strides));
    }
}

static void outputs_one_to_one_in_any_order(void **state)
{
    (void)state;
    const int64_t good[][2] = { { 5, 1 },   { 1, 2 },   { -5, 1 }, { 5, -1 },
                                { -1, -2 }, { 100, 7 }, { 6, 1 },  { 1, 3 } };
    for (int64_t i = 0; i < COUNT_OF(good); i++)
        accepted(restrided(refusal_map(), 2, good[i]));
}

/* Rows of a stride nearly that of their elements: no two elements meet, but to see that takes a
 * step for each row, and after 512 it is not known. */
static void outputs_that_take_too_long_to_prove(void **state)
{
    (void)state;
    const int64_t strides[] = { 1013, 1009 };
    accepted(sized(VJP_F32, 2, (int64_t[]){ 500, 1000 }, strides));
    problem p = sized(VJP_F32, 2, (int64_t[]){ 600, 1000 }, strides);
    refused(&p, VJP_BAD_STRIDES,
            WORDS("diff_src: stride 1013 on dim 0 may put two elements on one address"));
}

static void a_diff_slope_that_repeats_an_element(void **state)
{
    (void)state;
    problem p = restrided(accepted(refusal_fold("NCX", 5)), 4, (int64_t[]){ 0 });
    refused(&p, VJP_BAD_STRIDES, WORDS("diff_slope", "dim 0"));
    accepted(restrided(refusal_fold("NCX", 5), 1, (int64_t[]){ 0 }));
    accepted(restrided(refusal_fold("NCX", 5), 4, (int64_t[]){ -3 }));
    accepted(restrided(refusal_fold("NCX", 1), 4, (int64_t[]){ 0 }));
}

/* A 1-D slope of 7 beside (2, 5, 7): along dim 1 in NCX, unless the format is switched off. */
static void a_slope_along_the_last_dim_in_any_format(void **state)
{
    (void)state;
    const int64_t shape[] = { 2, 5, 7 }, last = 7, channels = 5;
    for (int per_channel = 0; per_channel < 2; per_channel++) {
        problem p = problem_start(SAMPLE_FORMAT);
        problem_add_attr(&p, vjp_attr_str("data_format", "NCX"));
        problem_add_attr(&p, vjp_attr_bool("per_channel_broadcast", per_channel));
        problem_contiguous(&p, VJP_F32, VJP_F32, 3, shape, 1, per_channel ? &channels : &last);
        accepted(p);
        problem_contiguous(&p, VJP_F32, VJP_F32, 3, shape, 1, per_channel ? &last : &channels);
        refused(&p, VJP_BAD_SHAPE, WORDS("slope: dim 0", per_channel ? "dim 1" : "dim 2"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_out_of_range),
        cmocka_unit_test(twelve_dims_are_allowed),
        cmocka_unit_test(negative_dims),
        cmocka_unit_test(shapes_that_differ),
        cmocka_unit_test(slopes_of_the_right_shape),
        cmocka_unit_test(slopes_of_the_wrong_length),
        cmocka_unit_test(slopes_that_do_not_broadcast),
        cmocka_unit_test(a_slope_longer_than_a_scalar),
        cmocka_unit_test(a_diff_slope_unlike_slope),
        cmocka_unit_test(counts_that_overflow),
        cmocka_unit_test(bytes_that_overflow),
        cmocka_unit_test(extents_that_overflow),
        cmocka_unit_test(strides_of_dims_of_one_do_not_matter),
        cmocka_unit_test(more_than_two_to_the_31_elements_are_fine),
        cmocka_unit_test(outputs_that_repeat_an_element),
        cmocka_unit_test(outputs_one_to_one_in_any_order),
        cmocka_unit_test(outputs_that_take_too_long_to_prove),
        cmocka_unit_test(a_diff_slope_that_repeats_an_element),
        cmocka_unit_test(a_slope_along_the_last_dim_in_any_format),
    };
    return cmocka_run_group_tests(tests, refusal_open, refusal_close);
}
