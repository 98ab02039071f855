/* SPDX-License-Identifier: Apache-2.0 */
/* formulas.h - the mathematics of ops.def over lanes, and ops.def as inline functions.
 *
 * Each lane's result depends on that lane alone, also where a rare case is handled for a whole
 * vector at once: a vector is 1, 4, 8 or 16 lanes, and all must give the same bits. Constants
 * come from exp.sollya. Whoever includes this has the words of the lanes, and INLINE, RARE and
 * UNROLL: how its compiler is told. */

#if VJPI_COMPUTE_F64
#define MAGIC 0x1.8p52         /* z = v + MAGIC holds v rounded to an integer in its low bits */
#define LOG2_E 0x1.71547652b82fep0
#define LN2_HIGH 0x1.62e42fefa39efp-1
#define LN2_LOW 0x1.abc9e3b39803fp-56
#define LATE 600               /* beyond: exp(-|x|) < 2^-865, and (1 + exp(-|x|))^2 is 1 */
#define FURTHEST 1460          /* beyond: the gradient is 0 for every finite diff_dst */
#define EARLY_EXPONENT (-512)  /* the part of the power of two that is applied before diff_dst */
#define LAST_EXPONENT (-800)   /* the most that is applied in the last step */
#define HUGE_DST 0x1p500         /* beyond: dst^2 might overflow where dst^2 * diff_dst does not */
#define LARGEST 0x1.fffffffffffffp1023
#else
#define MAGIC 0x1.8p23f
#define LOG2_E 0x1.715476p0f
#define LN2_HIGH 0x1.62e43p-1f
#define LN2_LOW (-0x1.05c61p-29f)
#define LATE 66
#define FURTHEST 194
#define EARLY_EXPONENT (-64)
#define LAST_EXPONENT (-100)
#define HUGE_DST 0x1p60f
#define LARGEST 0x1.fffffep127f
#endif

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
    V p = k(c[0]);
    UNROLL
    for (size_t i = 1; i < sizeof(c) / sizeof(c[0]); i++)
        p = muladd(p, r, k(c[i]));
    return p;
}

/* exp(t) as 2^n times what is returned, with z = n + MAGIC, for t from -FURTHEST to 0. */
INLINE V exp_split(V t, V *z)
{
    *z = muladd(t, k(LOG2_E), k(MAGIC));
    V n = *z - k(MAGIC);
    return exp_reduced(muladd(n, k(-LN2_LOW), muladd(n, k(-LN2_HIGH), t)));
}

/* diff_src of the sigmoid where |x| > LATE, x is infinite or NaN; t = -|x|.
 *
 * With exp(-|x|) = m * 2^(n+1), m in [0.35, 0.71), this is dy * m * 2^(n+1), the power of two last:
 * exp(-|x|) alone would round to a subnormal or to 0 where a large dy still gives a good number.
 * It is applied in three parts, such that no nonzero result is rounded twice and none overflows
 * on the way. Kept out of line: the loops stay small, and ordinary data never comes here. */
RARE V sigmoid_vjp_late(V x, V t, V dy)
{
    V far = pick(gt(t, k(-FURTHEST)), t, k(-FURTHEST));
    V z, power = exp_split(far, &z);
    V rest = (z - k(MAGIC)) + k(1 - EARLY_EXPONENT);
    V last = pick(gt(rest, k(LAST_EXPONENT)), rest, k(LAST_EXPONENT));
    V late = dy * times_2_to(power * k(0.5f), k(EARLY_EXPONENT + MAGIC));
    late = late * times_2_to(k(1), (rest - last) + k(MAGIC)) * times_2_to(k(1), last + k(MAGIC));
    late = late * muladd(x, k(0), k(1)); /* NaN stays NaN */
    return pick(gt(absolute(x), k(LARGEST)), dy * k(0), late);
}

/* dy * e / (1 + e)^2 with e = exp(-|x|): even in x, and free of the cancellation in s * (1 - s). */
INLINE V sigmoid_vjp(V x, V dy)
{
    V t = -absolute(x);
    V z, power = exp_split(t, &z);
    V e = times_2_to(power, z);
    V dx = dy * ratio(e, muladd(e, k(2) + e, k(1)));
    M usual = gt(t, k(-LATE));
    return __builtin_expect(all(usual), 1) ? dx : pick(usual, dx, sigmoid_vjp_late(x, t, dy));
}

/* dy * (y - y^2). */
INLINE V sigmoid_vjp_from_dst(V y, V dy)
{
    V dx = dy * muladd(-y, y, y);
    M usual = gt(k(HUGE_DST), absolute(y));
    return __builtin_expect(all(usual), 1) ? dx : pick(usual, dx, dy * y * (k(1) - y));
}

/* Each operator of ops.def as a function. `part` is a pass over the row, by number, and says what
 * out[] gets: the terms of its reductions or, in the last pass, the FULL and SUM outputs in order;
 * PER_ROWS: the PER_ROW outputs. in[]: the inputs; values[]: what the passes before left for the
 * row. `part` and `choice` are constant: what is not asked for vanishes. `facts`: limits.h. */
enum { PER_ROWS = 100 };

typedef void formula(int part, int choice, uint32_t facts, const V *in, const V *values, V index,
                     const T *constants, V *out);

#define OP(name, title, text, inputs, attributes, outputs, bounds)                              \
    INLINE void name##_formula(int part, int choice, uint32_t facts, const V *in,               \
                               const V *values, V index, const T *constants, V *out)            \
    {                                                                                           \
        int tensor = 0, attr = 0, pass = 0;                                                     \
        (void)part, (void)choice, (void)facts, (void)values, (void)index, (void)constants;      \
        inputs attributes outputs                                                               \
        (void)tensor, (void)attr, (void)pass, (void)out;                                        \
    }
#define UNUSED __attribute__((unused))
#define IN(name, variable, ...) UNUSED const V variable = in[tensor++];
#define OPT(name, variable, ...)                            \
    UNUSED const int has_##name = (int)(facts >> tensor & 1); \
    IN(name, variable)
#define ATTR_FACT(name) UNUSED const int is_##name = (int)(facts >> (VJPI_ATTR_FACTS + attr) & 1);
#define HINT(name, ...) attr++;
#define CHOICE(name, ...)    \
    const int name = choice; \
    attr++;
#define MODE CHOICE
#define FLAG(name, ...) \
    ATTR_FACT(name)     \
    attr++;
#define WORD FLAG
#define REAL(name, ...)                                               \
    ATTR_FACT(name)                                                   \
    UNUSED const V name##_low = k(constants[VJPI_LOW_SLOTS + attr]);  \
    UNUSED const V name = k(constants[attr++]);
#define NEEDED REAL
#define IGNORE REAL
#define AXIS HINT
#define AXES HINT
#define FORMAT HINT
#define CAUSAL HINT
#define LET(variable, ...) UNUSED const V variable = (__VA_ARGS__);
#define INDEX(variable) UNUSED const V variable = index;
#define COUNT(variable) UNUSED const V variable = k(constants[VJPI_COUNT_SLOT]);
#define ROWSUM(variable, ...)     \
    UNUSED V variable = k(0);     \
    if (part == pass)             \
        *out++ = (__VA_ARGS__);   \
    else if (part > pass)         \
        variable = *values++;
#define ROWMAX ROWSUM
#define THEN          \
    if (part == pass) \
        return;       \
    pass++;
#define FULL(name, dtype, shape, ...) \
    if (part == pass)                 \
        *out++ = (__VA_ARGS__);
#define SUM FULL
#define PER_ROW(name, dtype, ...) \
    if (part == PER_ROWS)         \
        *out++ = (__VA_ARGS__);
#include "ops.def"
#undef UNUSED
#undef ATTR_FACT
