/* SPDX-License-Identifier: Apache-2.0 */
/* bench_select.c - which cases the options of `vjp bench` want: those of the set, and shapes of
 * --shape that the set does not have. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "bench.h"
#include "describe.h"

/* ---- cases of the set ---------------------------------------------------------------------- */

/* Whether the list "a,b,c" has the word; a list that was not given has every word. */
static bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    while (list && *list) {
        size_t n = strcspn(list, ",");
        if (n == length && !strncmp(list, word, n))
            return true;
        list += n + (list[n] == ',');
    }
    return !list;
}

static bool begins_with(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

bool bench_wants(const bench *b, const bench_result *r)
{
    const char *op = option_given(b->args, "op");
    bool wanted = !op || (op_named(op) ? op_named(op) == r->of.p.op : begins_with(r->of.name, op));
    return wanted && bench_wants_dtype(b, r->of.dtype) &&
           listed(option_given(b->args, "shape"), r->shape);
}

bool bench_wants_dtype(const bench *b, vjp_dtype dtype)
{
    return listed(option_given(b->args, "dtype"), vjp_dtype_name(dtype));
}

/* Whether an earlier run, which is to be resumed, measured the case with the same peers. */
bool bench_knows(const bench *b, const bench_result *r)
{
    record line = { .who = "vjp", .threads = (int)b->threads };
    snprintf(line.op, sizeof(line.op), "%s", r->of.p.op->name);
    snprintf(line.name, sizeof(line.name), "%s", r->of.name);
    snprintf(line.dtype, sizeof(line.dtype), "%s", vjp_dtype_name(r->of.dtype));
    snprintf(line.shape, sizeof(line.shape), "%s", r->shape);
    snprintf(line.layout, sizeof(line.layout), "%s", r->layout);
    snprintf(line.device, sizeof(line.device), "%s", bench_device(b));
    snprintf(line.pages, sizeof(line.pages), "%s", bench_pages(b));
    snprintf(line.isa, sizeof(line.isa), "%s", vjp_context_isa(b->ctx));
    bool all = records_has(&b->before, &line);
    for (int i = 0; i < b->peers.count && all; i++) {
        bench_who(b->peers.at[i], line.who);
        snprintf(line.isa, sizeof(line.isa), "%s", b->peers.at[i]->isa);
        all = records_has(&b->before, &line);
    }
    return all;
}

/* ---- other shapes -------------------------------------------------------------------------- */

bool bench_wants_op(const bench *b, const vjp_op_info *op)
{
    const char *name = option_given(b->args, "op");
    return !name || (op_named(name) ? op_named(name) == op : begins_with(op->name, name));
}

/* "2x3x4", the first `length` characters of a text; no dim is 0. */
static bool read_shape(const char *text, size_t length, bench_shape *shape)
{
    vjp_tensor largest;
    const char *end = text + length;
    *shape = (bench_shape){ .ndim = 0 };
    if (length == 0 || length >= sizeof(shape->text))
        return false;
    memcpy(shape->text, text, length);
    while (text < end && shape->ndim < VJP_MAX_DIMS) {
        char *after;
        errno = 0;
        int64_t dim = *text >= '1' && *text <= '9' ? strtoll(text, &after, 10) : 0;
        if (dim <= 0 || errno || (after < end && (*after != 'x' || after + 1 == end)))
            return false;
        shape->dims[shape->ndim++] = dim;
        text = after + 1;
    }
    return text > end &&
           vjp_tensor_contiguous(VJP_F64, shape->ndim, shape->dims, &largest) == VJP_OK;
}

/* ---- the options --------------------------------------------------------------------------- */

static bool read_shapes(bench *b)
{
    const char *list = option_given(b->args, "shape");
    while (list && *list) {
        size_t n = strcspn(list, ",");
        if (b->nshapes == BENCH_SHAPES)
            return complain(b->args->command, false, "--shape: more than %d shapes", BENCH_SHAPES);
        if (!read_shape(list, n, &b->shapes[b->nshapes++]))
            return complain(b->args->command, false,
                            "--shape: \"%.*s\" is not a shape such as 65536x1024", (int)n, list);
        list += n + (list[n] == ',');
    }
    return true;
}

/* Every word of the list is a dtype's name. */
static bool check_dtypes(const bench *b)
{
    const char *list = option_given(b->args, "dtype");
    while (list && *list) {
        size_t n = strcspn(list, ",");
        if (!dtype_named(list, n))
            return complain(b->args->command, false, "--dtype: \"%.*s\" is no dtype", (int)n, list);
        list += n + (list[n] == ',');
    }
    return true;
}

/* Whether a case of the operator has a name that begins like that. */
static bool has_case(const bench_set *set, const vjp_op_info *op, const char *start)
{
    char name[BENCH_NAME];
    for (int64_t c = 0; c < set->count; c++)
        for (int32_t choice = 0; choice < bench_choices(op); choice++)
            if (bench_case_name(&set->cases[c], op, choice, name) && begins_with(name, start))
                return true;
    return false;
}

/* There is a case or an operator of that name. */
static bool check_op(const bench *b)
{
    const char *name = option_given(b->args, "op");
    bool known = !name;
    for (int32_t i = 0; i < vjp_op_count() && !known; i++)
        known = bench_wants_op(b, vjp_op_at(i)) || has_case(b->set, vjp_op_at(i), name);
    return known || find_op(b->args->command, name);
}

bool bench_read_selection(bench *b)
{
    return read_shapes(b) && check_dtypes(b) && check_op(b);
}
