/* SPDX-License-Identifier: Apache-2.0 */
/* dual.h - numbers that carry along their derivatives by an operator's inputs and by the sums of a
 * row. Over the words of number.h, exact_number.h or double_number.h.
 *
 * A number also remembers whether it depends on a variable at all: the flat piece of a clamp
 * does not, and then its gradient is +0 even where the gradient flowing back is infinite or NaN.
 * `size` is what the derivative would be if all its terms had one sign: error bounds are stated in
 * such magnitudes.
 *
 * Where DUAL_HAS_ONE_VARIABLE is defined, there is but one, whichever it is: small numbers that stay
 * in registers take a tenth of the time. */

enum {
    DUAL_SUMS = 5,
#ifdef DUAL_HAS_ONE_VARIABLE
    BY_X = 0,
    BY_W = 0,
    BY_B = 0,
    DUAL_VARIABLES = 1
#else
    BY_X = 0, /* the data */
    BY_W = 1, /* a parameter, or the other factor of a gated unit */
    BY_B = 2, /* a parameter that is added */
    DUAL_VARIABLES = BY_B + 1 + DUAL_SUMS
#endif
};

/* The variable that is sum k over the row. */
#define BY_SUM(k) ((BY_B + 1 + (k)) % DUAL_VARIABLES)

typedef struct dual {
    number value;
    unsigned depends; /* bit i: on variable i */
    number rate[DUAL_VARIABLES];
    magnitude size[DUAL_VARIABLES];
} dual;

static inline dual constant(number value)
{
    dual x;
    x.value = value;
    x.depends = 0;
    return x;
}

static inline dual plain(double value) { return constant(number_from(value)); }

static inline dual variable(number value, int by)
{
    dual x = constant(value);
    x.depends = 1u << by;
    x.rate[by] = number_from(1);
    x.size[by] = 1;
    return x;
}

/* The chain rule for f(a): df = fa * da. */
static inline dual chain(number value, dual a, number fa)
{
    dual result = constant(value);
    result.depends = a.depends;
    for (int by = 0; by < DUAL_VARIABLES; by++)
        if (a.depends >> by & 1) {
            result.rate[by] = number_multiply(fa, a.rate[by]);
            result.size[by] = number_magnitude(fa) * a.size[by];
        }
    return result;
}

/* For f(a, b): fa * da + fb * db, over what a and b depend on. */
static inline dual chain_both(number value, dual a, number fa, dual b, number fb)
{
    dual result = chain(value, a, fa), other = chain(value, b, fb);
    result.depends |= b.depends;
    for (int by = 0; by < DUAL_VARIABLES; by++) {
        if (!(b.depends >> by & 1))
            continue;
        int both = a.depends >> by & 1;
        result.rate[by] = both ? number_add(result.rate[by], other.rate[by]) : other.rate[by];
        result.size[by] = both ? result.size[by] + other.size[by] : other.size[by];
    }
    return result;
}

static inline dual add(dual a, dual b)
{
    return chain_both(number_add(a.value, b.value), a, number_from(1), b, number_from(1));
}

static inline dual subtract(dual a, dual b)
{
    return chain_both(number_subtract(a.value, b.value), a, number_from(1), b, number_from(-1));
}

static inline dual multiply(dual a, dual b)
{
    return chain_both(number_multiply(a.value, b.value), a, b.value, b, a.value);
}

static inline dual divide(dual a, dual b)
{
    number ratio = number_divide(a.value, b.value);
    number by_b = number_subtract(number_from(0), number_divide(ratio, b.value));
    return chain_both(ratio, a, number_divide(number_from(1), b.value), b, by_b);
}

static inline dual exponential(dual a)
{
    number e = number_exp(a.value);
    return chain(e, a, e);
}

/* The exponential of a, where its value is known and that of a is not. */
static inline dual exponential_known(dual a, number e) { return chain(e, a, e); }

static inline dual logarithm(dual a)
{
    return chain(number_log(a.value), a, number_divide(number_from(1), a.value));
}

static inline dual logarithm_of_1_plus(dual a)
{
    number slope = number_divide(number_from(1), number_add(number_from(1), a.value));
    return chain(number_log_1_plus(a.value), a, slope);
}

static inline dual root(dual a)
{
    number r = number_root(a.value);
    return chain(r, a, number_divide(number_from(0.5), r));
}
