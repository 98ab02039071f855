/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - what kind of operator it is, from the library's enumeration, so that problems for it
 * can be made without knowing its name.
 *
 * An operator is elementwise, or works on rows along an axis. It may have parameters that are
 * broadcast over the data, and sums over the data as outputs. It may be given a gradient. What the
 * enumeration does not state is inferred here and nowhere else.
 */
#ifndef VJP_REFERENCE_KINDS_H
#define VJP_REFERENCE_KINDS_H

#include "vjp/vjp.h"

/* What an attribute is for, more coarsely than vjp_attr_role. */
typedef enum attr_role {
    ROLE_SWITCH,   /* a bool or two words: changes the meaning of the inputs or the formula */
    ROLE_CONSTANT, /* a number of the formula */
    ROLE_AXIS,     /* the dim that rows run along, or the first of them */
    ROLE_CHANNELS, /* the dim that a 1-D parameter runs along, by the name of a layout */
    ROLE_CAUSAL,   /* rows end at the diagonal */
    ROLE_IGNORED,  /* the label of rows that are left out */
    ROLE_LENIENT   /* so are rows whose label is not in range */
} attr_role;

attr_role kind_attr_role(const vjp_attr_info *attr);

/* kind_attr - the first attribute of that role, or NULL. */
const vjp_attr_info *kind_attr(const vjp_op_info *op, attr_role role);

/* kind_choice - choice `index` of a string attribute; NULL if it has fewer. Lives as long as the
 * program. */
const char *kind_choice(const vjp_attr_info *attr, int32_t index);

/* kind_has_rows - whether it works on rows; kind_has_sums - whether an output is summed over the
 * data; kind_has_params - whether a tensor is broadcast over it. */
int kind_has_rows(const vjp_op_info *op);
int kind_has_sums(const vjp_op_info *op);
int kind_has_params(const vjp_op_info *op);

/* kind_reduces - whether some result depends on many elements; otherwise the operator is a map. */
int kind_reduces(const vjp_op_info *op);

/* kind_is_first - whether no operator before it in the enumeration has as many tensors, and rows,
 * sums and parameters or none alike. These are enough to test what does not depend on a formula. */
int kind_is_first(const vjp_op_info *op);

/* kind_is_param - whether tensor `index` is broadcast over the data. */
int kind_is_param(const vjp_op_info *op, int32_t index);

/* kind_gradient - the index of the input that is the gradient of a result, or -1. kind_lead - the
 * input whose layout matters most: the gradient or, without one, input 0. */
int32_t kind_gradient(const vjp_op_info *op);
int32_t kind_lead(const vjp_op_info *op);

#endif
