/* SPDX-License-Identifier: Apache-2.0 */
/* test_run.c - `vjp run` gives what the library gives: every operator and dtype, random shapes and
 * attributes, every version of the format, both orders; and its options. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "dtypes.h"
#include "samples.h"
#include "support.h"
#include "trial.h"

enum {
    MOST_ARGS = 48,
    ARG_SIZE = 64
};

/* A command line under construction. */
typedef struct line {
    char text[MOST_ARGS][ARG_SIZE];
    const char *args[MOST_ARGS + 1];
    int count;
} line;

static void add(line *l, const char *text)
{
    snprintf(l->text[l->count], ARG_SIZE, "%s", text);
    l->args[l->count] = l->text[l->count];
    l->args[++l->count] = NULL;
}

static void add_option(line *l, const char *name, const char *value)
{
    char option[ARG_SIZE];
    snprintf(option, sizeof option, "--%s", name);
    add(l, option);
    add(l, value);
}

static void add_attr(line *l, const vjp_attr *attr)
{
    char value[ARG_SIZE];
    if (attr->type == VJP_ATTR_BOOL)
        snprintf(value, sizeof value, "%s", attr->value.b ? "true" : "false");
    else if (attr->type == VJP_ATTR_S64)
        snprintf(value, sizeof value, "%" PRId64, attr->value.s64);
    else if (attr->type == VJP_ATTR_F32)
        snprintf(value, sizeof value, "%.17g", (double)attr->value.f32);
    else if (attr->type == VJP_ATTR_F64)
        snprintf(value, sizeof value, "%.17g", attr->value.f64);
    else
        snprintf(value, sizeof value, "%s", attr->value.str);
    add_option(l, attr->name, value);
}

/* ---- files that follow a problem ----------------------------------------------------------- */

/* Dense, the first index fastest if `fortran`. */
static void make_dense(vjp_tensor *tensor, bool fortran)
{
    int64_t stride = 1;
    for (int32_t i = 0; i < tensor->ndim; i++) {
        int32_t d = fortran ? i : tensor->ndim - 1 - i;
        tensor->strides[d] = stride;
        stride *= tensor->shape[d] > 1 ? tensor->shape[d] : 1;
    }
}

/* Outputs as the program makes them where no option says so: of the dtype and the shape of the
 * input that they go with; without that parameter, of the shape of a row. */
static void follow_inputs(problem *p)
{
    for (int32_t o = p->op->ninputs; o < p->ntensors; o++) {
        const vjp_tensor_info *output = vjp_op_tensor(p->op, o);
        int found = 0;
        for (int32_t i = 0; i < p->op->ninputs && !found; i++) {
            const vjp_tensor_info *input = vjp_op_tensor(p->op, i);
            found = input->dtype_rule == output->dtype_rule &&
                    input->shape_rule == output->shape_rule && problem_has(p, i);
            if (found)
                p->tensors[o].dtype = p->tensors[i].dtype;
        }
        if (!found && output->shape_rule == VJP_SHAPE_PARAM) {
            int64_t shape[VJP_MAX_DIMS];
            int32_t ndim =
                problem_axis_shape(p, p->tensors[0].ndim, p->tensors[0].shape, shape);
            vjp_tensor_contiguous(p->tensors[0].dtype, ndim, shape, &p->tensors[o]);
        }
    }
}

/* `vjp run` gives all outputs that may be wider one dtype: that of the first such tensor. */
static void unify_wide(problem *p)
{
    vjp_dtype wide = 0;
    for (int32_t i = 0; i < p->ntensors; i++) {
        if (vjp_op_tensor(p->op, i)->dtype_rule != VJP_DTYPE_WIDE || !problem_has(p, i))
            continue;
        wide = wide ? wide : p->tensors[i].dtype;
        p->tensors[i].dtype = wide;
    }
}

/* A random problem with the layouts that files have. Bit i of `fortran` is the order of tensor i;
 * outputs are always in C order. */
static problem file_problem(const char *op, case_dtypes pair, uint64_t number, unsigned fortran)
{
    problem p = case_draw(op, pair.dtype, pair.wide, number);
    for (int32_t i = 0; i < p.ntensors; i++) {
        p.home[i] = i;
        make_dense(&p.tensors[i], i < p.op->ninputs && (fortran >> i & 1));
    }
    follow_inputs(&p);
    unify_wide(&p);
    return p;
}

static size_t data_size(const vjp_tensor *tensor)
{
    return (size_t)tensor_count(tensor) * vjp_dtype_size(tensor->dtype);
}

static void path_of(char path[ARG_SIZE], const problem *p, int32_t index)
{
    snprintf(path, ARG_SIZE, "%s.npy", vjp_op_tensor(p->op, index)->name);
}

static void save_inputs(const trial *t, int major, unsigned fortran)
{
    for (int32_t i = 0; i < t->p.op->ninputs; i++) {
        const vjp_tensor *tensor = &t->p.tensors[i];
        char path[ARG_SIZE], dict[DICT_SIZE];
        if (!problem_has(&t->p, i))
            continue;
        path_of(path, &t->p, i);
        numpy_dict(dict, numpy_descr(tensor->dtype), fortran >> i & 1, tensor->ndim, tensor->shape);
        /* Without blanks the data begin anywhere: they need not be aligned. */
        numpy_save(path, major, dict, fortran & 4 ? 1 : 64, t->data[i], data_size(tensor));
    }
}

/* The file of an output: the header NumPy would write, and the elements of memory. */
static void check_output(const trial *t, int32_t index)
{
    const problem *p = &t->p;
    const vjp_tensor *tensor = &p->tensors[index];
    char path[ARG_SIZE], dict[DICT_SIZE], head[HEADER_SIZE], text[PROBLEM_TEXT];
    size_t size, width = vjp_dtype_size(tensor->dtype);
    int64_t shape[VJP_MAX_DIMS];
    int32_t ndim = tensor->ndim;
    memcpy(shape, tensor->shape, sizeof shape);
    if (vjp_op_tensor(p->op, index)->shape_rule == VJP_SHAPE_ROW) /* files have no dim of 1 there */
        ndim = problem_row_shape(p, p->tensors[0].ndim, p->tensors[0].shape, 0, shape);
    path_of(path, p, index);
    numpy_dict(dict, numpy_descr(tensor->dtype), false, ndim, shape);
    size_t head_size = numpy_head(head, 1, dict, 64);
    char *file = file_read(path, &size);
    assert_int_equal(size, head_size + data_size(tensor));
    assert_memory_equal(file, head, head_size);
    for (size_t i = 0; i < (size_t)tensor_count(tensor); i++)
        if (element_bits(tensor->dtype, file + head_size + i * width) !=
            element_bits(tensor->dtype, (char *)t->data[index] + i * width))
            fail_msg("%s: element %zu differs\n%s", path, i, problem_describe(&t->p, text));
    free(file);
}

/* The dtype of an output that is wider than any input says, or 0: one that belongs to a slope
 * follows the slope. */
static vjp_dtype needed_wide(const problem *p)
{
    bool follows = false;
    vjp_dtype needed = 0;
    for (int32_t i = 0; i < p->ntensors; i++) {
        vjp_dtype_rule rule = vjp_op_tensor(p->op, i)->dtype_rule;
        bool may = rule == VJP_DTYPE_WIDE || rule == VJP_DTYPE_ANY;
        if (!may || !problem_has(p, i))
            continue;
        follows |= i < p->op->ninputs && p->tensors[i].dtype != p->tensors[0].dtype;
        if (p->tensors[i].dtype != p->tensors[0].dtype)
            needed = p->tensors[i].dtype;
    }
    return follows ? 0 : needed;
}

static void check_problem(const problem *p, uint64_t number, int major, unsigned fortran)
{
    trial t;
    vjp_context *ctx = NULL;
    line l = { .count = 0 };
    char path[ARG_SIZE];
    folder_clear();
    trial_open(&t, p, number);
    save_inputs(&t, major, fortran);
    add(&l, "run");
    add(&l, p->op->name);
    for (int32_t i = 0; i < p->nattrs; i++)
        add_attr(&l, &p->attrs[i]);
    int64_t files = 0;
    for (int32_t i = 0; i < p->ntensors; i++)
        if (problem_has(p, i)) {
            path_of(path, p, i);
            add_option(&l, vjp_op_tensor(p->op, i)->name, path);
            files++;
        }
    if (needed_wide(p))
        add_option(&l, "wide", vjp_dtype_name(needed_wide(p)));
    assert_status(VJP_OK, vjp_context_create(NULL, &ctx, NULL, 0), NULL);
    trial_run(&t, ctx, 0x5a);
    vjp_context_destroy(ctx);
    assert_says(tool(l.args), 0, NULL);
    for (int32_t i = p->op->ninputs; i < p->ntensors; i++)
        if (problem_has(p, i))
            check_output(&t, i);
    assert_int_equal(folder_count(), files);
    trial_close(&t);
}

/* Every pair of dtypes, every version, each input in each order at some time. */
static void files_give_what_memory_gives(void **state)
{
    const vjp_op_info *op = *state;
    case_dtypes pairs[CASE_DTYPES];
    int32_t npairs = case_dtypes_of(op->name, pairs);
    uint64_t number = 0;
    for (int32_t i = 0; i < npairs; i++)
        for (int major = 1; major <= 3; major++)
            for (unsigned fortran = 0; fortran < 8; fortran += unit_quick() ? 5 : 1, number++) {
                problem p = file_problem(op->name, pairs[i], number, fortran);
                check_problem(&p, number, major, fortran);
            }
}

/* ---- options ------------------------------------------------------------------------------- */

/* src is -1, 0, 1, 2 and diff_dst 10, 11, 12, 13. */
static void check_values(const char *const *args, const float wanted[4])
{
    size_t size;
    folder_clear();
    numpy_ramp("x.npy", 4, -1);
    numpy_ramp("g.npy", 4, 10);
    assert_says(tool(args), 0, NULL);
    char *file = file_read("d.npy", &size);
    assert_int_equal(size, 128 + 4 * sizeof(float));
    assert_memory_equal(file + 128, wanted, 4 * sizeof(float));
    free(file);
}

#define FILES "--src", "x.npy", "--diff_dst", "g.npy", "--diff_src", "d.npy"

static void numbers_are_read_by_their_type(void **state)
{
    (void)state;
    static const float gate[4] = { 0, 5.5f, 6, 0 };
    static const float from_dst[4] = { -20, 0, 0, -26 };
    check_values(ARGS("run", SAMPLE_NUMBERS, FILES, "--alpha", "0.5", "--beta", "0.25"), gate);
    check_values(ARGS("run", SAMPLE_NUMBERS, FILES, "--alpha=5e-1", "--beta=-0.25", "--beta=.25"),
                 gate);
    check_values(ARGS("run", "--alpha", "0x1p-1", SAMPLE_NUMBERS, FILES, "--beta",
                      "1e-45"), /* a subnormal, and no error */
                 gate);
    check_values(ARGS("run", SAMPLE_SWITCH, FILES, "--use_dst", "1"), from_dst);
    check_values(ARGS("run", SAMPLE_SWITCH, FILES, "--use_dst", "true"), from_dst);
    check_values(ARGS("run", SAMPLE_MAP, FILES, "--use_dst", "0", "--threads", "2"),
                 (const float[4]){ 0, 0, 12, 13 });
    check_values(ARGS("run", SAMPLE_MAP, FILES, "--use_dst=false", "--threads=0"),
                 (const float[4]){ 0, 0, 12, 13 });
    check_values(ARGS("run", SAMPLE_MAP_TITLE, "--src", "x.npy", "--diff-dst", "g.npy",
                      "--diff-src=d.npy", "--use-dst=0"),
                 (const float[4]){ 0, 0, 12, 13 });
    check_values(ARGS("run", SAMPLE_ROWS, "--diff_dst", "g.npy", "--dst", "x.npy", "--diff_src",
                      "d.npy", "--axis", "-1"),
                 (const float[4]){ 18, -0.0f, -16, -30 });
}

int main(void)
{
    struct CMUnitTest *tests = unit_malloc((size_t)(vjp_op_count() + 1) * sizeof *tests);
    int32_t count = 0;
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(numbers_are_read_by_their_type);
    for (int32_t i = 0; i < vjp_op_count(); i++)
        tests[count++] = unit_named(vjp_op_at(i)->name, "files give what memory gives",
                                    files_give_what_memory_gives, vjp_op_at(i));
    int failed =
        _cmocka_run_group_tests("vjp run", tests, (size_t)count, folder_open, folder_close);
    free(tests);
    return failed;
}
