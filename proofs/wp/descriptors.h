/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.h - what the proofs say of descriptors, and what stands in for gcc's built-ins. */
#include <stdint.h>

/*@ assigns \nothing;
    ensures \result != 0 <==> INT64_MIN <= a * b <= INT64_MAX; */
int product_fits(int64_t a, int64_t b);

/*@ assigns \nothing;
    ensures \result != 0 <==> INT64_MIN <= a + b <= INT64_MAX; */
int sum_fits(int64_t a, int64_t b);

/*@ assigns \nothing; */
int64_t something(void);

#define __builtin_mul_overflow(a, b, r) \
    (product_fits(a, b) ? (*(r) = (a) * (b), 0) : (*(r) = something(), 1))
#define __builtin_add_overflow(a, b, r) \
    (sum_fits(a, b) ? (*(r) = (a) + (b), 0) : (*(r) = something(), 1))
#define _Alignas(alignment) /* which Frama-C does not know */

#include "core/internal.h"

/*@ axiomatic Dtypes {
      logic integer element_size(integer dtype);
      axiom sizes: \forall integer dtype; 0 <= element_size(dtype) <= 8;
    } */

/*@ assigns \nothing;
    ensures \result == element_size(dtype); */
size_t vjp_dtype_size(vjp_dtype dtype);

/*@ // from the first to the last index along dim d, in bytes, downwards and upwards
    logic integer down{L}(vjp_tensor *t, integer d) =
      t->strides[d] < 0 ? (t->shape[d] - 1) * -t->strides[d] * element_size(t->dtype) : 0;
    logic integer up{L}(vjp_tensor *t, integer d) =
      t->strides[d] < 0 ? 0 : (t->shape[d] - 1) * t->strides[d] * element_size(t->dtype); */

/* Of the first n dims, in bytes: all elements (bytes); from the lowest to the highest byte (reach);
 * where they begin and end, from the data pointer (low, high); where an element is (offset). Provers
 * would unfold these definitions without end, so they see only the equations that unfold() states,
 * which are proved from the definitions by themselves (DEFINITIONS). */
#ifdef DEFINITIONS
/*@ logic integer bytes{L}(vjp_tensor *t, integer n) =
      n <= 0 ? element_size(t->dtype)
             : bytes(t, n - 1) * (t->shape[n - 1] <= 1 ? 1 : t->shape[n - 1]);
    logic integer reach{L}(vjp_tensor *t, integer n) =
      n <= 0 ? element_size(t->dtype) : reach(t, n - 1) + down(t, n - 1) + up(t, n - 1);
    logic integer low{L}(vjp_tensor *t, integer n) =
      n <= 0 ? 0 : low(t, n - 1) - down(t, n - 1);
    logic integer high{L}(vjp_tensor *t, integer n) =
      n <= 0 ? element_size(t->dtype) : high(t, n - 1) + up(t, n - 1);
    logic integer offset{L}(vjp_tensor *t, int64_t *index, integer n) =
      n <= 0 ? 0 : offset(t, index, n - 1) +
                   index[n - 1] * t->strides[n - 1] * element_size(t->dtype); */
#else
/*@ axiomatic Sums {
      logic integer bytes{L}(vjp_tensor *t, integer n) reads *t;
      logic integer reach{L}(vjp_tensor *t, integer n) reads *t;
      logic integer low{L}(vjp_tensor *t, integer n) reads *t;
      logic integer high{L}(vjp_tensor *t, integer n) reads *t;
      logic integer offset{L}(vjp_tensor *t, int64_t *index, integer n) reads *t, index[0 .. n - 1];
    } */
#endif

/*@ requires \valid_read(t) && 0 <= d < VJP_MAX_DIMS;
    assigns \nothing;
    ensures bytes(t, 0) == element_size(t->dtype) && reach(t, 0) == element_size(t->dtype);
    ensures low(t, 0) == 0 && high(t, 0) == element_size(t->dtype);
    ensures bytes(t, d + 1) == bytes(t, d) * (t->shape[d] <= 1 ? 1 : t->shape[d]);
    ensures reach(t, d + 1) == reach(t, d) + down(t, d) + up(t, d);
    ensures low(t, d + 1) == low(t, d) - down(t, d);
    ensures high(t, d + 1) == high(t, d) + up(t, d);
    ensures t->shape[d] == 1 ==> down(t, d) == 0 && up(t, d) == 0; */
void unfold(const vjp_tensor *t, int32_t d)
#ifdef DEFINITIONS
{
}
#endif
;

/*@ requires \valid_read(t) && 0 <= d < VJP_MAX_DIMS && \valid_read(index + (0 .. d));
    assigns \nothing;
    ensures offset(t, index, 0) == 0;
    ensures offset(t, index, d + 1) ==
      offset(t, index, d) + index[d] * t->strides[d] * element_size(t->dtype); */
void unfold_offset(const vjp_tensor *t, const int64_t *index, int32_t d)
#ifdef DEFINITIONS
{
}
#endif
;

/*@
    predicate empty{L}(vjp_tensor *t) = \exists integer d; 0 <= d < t->ndim && t->shape[d] == 0;

    predicate fits{L}(vjp_tensor *t) =
      \forall integer d; 0 <= d <= t->ndim ==>
        bytes(t, d) <= INT64_MAX / 2 && reach(t, d) <= INT64_MAX / 2;

    predicate accepted{L}(vjp_tensor *t) =
      0 <= t->ndim <= VJP_MAX_DIMS && 1 <= element_size(t->dtype) &&
      (\forall integer d; 0 <= d < t->ndim ==> 0 <= t->shape[d]) && (empty(t) || fits(t)); */
