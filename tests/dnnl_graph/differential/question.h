/* SPDX-License-Identifier: Apache-2.0 */
/* question.h - one random call for both libraries: one operation, its attributes, the descriptions
 * of its tensors when it is added and when it is compiled, and its data.
 *
 * Questions are drawn from compat/dnnl_graph/ops.def, most of them valid, many with one thing
 * wrong. The table gives the questions; the other library gives the expected answers.
 */
#ifndef QUESTION_H
#define QUESTION_H

#include "elements.h"
#include "random.h"
#include "schema.h"

enum {
    SIDE = 6, /* the most inputs, and the most outputs, that are drawn */
    NTENSORS = 2 * SIDE,
    NSETTINGS = DG_MAX_ATTRS + 2
};

/* One call of set_attr. */
typedef struct setting {
    dnnl_graph_op_attr_t id;
    size_t length;
    vjp_attr value; /* its name is not used */
} setting;

typedef struct question {
    dnnl_graph_op_kind_t kind;
    const dg_schema *schema;
    size_t ninputs, noutputs, nsettings;
    logical_tensor added[NTENSORS], compiled[NTENSORS]; /* inputs first */
    setting settings[NSETTINGS];
    int has_specials;  /* zeros, infinities and NaNs in the data */
    random_state data; /* draws it */
} question;

/* draw_question - one about that kind. */
question draw_question(dnnl_graph_op_kind_t kind, random_state *random);

/* name_question - the kind, the data type and what is unusual, in `name`. */
void name_question(const question *q, const char *dtype, char *name, size_t size);

/* draw_value - an element of input `i`. */
double draw_value(const question *q, size_t i, random_state *random);

#endif
