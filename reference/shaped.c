/* SPDX-License-Identifier: Apache-2.0 */
/* shaped.c - see shaped.h. */
#include "shaped.h"

#include <stdio.h>
#include <stdlib.h>

#include "base.h"
#include "kinds.h"
#include "variants.h"

shaped_kind shaped_kind_of(const vjp_op_info *op)
{
    return kind_has_rows(op) ? SHAPED_ROW : kind_has_params(op) ? SHAPED_FOLD : SHAPED_MAP;
}

/* Operator `index` of a kind; NULL if it has fewer. */
static const vjp_op_info *operator_of(shaped_kind kind, int64_t index)
{
    for (int32_t i = 0; i < vjp_op_count(); i++)
        if (shaped_kind_of(vjp_op_at(i)) == kind && index-- == 0)
            return vjp_op_at(i);
    return NULL;
}

static const shaped_row *row_of(const shaped_row *rows, int64_t nrows, shaped_kind kind,
                                int64_t index)
{
    for (int64_t i = 0; i < nrows; i++)
        if (rows[i].kind == kind && index-- == 0)
            return &rows[i];
    return NULL;
}

/* The row's shape and layout, for set `variant` of the operator's attributes. */
static problem build(const shaped_row *row, const vjp_op_info *op, int64_t variant)
{
    problem p = variant_problem(op, (int32_t)(variant % variant_count(op)));
    const vjp_attr_info *axis = kind_attr(op, ROLE_AXIS), *channels = kind_attr(op, ROLE_CHANNELS);
    int at_end = row->place == row->ndim - 1;
    if (axis != NULL)
        problem_add_attr(&p, vjp_attr_s64(axis->name, row->place));
    if (channels != NULL)
        problem_add_attr(&p, vjp_attr_str(channels->name, at_end ? "NXC" : "NCX"));
    int64_t along[VJP_MAX_DIMS];
    if (row->kind == SHAPED_ROW)
        problem_contiguous(&p, row->dtype, row->wide, row->ndim, row->shape,
                           problem_axis_shape(&p, row->ndim, row->shape, along), along);
    else
        problem_contiguous(&p, row->dtype, row->wide, row->ndim, row->shape, row->param_ndim,
                           row->param_shape);
    named_lay_out(&p, row->layout);
    return p;
}

static void add_kind(shaped_list *list, const shaped_row *rows, int64_t nrows, shaped_kind kind)
{
    int64_t nops = 0, nkind = 0;
    while (operator_of(kind, nops) != NULL)
        nops++;
    while (row_of(rows, nrows, kind, nkind) != NULL)
        nkind++;
    if (nops == 0 || nkind == 0)
        return;
    for (int64_t i = 0; i < nkind; i++) {
        int64_t turn = nops > nkind ? i * nops / nkind : i % nops;
        const vjp_op_info *op = operator_of(kind, turn);
        const shaped_row *row = row_of(rows, nrows, kind, i);
        shaped_problem *added = &list->at[list->count++];
        snprintf(added->name, SHAPED_NAME, "%s, %s", op->name, row->name);
        added->p = build(row, op, i / nops);
    }
}

shaped_list shaped_problems(const shaped_row *rows, int64_t nrows)
{
    shaped_list list = { unit_malloc((size_t)nrows * sizeof *list.at), 0 };
    for (int kind = 0; kind < SHAPED_KINDS; kind++)
        add_kind(&list, rows, nrows, (shaped_kind)kind);
    return list;
}

void shaped_free(shaped_list *list)
{
    free(list->at);
    *list = (shaped_list){ NULL, 0 };
}
