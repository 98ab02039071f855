/* SPDX-License-Identifier: Apache-2.0 */
/* exp.h - exp, log, and products whose factors are far apart. Part of formulas.h. */

#ifndef VJPI_FORMULAS_CONSTANTS
#define VJPI_FORMULAS_CONSTANTS
#if VJPI_COMPUTE_F64
#define MAGIC 0x1.8p52         /* z = v + MAGIC holds v rounded to an integer in its low bits */
#define LOG2_E 0x1.71547652b82fep0
#define LN2_HIGH 0x1.62e42fefa39efp-1
#define LN2_LOW 0x1.abc9e3b39803fp-56
#define LATE 600               /* beyond: exp(-|x|) < 2^-865, and (1 + exp(-|x|))^2 is 1 */
#define FURTHEST 1470          /* beyond: x * exp(x) is 0 even times the largest diff_dst */
#define FURTHEST_OF_TWO 2200   /* beyond: that is 0 even times two of the largest numbers */
#define LATE_EXP 700           /* beyond: exp(x) might not be a normal number */
#define EARLY_EXPONENT (-512)  /* the part of the power of two that is applied before diff_dst */
#define LAST_EXPONENT (-800)   /* the most that is applied in the last step */
#define HUGE_DST 0x1p500         /* beyond: dst^2 might overflow where dst^2 * diff_dst does not */
#define LARGEST 0x1.fffffffffffffp1023
#define SMALLEST 0x1p-1022     /* normal number */
#define LEAST_EXP (-760)       /* below: exp is 0 */
#define UP 200                 /* exponents that keep what is scaled by them away from subnormals */
#else
#define MAGIC 0x1.8p23f
#define LOG2_E 0x1.715476p0f
#define LN2_HIGH 0x1.62e43p-1f
#define LN2_LOW (-0x1.05c61p-29f)
#define LATE 66
#define FURTHEST 200
#define FURTHEST_OF_TWO 300
#define LATE_EXP 86
#define EARLY_EXPONENT (-64)
#define LAST_EXPONENT (-100)
#define HUGE_DST 0x1p60f
#define LARGEST 0x1.fffffep127f
#define SMALLEST 0x1p-126f
#define LEAST_EXP (-110)
#define UP 64
#endif
#endif

/* One of two for a whole call: ?: takes no products of lanes. */
INLINE V choose(int first, V a, V b)
{
    if (first)
        return a;
    return b;
}

INLINE V at_least(V a, V least) { return greater_of(least, a); } /* NaN gives NaN */
INLINE V at_most(V a, V most) { return lesser_of(most, a); }
INLINE V nearest_finite(V a) { return at_most(at_least(a, k(-LARGEST)), k(LARGEST)); }

/* 2^n, a normal number. */
INLINE V power_of_2(V n) { return times_2_to(k(1), n + k(MAGIC)); }

/* c[0] * x^(n-1) + ... + c[n-1]. */
INLINE V polynomial(V x, const T *c, int n)
{
    V p = k(c[0]);
    EVERY
    for (int i = 1; i < n; i++)
        p = muladd(p, x, k(c[i]));
    return p;
}
#define POLYNOMIAL(x, c) polynomial(x, c, (int)(sizeof(c) / sizeof((c)[0])))

/* high + low, low being what rounding lost. */
typedef struct parts {
    V high, low;
} parts;

INLINE parts in_parts(V high, V low)
{
    parts made;
    made.high = high, made.low = low;
    return made;
}

INLINE parts exactly(V a) { return in_parts(a, k(0)); }

/* (a + a_low) * x. */
INLINE parts product_in_parts(V a, V a_low, V x)
{
    V high = a * x;
    return in_parts(high, muladd(a_low, x, muladd(a, x, -high)));
}

/* a + b. */
INLINE parts sum_in_parts(V a, V b)
{
    V high = a + b, back = high - a;
    return in_parts(high, (a - (high - back)) + (b - back));
}

/* exp(r) for |r| <= ln(2) / 2. */
INLINE V exp_reduced(V r)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        0x1.ad930400c27dep-26, 0x1.28adfefa80119p-22, 0x1.71df18e2549ep-19,
        0x1.a019995cdc75bp-16, 0x1.a01a012ff293ep-13, 0x1.6c16c18477aefp-10,
        0x1.1111111126b3p-7, 0x1.55555555506bap-5, 0x1.55555555554fep-3, 0x1.000000000000ap-1,
        1, 1
    };
#else
    static const T c[] = { 0x1.694ca6p-10f, 0x1.12398p-7f, 0x1.555a26p-5f, 0x1.555492p-3f,
                           0x1.fffffap-2f, 1, 1 };
#endif
    return POLYNOMIAL(r, c);
}

/* t + low - n * ln(2), |t| <= FURTHEST_OF_TWO, rounded once, with n such that this is at most
 * ln(2) / 2 to both sides of 0, and z = n + MAGIC. */
INLINE V reduced_parts(V t, V low, V *z)
{
    *z = muladd(t, k(LOG2_E), k(MAGIC));
    V n = *z - k(MAGIC);
    return muladd(n, k(-LN2_HIGH), t) + muladd(n, k(-LN2_LOW), low);
}

/* The same for low = 0. */
INLINE V reduced(V t, V *z)
{
    *z = muladd(t, k(LOG2_E), k(MAGIC));
    V n = *z - k(MAGIC);
    return muladd(n, k(-LN2_LOW), muladd(n, k(-LN2_HIGH), t));
}

/* exp(t) as 2^n times what is returned, with z = n + MAGIC, for |t| <= FURTHEST_OF_TWO. */
INLINE V exp_split(V t, V *z)
{
    return exp_reduced(reduced(t, z));
}

/* exp(t + low) for t from about 0 down, low a small part of it; subnormal results are rounded once.
 * What comes with t below the least is ignored: of an infinite t, low is NaN. */
INLINE V exp_down(V t, V low)
{
    V z, r = reduced_parts(at_least(t, k(LEAST_EXP)), pick(gt(t, k(LEAST_EXP)), low, k(0)), &z);
    return exp_reduced(r) * times_2_to(power_of_2(k(UP)), z) * power_of_2(k(-UP));
}

INLINE V exp_below(V t, V low) { return exp_down(at_most(t, k(0)), low); }

/* x - most. */
INLINE parts difference_in_parts(V x, V most)
{
    V d = x - most, back = d - x;
    return in_parts(d, (x - (d - back)) - (most + back));
}

/* exp(x - most), where that is not above about 0: a rounding of the argument would cost its size in
 * ULP. */
INLINE V exp_of_difference(V x, V most)
{
    parts d = difference_in_parts(x, most);
    return exp_down(d.high, d.low);
}

/* exp(scale * (x - most)), scale > 0. */
INLINE V exp_of_scaled(V x, V most, V scale, V scale_low)
{
    parts d = difference_in_parts(x, most);
    V t = scale * d.high,
      low = muladd(scale, d.high, -t) + muladd(scale, d.low, scale_low * d.high);
    return exp_down(t, low);
}

/* log(a), within a little more than one rounding; -inf for 0, NaN below. */
INLINE V log_of(V a)
{
#if VJPI_COMPUTE_F64
    static const T c[] = {
        0x1.1023cab0a1a58p-3, 0x1.0f4a13a977b0bp-3, 0x1.3b215941758a9p-3, 0x1.745cdb74eb79bp-3,
        0x1.c71c725c5f489p-3, 0x1.249249242ee19p-2, 0x1.9999999999d59p-2, 0x1.5555555555555p-1
    };
#else
    static const T c[] = { 0x1.ce5aep-3f, 0x1.24c21ap-2f, 0x1.99986cp-2f, 0x1.555556p-1f };
#endif
    M small = gt(k(SMALLEST), a);
    V z, m = split_exponent(pick(small, a * power_of_2(k(UP)), a), &z);
    V n = (z - k(MAGIC)) - pick(small, k(UP), k(0));
    /* log(1 + f) = f - h + q * (h + R), h = f^2 / 2: f itself is exact. */
    V f = m - k(1), q = ratio(f, m + k(1)), u = q * q, h = k(0.5f) * f * f;
    V bend = h - muladd(q, muladd(u, POLYNOMIAL(u, c), h), n * k(LN2_LOW));
    V log = muladd(n, k(LN2_HIGH), f - bend);
    log = pick(gt(a, k(0)), log, pick(gt(k(0), a), k((T)NAN), k(-(T)INFINITY)));
    log = pick(gt(a, k(LARGEST)), a, log);
    return log + muladd(pick(gt(absolute(a), k(LARGEST)), k(0), a), k(0), k(0)); /* NaN stays NaN */
}

/* log(1 + a), a >= 0: what 1 + a loses is put back. */
INLINE V log_of_1_plus(V a)
{
    V sum = k(1) + a, lost = a - (sum - k(1));
    V log = log_of(sum);
    return pick(gt(k(LARGEST), sum), log + lost / sum, log);
}

/* a * b * m * 2^n for numbers whose intermediate products leave the range of exponents: fractions
 * and exponents are multiplied separately. n is an integer. */
RARE V scaled_product(V a, V b, V m, V n)
{
    V factors[3];
    V product = k(1), plain = a * b * m, sign = k(1);
    M proper = gt(absolute(plain), k(-1)); /* not NaN */
    factors[0] = a, factors[1] = b, factors[2] = m;
    UNROLL
    for (int i = 0; i < 3; i++) {
        V f = absolute(factors[i]), z;
        M small = gt(k(SMALLEST), f);
        product = product * split_exponent(pick(small, f * power_of_2(k(UP)), f), &z);
        n = n + ((z - k(MAGIC)) - pick(small, k(UP), k(0)));
        sign = pick(gt(k(0), factors[i]), -sign, sign);
        proper = both(proper, both(gt(f, k(0)), gt(k((T)INFINITY), f)));
    }
    V last = at_most(at_least(n, k(LAST_EXPONENT)), k(-LAST_EXPONENT));
    V rest = at_most(at_least(n - last, k(LAST_EXPONENT)), k(-LAST_EXPONENT));
    V result = sign * product * power_of_2(rest) * power_of_2(last);
    return pick(proper, result, plain);
}

/* a * b * m; usually no intermediate product leaves the range of normal numbers. m is at most 2. */
INLINE V product_of_3(V a, V b, V m)
{
    V first = a * m, test = absolute(first);
    test = pick(gt(absolute(a), k(0)), test, k(1)); /* 0 is no underflow */
    test = pick(gt(absolute(m), k(0)), test, k(1));
    M usual = both(gt(test, k(SMALLEST)), gt(k(LARGEST), test));
    V product = first * b;
    return __builtin_expect(all(usual), 1) ? product
                                           : pick(usual, product, scaled_product(a, b, m, k(0)));
}

/* dy * exp(x) where |x| > LATE_EXP, or x is NaN. */
RARE V exp_product_late(V x, V dy)
{
    V z, power = exp_split(at_most(at_least(x, k(-FURTHEST)), k(FURTHEST)), &z);
    V product = scaled_product(dy, k(1), power, z - k(MAGIC));
    product = pick(gt(x, k(LARGEST)), dy * x, product);
    return pick(gt(k(-LARGEST), x), dy * k(0), product);
}

/* dy * exp(x). */
INLINE V exp_product(V x, V dy)
{
    V z, power = exp_split(x, &z);
    V product = dy * times_2_to(power, z);
    M usual = gt(k(LATE_EXP), absolute(x));
    return __builtin_expect(all(usual), 1) ? product
                                           : pick(usual, product, exp_product_late(x, dy));
}
