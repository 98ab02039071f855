/* SPDX-License-Identifier: Apache-2.0 */
/* points.c - see points.h. */
#include "points.h"

#include <math.h>
#include <stdlib.h>

#include "base.h"
#include "dtypes.h"
#include "formats.h"
#include "quick.h"
#include "values.h"

static const double LN_2 = 0.69314718055994530942;

/* ---- the list ----------------------------------------------------------------------------- */

/* exp(-x) at these multiples of ln 2: 1 + exp(-x) becomes 1; exp(-x) becomes subnormal, vanishes,
 * vanishes even times the largest gradient. In f32, then in f64. */
static const int doublings[] = { 24, 126, 150, 278, 53, 1022, 1075, 2099 };

/* Where formulas take another path (LATE and HUGE_DST of formulas/exp.h), and where exp(-|x|) is
 * too small for any gradient. */
static const double turns[] = { 66, 194, 600, 1460, 0x1p60, 0x1p500 };

static void append(points *list, vjp_dtype dtype, double value)
{
    double rounded = dtype_round(dtype, value);
    if (!isfinite(rounded))
        return;
    if ((list->count & (list->count - 1)) == 0) { /* full: the room is the next power of two */
        size_t room = list->count > 0 ? 2 * (size_t)list->count : 1;
        list->at = realloc(list->at, room * sizeof *list->at);
        if (list->at == NULL)
            abort();
    }
    list->at[list->count++] = rounded;
}

static void append_with_neighbours(points *list, vjp_dtype dtype, double value)
{
    double middle = dtype_round(dtype, value);
    if (!isfinite(middle))
        return;
    for (int sign = 1; sign >= -1; sign -= 2) {
        double below = sign * middle, above = sign * middle;
        append(list, dtype, below);
        for (int step = 0; step < 2; step++) {
            append(list, dtype, below = dtype_next(dtype, below, -1));
            append(list, dtype, above = dtype_next(dtype, above, +1));
        }
    }
}

/* Whether the function is flat, rises or falls at the value of these bits; those of negative
 * numbers run downwards, so a search over bits stays on one side of 0. */
static int course(const problem *p, uint64_t bits)
{
    long double slope;
    if (!quick_slope(p, element_from_bits(p->tensors[0].dtype, bits), 1, &slope))
        return 0;
    return slope < 0 ? -1 : 1;
}

static int is_listed(const points *list, double value)
{
    for (int64_t i = 0; i < list->count; i++)
        if (list->at[i] == value)
            return 1;
    return 0;
}

/* Where the course changes among the numbers of one sign, to or from flat (`flat`) or not: a coarse
 * walk, then halving. */
static void append_turns(points *list, const problem *p, uint64_t sign, int flat)
{
    enum {
        STEPS = 4096
    };
    vjp_dtype dtype = p->tensors[0].dtype;
    int width = 8 * (int)vjp_dtype_size(dtype);
    uint64_t first = sign << (width - 1), stride = ((uint64_t)1 << (width - 1)) / STEPS;
    for (int i = 0; i + 1 < STEPS; i++) {
        uint64_t low = first + (uint64_t)i * stride, high = low + stride;
        if (!isfinite(element_from_bits(dtype, high)) || course(p, low) == course(p, high) ||
            flat != (course(p, low) == 0 || course(p, high) == 0))
            continue;
        while (high - low > 1) {
            uint64_t middle = low + (high - low) / 2;
            *(course(p, middle) == course(p, low) ? &low : &high) = middle;
        }
        if (flat || !is_listed(list, element_from_bits(dtype, low)))
            append_with_neighbours(list, dtype, element_from_bits(dtype, low));
    }
}

points points_list(const problem *p)
{
    vjp_dtype dtype = p->tensors[0].dtype;
    points list = { NULL, 0, 0 };
    for (int32_t i = 0; i < VALUE_EDGES; i++)
        append(&list, dtype, value_edge(dtype, i));
    for (double power = dtype_tiny(dtype); power <= dtype_max(dtype); power *= 2)
        append_with_neighbours(&list, dtype, power);
    for (int64_t i = 0; i < COUNT_OF(doublings); i++)
        append_with_neighbours(&list, dtype, doublings[i] * LN_2);
    for (int64_t i = 0; i < COUNT_OF(turns); i++)
        append_with_neighbours(&list, dtype, turns[i]);
    append_turns(&list, p, 0, 1);
    append_turns(&list, p, 1, 1);
    list.first_turn = list.count;
    append_turns(&list, p, 0, 0);
    append_turns(&list, p, 1, 0);
    return list;
}

void points_free(points *list)
{
    free(list->at);
    *list = (points){ NULL, 0, 0 };
}

/* ---- draws -------------------------------------------------------------------------------- */

static double any_finite(random_state *random, vjp_dtype dtype)
{
    for (;;) {
        uint64_t bits = random_bits(random) >> (64 - 8 * vjp_dtype_size(dtype));
        double value = element_from_bits(dtype, bits);
        if (isfinite(value))
            return value;
    }
}

static double some_steps_away(random_state *random, vjp_dtype dtype, double value)
{
    double unit = (double)dtype_ulp(dtype, value);
    double moved = dtype_round(dtype, value + (double)random_between(random, -8, 8) * unit);
    return isfinite(moved) ? moved : value;
}

double point_draw(random_state *random, vjp_dtype dtype, const points *list)
{
    int wide = dtype == VJP_F64;
    double sign = random_chance(random, 50) ? 1 : -1;
    switch (random_below(random, 8)) {
    case 0:
        return some_steps_away(random, dtype, list->at[random_below(random, list->count)]);
    case 1:
        return any_finite(random, dtype);
    case 2: /* near 1: what is left of 1 - y */
        return dtype_round(dtype, 1 - sign * random_unit(random) *
                                          ldexp(1, -(int)random_below(random, wide ? 54 : 25)));
    case 3: /* half-way between multiples of ln 2 */
    case 4: {
        double place = ((double)random_below(random, wide ? 2110 : 282) + 0.5) * LN_2;
        return some_steps_away(random, dtype, dtype_round(dtype, sign * place));
    }
    default:
        return dtype_round(dtype, sign * random_unit(random) *
                                      ldexp(1, (int)random_between(random, -4, wide ? 11 : 8)));
    }
}

gradient_source gradient_source_of(vjp_dtype dtype)
{
    gradient_source source = { dtype, dtype_max(dtype), dtype_tiny(dtype), 0, 0 };
    source.unit = (double)dtype_ulp(dtype, 1);
    source.normal = source.tiniest / source.unit;
    return source;
}

/* The power of two at or below |value|; 0 for subnormals. */
IN_LOOPS double power_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= (uint64_t)0x7ff << 52;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

/* dtype_round of a finite double, without branches that depend on it. */
IN_LOOPS double nearest(const gradient_source *source, double value)
{
    if (source->dtype == VJP_F64)
        return value;
    if (source->dtype == VJP_F32)
        return (double)(float)value;
    double size = fabs(value), normal = source->normal;
    double unit = power_of(size > normal ? size : normal) * source->unit;
    double rounded = rint(value / unit) * unit;
    return fabs(rounded) > source->largest ? copysign(INFINITY, rounded) : rounded;
}

/* A gradient that brings slope * g to the target, or some ULP below it. */
IN_LOOPS double gradient_towards(const gradient_source *source, double slope, double target)
{
    double g = nearest(source, target * (1 - 4 * source->unit) / slope);
    return fabs(g) <= source->largest ? g : 1;
}

IN_LOOPS double drawn(const gradient_source *source, random_state *random, gradient_kind kind,
                      double slope)
{
    switch (kind) {
    case GRADIENT_LARGEST:
        return source->largest;
    case GRADIENT_TINIEST:
        return source->tiniest;
    case GRADIENT_BELOW_TWO:
        return source->unit - 2;
    case GRADIENT_MANTISSA:
        return nearest(source, 1 + random_unit(random));
    case GRADIENT_ANY:
        return any_finite(random, source->dtype);
    case GRADIENT_BELOW_POWER:
        return gradient_towards(source, slope,
                                power_of(slope) * (double)(1 << random_below(random, 8)));
    case GRADIENT_SUBNORMAL:
        return gradient_towards(source, slope, 4 * source->normal * random_unit(random));
    default:
        return 1;
    }
}

IN_LOOPS double probed(const gradient_source *source, random_state *random, gradient_kind kind,
                       double slope, int64_t number)
{
    double gradient = drawn(source, random, kind, slope);
    if (kind != GRADIENT_BELOW_POWER)
        return gradient;
    return nearest(source, gradient * (1 - (double)(number % 4) * source->unit));
}

double gradient_draw(const gradient_source *source, random_state *random, gradient_kind kind,
                     double slope)
{
    return drawn(source, random, kind, slope);
}

double gradient_probe(const gradient_source *source, random_state *random, gradient_kind kind,
                      double slope, int64_t number)
{
    return probed(source, random, kind, slope, number);
}

/* One of the kinds that a slope or a single draw decides, and one dtype, are constants here. */
IN_LOOPS void probe_all(gradient_source source, vjp_dtype dtype, random_state *random,
                        gradient_kind kind, int64_t n, const double *slopes, double *gradients)
{
    random_state local = *random;
    source.dtype = dtype;
    for (int64_t i = 0; i < n; i++)
        gradients[i] = probed(&source, &local, kind, slopes[i], i);
    *random = local;
}

IN_LOOPS void any_bits(const format *f, random_state *random, int64_t n, double *gradients)
{
    random_state local = *random;
    for (int64_t i = 0; i < n; i++)
        gradients[i] = format_finite(f, random_bits(&local) >> (64 - f->width));
    *random = local;
}

IN_LOOPS void probe_format(const gradient_source *source, vjp_dtype dtype, const format *f,
                           random_state *random, gradient_kind kind, int64_t n,
                           const double *slopes, double *gradients)
{
    switch (kind) {
    case GRADIENT_MANTISSA:
        probe_all(*source, dtype, random, GRADIENT_MANTISSA, n, slopes, gradients);
        break;
    case GRADIENT_ANY:
        any_bits(f, random, n, gradients);
        break;
    case GRADIENT_BELOW_POWER:
        probe_all(*source, dtype, random, GRADIENT_BELOW_POWER, n, slopes, gradients);
        break;
    case GRADIENT_SUBNORMAL:
        probe_all(*source, dtype, random, GRADIENT_SUBNORMAL, n, slopes, gradients);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            gradients[i] = drawn(source, random, kind, 0);
    }
}

void gradients_probe(const gradient_source *source, random_state *random, gradient_kind kind,
                     int64_t n, const double *slopes, double *gradients)
{
    switch (source->dtype) {
    case VJP_F32:
        probe_format(source, VJP_F32, &f32, random, kind, n, slopes, gradients);
        break;
    case VJP_F16:
        probe_format(source, VJP_F16, &f16, random, kind, n, slopes, gradients);
        break;
    default:
        probe_format(source, VJP_BF16, &bf16, random, kind, n, slopes, gradients);
        break;
    }
}
