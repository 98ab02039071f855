/* SPDX-License-Identifier: Apache-2.0 */
/* lemmas.h - facts about descriptors that several proofs call: each function's contract is one. */
#include "descriptors.h"

/* Nonlinear facts by themselves, where provers find them. */

/*@ requires 0 <= a && 0 <= b && 1 <= c;
    assigns \nothing;
    ensures 0 <= a * b <= a * b * c; */
static void product_grows(int64_t a, int64_t b, int64_t c) {}

/*@ requires 0 <= i <= last && 1 <= size;
    assigns \nothing;
    ensures stride >= 0 ==> 0 <= i * stride * size <= last * stride * size;
    ensures stride < 0 ==> last * stride * size <= i * stride * size <= 0;
    ensures stride >= 0 ==> 0 <= last * stride <= last * stride * size;
    ensures stride < 0 ==> last * stride * size <= last * stride <= 0;
    ensures stride < 0 && last > 0 ==> last * stride * size < 0; */
static void index_times_stride(int64_t i, int64_t last, int64_t stride, int64_t size) {}

/*@ requires \valid_read(t) && 0 <= d < VJP_MAX_DIMS && 1 <= element_size(t->dtype);
    requires 0 <= i < t->shape[d];
    assigns \nothing;
    ensures 0 <= up(t, d) && 0 <= down(t, d) && (up(t, d) == 0 || down(t, d) == 0);
    ensures -down(t, d) <= i * t->strides[d] * element_size(t->dtype) <= up(t, d);
    ensures (t->shape[d] - 1) * t->strides[d] * element_size(t->dtype) == up(t, d) - down(t, d);
    ensures -down(t, d) <= (t->shape[d] - 1) * t->strides[d] <= up(t, d);
    ensures up(t, d) + down(t, d) <= INT64_MAX ==>
      (int64_t)((t->shape[d] - 1) * t->strides[d]) * element_size(t->dtype) == up(t, d) - down(t, d); */
static void along(const vjp_tensor *t, int32_t d, int64_t i)
{
    index_times_stride(i, t->shape[d] - 1, t->strides[d], (int64_t)vjp_dtype_size(t->dtype));
}

/*@ requires \valid_read(t);
    assigns \nothing;
    ensures \result == element_size(t->dtype); */
static int64_t size_of(const vjp_tensor *t)
{
    return (int64_t)vjp_dtype_size(t->dtype);
}
