/* SPDX-License-Identifier: Apache-2.0 */
/* spans.c - the elements of an accepted descriptor lie in its span, for Frama-C's WP.
 *
 * check.c accepts only what `accepted` (descriptors.h) describes; for that, layout.c and overlap.c
 * compute the number of elements and the span without overflow; and element_lies_in_span() shows by
 * induction over the dims that no element begins below the span or ends above it. Every loop has a
 * variant, so these functions end. */
#include "lemmas.h"

#define vjpi_refuse(reason, status, ...) (status)
#include "woven_check.c"
#include "woven_layout.c"
#include "woven_overlap.c"

/*@ requires \valid_read(t) && \valid_read(index + (0 .. VJP_MAX_DIMS - 1)) && accepted(t);
    requires \forall integer d; 0 <= d < t->ndim ==> 0 <= index[d] < t->shape[d];
    assigns \nothing;
    ensures low(t, t->ndim) <= offset(t, index, t->ndim);
    ensures offset(t, index, t->ndim) + element_size(t->dtype) <= high(t, t->ndim); */
void element_lies_in_span(const vjp_tensor *t, const int64_t *index)
{
    unfold(t, 0);
    unfold_offset(t, index, 0);
    /*@ loop assigns d;
        loop invariant 0 <= d <= t->ndim;
        loop invariant low(t, d) <= offset(t, index, d);
        loop invariant offset(t, index, d) + element_size(t->dtype) <= high(t, d);
        loop variant t->ndim - d; */
    for (int32_t d = 0; d < t->ndim; d++) {
        unfold(t, d);
        unfold_offset(t, index, d);
        along(t, d, index[d]);
    }
}
