/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - the two libraries, called alike. `number` is that of the question, for the report. */
#ifndef COMPARE_H
#define COMPARE_H

#include "library.h"
#include "random.h"

typedef struct pair {
    const library *there, *here; /* the other library, and this project's */
} pair;

/* compare_question - put one question about a kind to both, from add_op to execute, as far as both
 * go. Returns how far that was: 0 to 5 stages. */
int compare_question(const pair *libraries, dnnl_graph_op_kind_t kind, random_state *random,
                     unsigned long number);

/* compare_descriptions - random calls about logical tensors. */
void compare_descriptions(const pair *libraries, random_state *random, unsigned long number);

/* compare_settings - what does not depend on chance: flags, policies, modes, names. */
void compare_settings(const pair *libraries);

#endif
