/* SPDX-License-Identifier: Apache-2.0 */
/* overlap.c - can two elements share a byte?
 *
 * Both questions here reduce to one: is there a choice of integers v[i] in [low[i], high[i]] with
 * first <= sum of step[i] * v[i] <= last?  The search goes from the largest step down; the range
 * that the smaller steps can still reach, and their greatest common divisor, cut it to a few steps
 * for layouts met in practice. If it takes more, the answer is "perhaps": the caller refuses what
 * it cannot prove safe. */
#include "core/internal.h"

#define MAX_TERMS (2 * VJP_MAX_DIMS)
#define MAX_STEPS 512

/* Sums of two tensors' spans and a pointer distance may exceed 64 bits. */
__extension__ typedef __int128 wide;

typedef struct term {
    int64_t step; /* > 0 */
    int64_t low, high;
} term;

typedef struct search {
    int count;
    term terms[MAX_TERMS];
    wide low[MAX_TERMS + 1], high[MAX_TERMS + 1]; /* range of the terms from i on */
    int64_t divisor[MAX_TERMS + 1];
    int steps_left;
} search;

/* Keep the terms in decreasing order of step; equal steps become one term. */
static void add_term(search *s, int64_t step, int64_t low, int64_t high)
{
    int at = 0;
    while (at < s->count && s->terms[at].step > step)
        at++;
    if (at < s->count && s->terms[at].step == step) {
        s->terms[at].low += low;
        s->terms[at].high += high;
        return;
    }
    for (int i = s->count++; i > at; i--)
        s->terms[i] = s->terms[i - 1];
    s->terms[at] = (term){ step, low, high };
}

/* Add every stride of a tensor, in bytes; sign -1 subtracts its addresses. */
static void add_tensor(search *s, const vjp_tensor *tensor, int sign)
{
    int64_t size = (int64_t)vjp_dtype_size(tensor->dtype);
    for (int32_t d = 0; d < tensor->ndim; d++) {
        int64_t last = tensor->shape[d] - 1, step = last > 0 ? tensor->strides[d] * sign : 0;
        if (step == 0)
            continue;
        if (step > 0)
            add_term(s, step * size, 0, last);
        else
            add_term(s, -step * size, -last, 0);
    }
}

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The largest multiple of b, which is positive, that is at most a. */
static wide floor_multiple(wide a, int64_t b)
{
    wide rest = a % b;
    return rest < 0 ? a - rest - b : a - rest;
}

static wide floor_divide(wide a, int64_t b)
{
    return floor_multiple(a, b) / b;
}

static bool find(search *s, int at, wide first, wide last)
{
    if (at == s->count)
        return first <= 0 && last >= 0;
    int64_t divisor = s->divisor[at], step = s->terms[at].step;
    if (floor_multiple(last, divisor) < first)
        return false;
    wide low = -floor_divide(-(first - s->high[at + 1]), step);
    wide high = floor_divide(last - s->low[at + 1], step);
    low = low < s->terms[at].low ? s->terms[at].low : low;
    high = high > s->terms[at].high ? s->terms[at].high : high;
    for (wide v = low; v <= high; v++) {
        wide part = v * step;
        if (--s->steps_left < 0 || find(s, at + 1, first - part, last - part))
            return true;
    }
    return false;
}

static vjpi_answer has_solution(search *s, wide first, wide last)
{
    s->low[s->count] = s->high[s->count] = 0;
    s->divisor[s->count] = 0;
    for (int i = s->count - 1; i >= 0; i--) {
        s->low[i] = s->low[i + 1] + (wide)s->terms[i].step * s->terms[i].low;
        s->high[i] = s->high[i + 1] + (wide)s->terms[i].step * s->terms[i].high;
        s->divisor[i] = greatest_common_divisor(s->terms[i].step, s->divisor[i + 1]);
    }
    s->steps_left = MAX_STEPS;
    if (!find(s, 0, first, last))
        return VJPI_NO;
    return s->steps_left < 0 ? VJPI_PERHAPS : VJPI_YES;
}

vjpi_span vjpi_tensor_span(const vjp_tensor *tensor)
{
    int64_t size = (int64_t)vjp_dtype_size(tensor->dtype);
    vjpi_span span = { 0, size };
    if (vjpi_numel(tensor) == 0)
        return (vjpi_span){ 0, 0 }; /* whose ranges may overflow */
    for (int32_t d = 0; d < tensor->ndim; d++) {
        if (tensor->shape[d] == 1)
            continue;
        int64_t reach = (tensor->shape[d] - 1) * tensor->strides[d] * size;
        if (reach < 0)
            span.low += reach;
        else
            span.high += reach;
    }
    return span;
}

static int64_t size_of_stride(const vjp_tensor *tensor, int32_t d)
{
    return tensor->strides[d] < 0 ? -tensor->strides[d] : tensor->strides[d];
}

/* Collect the strides, in elements. Does one coincide with another or with 0? Then *dim has it. */
static bool repeats_stride(const vjp_tensor *tensor, search *all, int32_t *dim)
{
    for (int32_t d = 0; d < tensor->ndim; d++) {
        int before = all->count;
        if (tensor->shape[d] <= 1)
            continue;
        *dim = d;
        if (tensor->strides[d] == 0)
            return true;
        add_term(all, size_of_stride(tensor, d), 0, tensor->shape[d] - 1);
        if (all->count == before)
            return true; /* two dims of one stride: (1, 0) and (0, 1) coincide */
    }
    return false;
}

/* Does each dim step over everything inside it? */
static bool is_nested(const search *all)
{
    wide reach = 0;
    for (int i = all->count - 1; i >= 0; i--) {
        if (all->terms[i].step <= reach)
            return false;
        reach += (wide)all->terms[i].step * all->terms[i].high;
    }
    return true;
}

/* Do two indices share an address that, by decreasing stride, first differ in dim i? */
static vjpi_answer meet_from(const search *all, int i)
{
    search s = { .count = all->count - i };
    for (int j = i; j < all->count; j++)
        s.terms[j - i] = (term){ all->terms[j].step, -all->terms[j].high, all->terms[j].high };
    s.terms[0].low = 1;
    return has_solution(&s, 0, 0);
}

vjpi_answer vjpi_overlaps_itself(const vjp_tensor *tensor, int32_t *dim)
{
    search all = { .count = 0 };
    if (repeats_stride(tensor, &all, dim))
        return VJPI_YES;
    if (is_nested(&all))
        return VJPI_NO;
    for (int i = 0; i < all.count; i++) {
        vjpi_answer answer = meet_from(&all, i);
        if (answer != VJPI_NO) {
            for (int32_t d = 0; d < tensor->ndim; d++)
                if (tensor->shape[d] > 1 && size_of_stride(tensor, d) == all.terms[i].step)
                    *dim = d;
            return answer;
        }
    }
    return VJPI_NO;
}

vjpi_answer vjpi_overlap(const vjp_tensor *a, const vjp_tensor *b, int64_t distance)
{
    search s = { .count = 0 };
    wide size_a = (wide)vjp_dtype_size(a->dtype), size_b = (wide)vjp_dtype_size(b->dtype);
    add_tensor(&s, b, 1);
    add_tensor(&s, a, -1);
    return has_solution(&s, 1 - size_b - distance, size_a - 1 - distance);
}

bool vjpi_same_view(const vjp_tensor *a, const vjp_tensor *b)
{
    if (a->dtype != b->dtype || a->ndim != b->ndim)
        return false;
    for (int32_t d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d] || (a->shape[d] > 1 && a->strides[d] != b->strides[d]))
            return false;
    return true;
}
