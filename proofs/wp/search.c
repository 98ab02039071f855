/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - the search of core/overlap.c, for Frama-C's WP: for tensors that the check accepts and
 * that are not empty, no overflow, no access outside an object, and it ends.
 *
 * meet_from() is not proved: provers do not find that each term it copies stays bounded.
 * No function is proved to answer correctly: the tests compare answers with all pairs of elements.
 * Frama-C has no __int128. Functions that compute with it are proved with unbounded integers in its
 * place; assertions and contracts keep them within WIDE_MAX. */
#include "lemmas.h"

typedef int64_t wide;
#define WIDE_MAX 0x10000000000000000000000000 /* 2^100 */

#include "search_types.c" /* of core/overlap.c */

/*@ predicate bounded_term(integer step, integer low, integer high, integer total) =
      1 <= step <= INT64_MAX && -INT64_MAX <= low <= INT64_MAX && -INT64_MAX <= high <= INT64_MAX &&
      -total <= step * low <= total && -total <= step * high <= total;

    predicate bounded{L}(search *s, integer count, integer total) =
      0 <= count <= MAX_TERMS && 0 <= total <= INT64_MAX &&
      \forall integer i; 0 <= i < count ==>
        bounded_term(s->terms[i].step, s->terms[i].low, s->terms[i].high, total); */

/*@ // what is left of `accepted` for a tensor that is not empty
    predicate small{L}(vjp_tensor *t) =
      0 <= t->ndim <= VJP_MAX_DIMS && 1 <= element_size(t->dtype) &&
      (\forall integer d; 0 <= d < t->ndim ==> 1 <= t->shape[d]) &&
      \forall integer d; 0 <= d <= t->ndim ==> reach(t, d) <= INT64_MAX / 2;

    predicate same{K, L}(vjp_tensor *t) =
      \at(t->dtype, K) == \at(t->dtype, L) && \at(t->ndim, K) == \at(t->ndim, L) &&
      \forall integer d; 0 <= d < VJP_MAX_DIMS ==>
        \at(t->shape[d], K) == \at(t->shape[d], L) &&
        \at(t->strides[d], K) == \at(t->strides[d], L);

    axiomatic Reads { // what `reads *t` says of reach
      axiom reach_reads{K, L}:
        \forall vjp_tensor *t, integer n; same{K, L}(t) ==> reach{K}(t, n) == reach{L}(t, n);
    }

    predicate same_reach{K, L}(vjp_tensor *t) =
      \forall integer n; 0 <= n <= VJP_MAX_DIMS ==> reach{K}(t, n) == reach{L}(t, n); */

/*@ requires \valid_read(t) && accepted(t) && !empty(t);
    assigns \nothing;
    ensures small(t); */
static void accepted_is_small(const vjp_tensor *t) {}

/*@ // the ranges of the terms from k on, and their divisor, once has_solution() has set them
    predicate ranges_at{L}(search *s, integer count, integer k) =
      -(count - k) * INT64_MAX <= s->low[k] <= (count - k) * INT64_MAX &&
      -(count - k) * INT64_MAX <= s->high[k] <= (count - k) * INT64_MAX &&
      0 <= s->divisor[k] <= INT64_MAX && (k < count ==> 1 <= s->divisor[k]);

    predicate prepared{L}(search *s, integer count) =
      bounded(s, count, INT64_MAX) &&
      \forall integer k; 0 <= k <= count ==> ranges_at(s, count, k);

    // how far from 0 the bounds of the search can be when it has chosen n terms
    logic integer reached(integer n) = (2 + n) * (INT64_MAX + 1); */

/* What the terms of a search may add up to, at most, and what the next one adds to that. */
static int64_t total, extra;

/*@ requires \valid_read(t) && 0 <= d < VJP_MAX_DIMS && 0 <= up(t, d) + down(t, d) <= INT64_MAX;
    assigns \nothing;
    ensures \result == up(t, d) + down(t, d); */
int64_t bytes_along(const vjp_tensor *t, int32_t d);

/*@ requires 1 <= step && -INT64_MAX <= step * a <= INT64_MAX;
    assigns \nothing;
    ensures -bound <= step * a <= bound ==> -bound <= a <= bound; */
static void factor_fits(int64_t step, int64_t a, int64_t bound) {}

/*@ requires 1 <= a && 1 <= c;
    assigns \nothing;
    ensures b >= 0 ==> 0 <= b <= b * c <= a * b * c;
    ensures b < 0 ==> a * b * c <= b * c <= b < 0; */
static void outer_factor(int64_t a, int64_t b, int64_t c) {}

/*@ assigns \nothing;
    ensures step * (a + b) == step * a + step * b; */
static void sum_of_products(int64_t step, int64_t a, int64_t b) {}

/*@ assigns \nothing;
    ensures step * -a == -(step * a); */
static void negated(int64_t step, int64_t a) {}

/*@ requires 1 <= step && low <= v <= high;
    terminates \true;
    assigns \nothing;
    ensures step * low <= step * v <= step * high; */
static void between(wide v, wide low, wide high, int64_t step) {}

#include "woven_search.c"
