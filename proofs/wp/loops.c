/* SPDX-License-Identifier: Apache-2.0 */
/* loops.c - what layout.c does to addresses, for Frama-C's WP.
 *
 * A loop's lowest and highest byte offset of an operand are its first offset less the ways along its
 * dims that lead down, or plus those that lead up. turn_upwards() leaves both as they are;
 * insert_sorted() loses no dim and changes none; where can_merge() allows it, the way along the
 * merged dim is the sum of both (merged_way). Nothing of that overflows.
 *
 * Not proved: that merge() and vjpi_layout() call them as their contracts want, and that the lengths
 * of merged dims can be multiplied, which is so because their product is at most the number of
 * elements. */
#include "descriptors.h"

#include "core/layout.h"

/* From the first to the last index of a dim, and how far that is down or up; provers see them only
 * where reveal() is called. */
#ifdef DEFINITIONS
/*@ logic integer way(integer n, integer step) = (n - 1) * step;
    logic integer fall(integer n, integer step) = way(n, step) < 0 ? -way(n, step) : 0;
    logic integer rise(integer n, integer step) = way(n, step) < 0 ? 0 : way(n, step); */
#else
/*@ axiomatic Ways {
      logic integer way(integer n, integer step);
      logic integer fall(integer n, integer step);
      logic integer rise(integer n, integer step);
    } */
#endif

/*@ assigns \nothing;
    ensures way(n, step) == (n - 1) * step && way(n, -step) == -way(n, step);
    ensures way(n, step) == rise(n, step) - fall(n, step);
    ensures fall(n, -step) == rise(n, step) && rise(n, -step) == fall(n, step); */
void reveal(int64_t n, int64_t step)
#ifdef DEFINITIONS
{
}
#endif
;

/*@ predicate near(integer bytes) = -INT64_MAX / 2 <= bytes <= INT64_MAX / 2;

    predicate dim_fits{L}(vjpi_dim *dim, integer noperands) =
      2 <= dim->n && \forall integer i; 0 <= i < noperands ==>
        near(way(dim->n, dim->step[i])) && near(dim->step[i]); */

/*@ requires 2 <= n && near((n - 1) * step);
    assigns \nothing;
    ensures INT64_MIN <= step * n <= INT64_MAX; */
static void one_more(int64_t n, int64_t step) {}

/*@ requires 1 <= outer && 1 <= inner && inner * outer <= INT64_MAX;
    assigns \nothing;
    ensures (inner * outer - 1) * step == (inner - 1) * step + (outer - 1) * (step * inner);
    ensures step >= 0 ==> (inner - 1) * step >= 0 && (outer - 1) * (step * inner) >= 0;
    ensures step <= 0 ==> (inner - 1) * step <= 0 && (outer - 1) * (step * inner) <= 0; */
static void merged_way(int64_t outer, int64_t inner, int64_t step) {}

static int32_t place; /* where insert_sorted() put a dim */

/* What C says of `*to = *from`, which run.sh writes as a call: of a struct with an array, provers do
 * not see what that does to the elements. */
/*@ requires \valid(to) && \valid_read(from) && (to == from || \separated(to, from));
    assigns *to;
    ensures to->n == \old(from->n) && to->reduced == \old(from->reduced);
    ensures \forall integer i; 0 <= i < VJPI_MAX_OPERANDS ==> to->step[i] == \old(from->step[i]); */
void copy_dim(vjpi_dim *to, const vjpi_dim *from);

#include "woven_loops.c"
