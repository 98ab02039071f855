/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - ops.def as data: which tensors and attributes each op kind has.
 *
 * Attributes are held as vjp's, ready to be passed on: both APIs give them the same names.
 */
#ifndef DG_SCHEMA_H
#define DG_SCHEMA_H

#include "oneapi/dnnl/dnnl_graph_types.h"
#include "vjp/vjp.h"

#define DG_MAX_TENSORS 9
#define DG_MAX_ATTRS 5

typedef enum dg_role {
    DG_NO_TENSOR = 0,
    DG_IN,
    DG_IN_UNUSED, /* vjp does not have it */
    DG_OUT,
    DG_OUT_IN_PLACE, /* may take the memory of input 0 */
    DG_OUT_OPTIONAL
} dg_role;

typedef enum dg_dtype_rule {
    DG_T = 1,
    DG_T_OR_F32,
    DG_T_OR_EITHER_F32,
    DG_F32_ONLY,
    DG_F32_OR_BF16
} dg_dtype_rule;

typedef struct dg_tensor_schema {
    const char *name;
    dg_role role;
    dg_dtype_rule rule;
} dg_tensor_schema;

/* What an attribute is for. */
typedef enum dg_attr_use {
    DG_PASSED = 0,  /* to vjp */
    DG_FIXED,       /* the same, but the caller cannot set it */
    DG_ALL_OUTPUTS, /* if true, every output must be there */
    DG_UNUSED
} dg_attr_use;

typedef struct dg_attr_schema {
    dnnl_graph_op_attr_t id; /* dnnl_graph_op_attr_undef ends the list */
    int required;
    vjp_attr value; /* vjp's name, type and default */
    const char *choices;
    dg_attr_use use;
} dg_attr_schema;

/* The numbers first, first + step, ... last. */
typedef struct dg_counts {
    size_t first, last, step;
} dg_counts;

typedef struct dg_schema {
    const char *name;
    int is_open; /* only the numbers of its inputs and outputs are checked */
    dg_counts counts[2]; /* step 0: as its tensors say */
    dg_tensor_schema tensors[DG_MAX_TENSORS];
    dg_attr_schema attrs[DG_MAX_ATTRS + 1];
} dg_schema;

/* dg_schema_of - the schema of an op kind; NULL if there is no such kind. */
const dg_schema *dg_schema_of(dnnl_graph_op_kind_t kind);

/* dg_schema_tensor - the input or output of that index; NULL if there is none.
 * dg_schema_takes_count - whether it may have that many inputs or outputs. */
const dg_tensor_schema *dg_schema_tensor(const dg_schema *schema, int is_output, size_t index);
int dg_schema_takes_count(const dg_schema *schema, int is_output, size_t count);

/* dg_schema_attr - the attribute that a caller may set under that id. dg_attr_is_passed - whether
 * vjp gets it. */
const dg_attr_schema *dg_schema_attr(const dg_schema *schema, dnnl_graph_op_attr_t id);
int dg_attr_is_passed(const dg_attr_schema *attr);

/* dg_schema_takes_dtypes - whether tensors, which the schema has, have data types that it takes. */
int dg_schema_takes_dtypes(const dg_schema *schema, size_t ninputs,
                           const dnnl_graph_logical_tensor_t *const *inputs, size_t noutputs,
                           const dnnl_graph_logical_tensor_t *const *outputs);

/* dg_is_choice - whether value is one of "a|b|c". */
int dg_is_choice(const char *choices, const char *value);

#endif
