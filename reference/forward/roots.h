/* SPDX-License-Identifier: Apache-2.0 */
/* roots.h - slopes next to the places where they change their sign, in long double. Part of
 * forward.h.
 *
 * There a slope is a sum of terms that cancel, and a long double has no digits to spare beside
 * f64's. With x = root + t the terms that cancel at t = 0 are removed algebraically: what is left
 * are t and expm1 of multiples of it. The roots are known to 128 bits, so t is right to the last
 * digit.
 */
#include "product.h"

typedef struct slope_root {
    long double high, low;
} slope_root;

/* How far from a root the functions below are used. */
static const long double NEAR_ROOT = 0.125L;

/* a * x - root. */
static long double distance_from(slope_root root, long double a, long double x)
{
    return (a * x - root.high) + (product_lost(a, x) - root.low);
}

/* e^x * N / (1 + e^x)^2 with N = 1 + x + e^x = t + c * (e^t - 1), c = e^root. */
static const slope_root silu_root = { -0xa3a4b9e420905bf2p-63L, 0xa2d0d94faaebb5b0p-128L };

static long double silu_slope_at(long double t)
{
    long double c = expl(silu_root.high), e = c * expl(t), sum = 1 + e;
    return e * (t + c * expm1l(t)) / (sum * sum);
}

/* e^x * w / (e^2x + 2 e^x + 2)^2, w = e^3x + 4 e^2x + (4x + 6) e^x + 4 (x + 1); w vanishes at the
 * root. */
static const slope_root mish_root = { -0x98a19606896c21bfp-63L, -0xc64553688413b82fp-129L };

static long double mish_slope_at(long double t)
{
    long double c = expl(mish_root.high), e = c * expl(t), rise = c * expm1l(t);
    long double sum = e * e + 2 * e + 2;
    long double powers = e * e + e * c + c * c + 4 * (e + c) + 4 * mish_root.high + 6;
    return e * (t * (4 + 4 * e) + rise * powers) / (sum * sum);
}

/* e^v * N / (1 + e^v)^2, v = k (x + b x^3), N = 1 + k (x + 3 b x^3) + e^v, k = sqrt(8 / pi). */
static const slope_root gelu_tanh_root = { -0xc0a14fcf4bf26561p-64L, -0xb704a209091a64a0p-129L };

static long double gelu_tanh_slope_at(long double t)
{
    long double k = sqrtl(8 / 3.14159265358979323846264338327950288L), b = 0.044715L;
    long double r = gelu_tanh_root.high, x = r + t, squares = x * x + x * r + r * r;
    long double c = expl(k * (r + b * r * r * r)), rise = k * t * (1 + b * squares);
    long double e = c * expl(rise), sum = 1 + e;
    return e * (k * t * (1 + 3 * b * squares) + c * expm1l(rise)) / (sum * sum);
}

/* Phi(x) + x phi(x). With phi(x) = phi(root) e^q, q = -root t - t^2 / 2, x phi(x) grows by
 * phi(root) (t e^q + root (e^q - 1)), and Phi by phi(root) times the integral of e^q, term by
 * term. */
static const slope_root gelu_root = { -0xc07568cbf8059eecp-64L, -0xc59d39a92be9a2b5p-131L };

static long double gelu_slope_at(long double t)
{
    long double r = gelu_root.high, q = -r * t - t * t / 2;
    long double before = 0, term = 1, power = t, integral = t;
    for (int n = 1; n < 24; n++) {
        long double next = (-r * term - before) / n;
        before = term, term = next, power *= t;
        integral += term * power / (n + 1);
    }
    long double density = expl(-r * r / 2) / sqrtl(2 * 3.14159265358979323846264338327950288L);
    return density * (integral + t * expl(q) + r * expm1l(q));
}

/* y, a function of x with y' = slope(t) near the root of the slope; elsewhere y as it is. */
static dual about_root(dual y, dual x, slope_root root, long double a,
                       long double (*slope)(long double))
{
    if (NUMBER_HAS_SPARE_DIGITS)
        return y;
    long double t = distance_from(root, a, number_value(x.value));
    return fabsl(t) < NEAR_ROOT ? chain(y.value, x, number_from_long(slope(t))) : y;
}
