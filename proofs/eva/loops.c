/* SPDX-License-Identifier: Apache-2.0 */
/* loops.c - core/layout.c and cpu/nest.c for Frama-C's Eva, like tensors.c: any checked call becomes
 * a loop, any loop a nest, and any nest is walked.
 *
 * Only sums and products are not looked at, since Eva does not relate strides to lengths:
 * proofs/wp/loops.c does, for those of addresses. What stands in for other files is below. */
#include <math.h>
#include <string.h>

#include "__fc_builtin.h"

int nondet(void);

#define _Alignas(alignment) /* which Frama-C does not know */
#define __builtin_popcount(bits) ((void)(bits), Frama_C_interval(0, 32))

/* core/fpmode.h, which is assembly */
#define VJPI_FPMODE_H
typedef int vjpi_fpmode;
static vjpi_fpmode vjpi_fpmode_enter(void) { return 0; }
static void vjpi_fpmode_leave(vjpi_fpmode caller) { (void)caller; }

#include "woven_layout.c" /* core/layout.c and cpu/nest.c with the annotations of loops.acsl */
#include "woven_nest.c"

/* table.c */
size_t vjp_dtype_size(vjp_dtype dtype)
{
    return nondet() ? 0 : nondet() ? 1 : nondet() ? 2 : nondet() ? 4 : 8;
}

size_t vjpi_compute_size(vjp_dtype dtype)
{
    return nondet() ? 0 : nondet() ? 4 : 8;
}

/* ---- layout.c ----------------------------------------------------------------------------- */

static vjpi_op op;
static vjp_tensor_info infos[VJPI_MAX_TENSORS];
static uint8_t roles[VJPI_MAX_TENSORS];
static vjpi_call call;
static vjpi_loop loop;

/* A call of this many dims, of any operator that limits.h allows. */
static void make_call(int32_t ndim, int32_t ntensors)
{
    Frama_C_make_unknown((char *)infos, sizeof(infos));
    Frama_C_make_unknown((char *)roles, sizeof(roles));
    Frama_C_make_unknown((char *)&call, sizeof(call));
    op.info.ninputs = Frama_C_interval(1, VJPI_MAX_TENSORS);
    op.nvalues = Frama_C_interval(0, VJPI_MAX_VALUES);
    op.nlets = Frama_C_interval(0, VJPI_MAX_LETS);
    op.indexed = nondet() != 0;
    op.tensors = infos;
    op.roles = roles;
    call.op = &op;
    call.ntensors = ntensors;
    call.ndim = ndim;
    call.sums = nondet() != 0;
    call.causal_dim = Frama_C_interval(-1, ndim - 1);
    for (int32_t i = 0; i < VJPI_MAX_TENSORS; i++)
        call.tensors[i].ndim = Frama_C_interval(0, VJP_MAX_DIMS);
}

static void lay_out(int32_t ndim, int32_t ntensors)
{
    double constants[VJPI_MAX_CONSTANTS];
    make_call(ndim, ntensors);
    vjpi_layout(&call, nondet() != 0, &loop);
    //@ assert 0 <= loop.ndim <= VJP_MAX_DIMS && 0 <= loop.noperands <= VJPI_MAX_OPERANDS;
    vjpi_layout_rows(&call, &loop);
    //@ assert 0 <= loop.ndim <= VJP_MAX_DIMS && 0 <= loop.noperands <= VJPI_MAX_OPERANDS;
    vjpi_set_constants(&call, constants);
    vjpi_workspace_limit(&call);
}

/* ---- nest.c ------------------------------------------------------------------------------- */

static vjpi_nest nest;

static int64_t length(void) { return Frama_C_long_long_interval(2, (int64_t)1 << 54); }
static int64_t width(void) { return Frama_C_long_long_interval(1, 65536); }
static uint32_t operands(void) { return Frama_C_unsigned_int_interval(0, UINT32_MAX); }

/* A loop of this many dims, in any sets. Operand 0 is always an input. */
static void make_loop(int32_t ndim)
{
    Frama_C_make_unknown((char *)&loop, sizeof(loop));
    loop.ndim = ndim;
    loop.noperands = Frama_C_interval(1, VJPI_MAX_OPERANDS);
    for (int32_t d = 0; d < ndim; d++)
        loop.dims[d].n = length();
    for (int32_t i = 0; i < VJPI_MAX_OPERANDS; i++)
        loop.size[i] = Frama_C_long_long_interval(0, 8);
    loop.size[0] = Frama_C_long_long_interval(1, 8);
}

static void cut_all(int32_t ndim)
{
    make_loop(ndim);
    vjpi_nest_map(&loop, operands(), &nest);
    vjpi_nest_fold(&loop, operands(), Frama_C_interval(1, 3), width(), &nest);
    vjpi_nest_row(&loop, operands() | 1, operands(), width(), &nest);
    vjpi_nest_row_fold(&loop, operands() | 1, operands(), &nest);
}

/* Any walk over a nest of this many axes. */
static void walk(int32_t naxes)
{
    vjpi_walk units, steps;
    vjpi_tile tile;
    char *data[VJPI_MAX_OPERANDS] = { NULL };
    Frama_C_make_unknown((char *)&nest, sizeof(nest));
    nest.noperands = Frama_C_interval(1, VJPI_MAX_OPERANDS);
    nest.naxes = naxes;
    nest.nunit_axes = Frama_C_interval(0, naxes);
    nest.inner.axis = Frama_C_interval(0, naxes - 1);
    nest.row.axis = Frama_C_interval(0, naxes - 1);
    for (int32_t a = 0; a < naxes; a++)
        nest.axes[a].count = Frama_C_long_long_interval(1, INT64_MAX / 2);
    Frama_C_make_unknown((char *)&units, sizeof(units));
    for (int32_t i = 0; i < VJPI_MAX_OPERANDS; i++)
        units.at[i] = NULL;
    vjpi_join_units(&nest, &units, Frama_C_long_long_interval(1, INT64_MAX), &tile);
    vjpi_next_units(&nest, Frama_C_long_long_interval(1, INT64_MAX), &units);
    vjpi_walk_units(&nest, data, Frama_C_long_long_interval(0, INT64_MAX), &units);
    vjpi_next_unit(&nest, &units);
    vjpi_walk_steps(&nest, &units, Frama_C_long_long_interval(0, INT64_MAX), &steps);
    vjpi_next_step(&nest, &steps);
}

/* Each number of dims by itself, so that Eva need not relate it to indices. */
int main(void)
{
    for (int32_t n = 0; n <= VJP_MAX_DIMS; n++) {
        for (int32_t ntensors = 1; ntensors <= VJPI_MAX_TENSORS; ntensors++)
            lay_out(n, ntensors);
        cut_all(n);
    }
    for (int32_t naxes = 1; naxes <= VJP_MAX_DIMS + 2; naxes++)
        walk(naxes);
    return 0;
}
