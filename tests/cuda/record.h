/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - where every element of a call lies, and which of them a walk has visited. */
#ifndef VJP_TESTS_CUDA_RECORD_H
#define VJP_TESTS_CUDA_RECORD_H

#include "plans.h"

/* Addresses are numbers: nothing is there. Elements are counted in dense order of the data's shape;
 * a key counts the indices of the dims that are not summed. */
typedef struct record {
    const cuda_case *c;
    int64_t count, nkeys;
    int64_t base[VJPI_MAX_OPERANDS]; /* of the tensors, then of the aligned workspace */
    int64_t *address[VJPI_MAX_OPERANDS];
    int64_t *key;
    int64_t low, room, *at_output; /* which element the first output has at low + i elements */
    int64_t *visits, *sum_of_key, *element_of_sum; /* one of its elements; -1: none yet */
} record;

void record_open(record *r, const cuda_case *c, const int64_t *shift);
void record_close(record *r);

/* record_begin, record_end - a stage's visits: all elements, once each. */
void record_begin(record *r);
void record_end(const record *r);

/* record_visit - the element whose first output is at this address, and which adds to this sum (-1:
 * to none); returns which it is. */
int64_t record_visit(record *r, int64_t output, int64_t sum);

#endif
