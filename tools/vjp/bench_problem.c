/* SPDX-License-Identifier: Apache-2.0 */
/* bench_problem.c - a case of `vjp bench` for one operator: its name, and the problem. All of it
 * comes from the enumeration. */
#include <string.h>

#include "base.h"
#include "bench.h"
#include "kinds.h"

/* ---- names -------------------------------------------------------------------------------- */

static const vjp_attr_info *attr_of(const vjp_op_info *op, vjp_attr_role role)
{
    for (int32_t i = 0; i < op->nattrs; i++)
        if (vjp_op_attr(op, i)->role == role)
            return vjp_op_attr(op, i);
    return NULL;
}

int32_t bench_choices(const vjp_op_info *op)
{
    return attr_of(op, VJP_ROLE_CHOICE) ? 2 : 1;
}

/* A backward operator is shown by its forward function's name, and a forward one is marked as such.
 */
static void put_stem(const vjp_op_info *op, char name[BENCH_NAME])
{
    static const char ending[] = "_backward";
    char other[BENCH_NAME];
    size_t length = strlen(op->name), tail = sizeof(ending) - 1;
    bool backward = length > tail && !strcmp(op->name + length - tail, ending);
    snprintf(other, sizeof(other), "%s%s", op->name, ending);
    snprintf(name, BENCH_NAME, "%.*s%s", (int)(backward ? length - tail : length), op->name,
             vjp_op_find(other) ? " forward" : "");
}

/* What use_dst chooses is what the gradient is computed from; any other choice has its own name. */
static void put_choice(const vjp_op_info *op, int32_t choice, char words[BENCH_NAME])
{
    const vjp_attr_info *attr = attr_of(op, VJP_ROLE_CHOICE);
    words[0] = 0;
    if (!attr)
        return;
    if (attr->type == VJP_ATTR_STR)
        snprintf(words, BENCH_NAME, " %s", kind_choice(attr, choice));
    else if (!strncmp(attr->name, "use_", 4))
        snprintf(words, BENCH_NAME, " from %s",
                 choice ? attr->name + 4 : vjp_op_tensor(op, 0)->name);
    else
        snprintf(words, BENCH_NAME, " %s=%d", attr->name, (int)choice);
}

static const char *param_name(const vjp_op_info *op)
{
    for (int32_t t = 0; t < op->ninputs; t++)
        if (kind_is_param(op, t))
            return vjp_op_tensor(op, t)->name;
    return "parameter";
}

/* Whether the operator has what the case is about: channels in dim 1 need a FORMAT, rows that run
 * along several dims end with the last. The cost of a call on nothing much is the same for all. */
static bool suits(const bench_case *c, const vjp_op_info *op)
{
    bool at_end = c->place == c->ndim - 1, channels = c->param_ndim == 1 && c->param_shape[0] > 1;
    if (shaped_kind_of(op) != c->kind || (attr_of(op, VJP_ROLE_AXES) && !at_end))
        return false;
    if (c->shape[0] == 1 && op != vjp_op_at(0))
        return false;
    return c->kind != SHAPED_FOLD || at_end || !channels || attr_of(op, VJP_ROLE_FORMAT);
}

bool bench_case_name(const bench_case *c, const vjp_op_info *op, int32_t choice,
                     char name[BENCH_NAME])
{
    char stem[BENCH_NAME], words[BENCH_NAME];
    if (!suits(c, op))
        return false;
    put_stem(op, stem);
    put_choice(op, choice, words);
    const char *at = strchr(c->suffix, '@');
    int before = at ? (int)(at - c->suffix) : (int)strlen(c->suffix);
    snprintf(name, BENCH_NAME, "%.24s%.16s%.*s%.16s%s", stem, words, before, c->suffix,
             at ? param_name(op) : "", at ? at + 1 : "");
    return true;
}

/* ---- problems ----------------------------------------------------------------------------- */

/* Numbers without a default: with these PyTorch has hard sigmoid. */
static const float required_numbers[] = { 1.0f / 6, 0.5f };

static void add_attrs(problem *p, const bench_case *c, int32_t choice)
{
    int numbers = 0;
    for (int32_t i = 0; i < p->op->nattrs; i++) {
        const vjp_attr_info *info = vjp_op_attr(p->op, i);
        if (info->role == VJP_ROLE_HINT)
            problem_add_attr(p, vjp_attr_bool(info->name, 0));
        if (info->role == VJP_ROLE_CHOICE && choice >= 0)
            problem_add_attr(p, info->type == VJP_ATTR_STR
                                    ? vjp_attr_str(info->name, kind_choice(info, choice))
                                    : vjp_attr_bool(info->name, choice));
        if (info->required)
            problem_add_attr(p, vjp_attr_f32(info->name, required_numbers[numbers++ % 2]));
        if (kind_attr_role(info) == ROLE_AXIS)
            problem_add_attr(p, vjp_attr_s64(info->name, c->place));
        if (info->role == VJP_ROLE_FORMAT)
            problem_add_attr(p, vjp_attr_str(info->name,
                                             c->place == c->ndim - 1 ? "NXC" : "NCX"));
    }
}

/* Whether an output is the gradient of an input. */
static bool has_gradient(const vjp_op_info *op, int32_t input)
{
    for (int32_t t = op->ninputs; t < op->ninputs + op->noutputs; t++)
        if (!strncmp(vjp_op_tensor(op, t)->name, "diff_", 5) &&
            !strcmp(vjp_op_tensor(op, t)->name + 5, vjp_op_tensor(op, input)->name))
            return true;
    return false;
}

/* Optional tensors are omitted, except weights, gradients, and what `as_peers` says. */
static bool omits(const vjp_op_info *op, int32_t tensor, bool as_peers)
{
    const vjp_tensor_info *info = vjp_op_tensor(op, tensor);
    if (!(info->flags & VJP_TENSOR_OPTIONAL))
        return false;
    if (tensor >= op->ninputs)
        return as_peers && strncmp(info->name, "diff_", 5) != 0;
    return !has_gradient(op, tensor) && !(as_peers && bench_is_kept(op, tensor));
}

static problem build(const bench_case *c, const vjp_op_info *op, int32_t choice, int64_t first_dim,
                     vjp_dtype dtype, bool as_peers)
{
    problem p = problem_start(op->name);
    int64_t shape[VJP_MAX_DIMS];
    memcpy(shape, c->shape, sizeof(c->shape));
    shape[0] = first_dim;
    add_attrs(&p, c, choice);
    for (int32_t t = 0; t < op->ninputs + op->noutputs; t++)
        if (omits(op, t, as_peers))
            p.absent |= 1u << t;
    if (c->kind == SHAPED_ROW)
        problem_contiguous(&p, dtype, dtype, c->ndim, shape, 1, &shape[c->place]);
    else
        problem_contiguous(&p, dtype, dtype, c->ndim, shape, c->param_ndim, c->param_shape);
    named_lay_out(&p, c->layout);
    return p;
}

bool bench_case_at(const bench_set *set, const bench_case *c, const vjp_op_info *op, int32_t choice,
                   int64_t size, vjp_dtype dtype, bench_problem *made)
{
    int64_t first = c->shape[0], rest = 1;
    if (!bench_case_name(c, op, choice, made->name) || (first != FILL && size != 0))
        return false;
    for (int32_t d = 1; d < c->ndim; d++)
        rest *= c->shape[d];
    if (first == FILL)
        first = size / rest;
    if (first == 0)
        return false;
    made->p = build(c, op, choice, first, dtype, set->as_peers);
    made->dtype = dtype;
    made->layout = c->layout;
    return true;
}

bench_problem bench_problem_of(const vjp_op_info *op, const bench_shape *shape, vjp_dtype dtype)
{
    int32_t last = shape->ndim - 1;
    bench_case c = { "", shaped_kind_of(op), NAMED_PLAIN, last, shape->ndim, { 0 },
                     1,  { shape->dims[last] }, { 0 }, { 0 } };
    bench_problem made = { .dtype = dtype, .layout = NAMED_PLAIN };
    memcpy(c.shape, shape->dims, sizeof(c.shape));
    snprintf(made.name, sizeof(made.name), "%s", op->name);
    made.p = build(&c, op, -1, shape->dims[0], dtype, false);
    return made;
}
