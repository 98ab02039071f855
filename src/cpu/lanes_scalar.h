/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_scalar.h - the vocabulary of formulas and loops in portable C: one lane.
 *
 * Every lanes header defines the same words, for the compute type selected by VJPI_COMPUTE_F64:
 *
 *   T V M LANES              element, vector and mask of the compute type, lanes in a vector
 *   k(c)                     c in every lane
 *   gt(a, b)  eq(a, b)       mask: a > b, a == b; false where either is NaN
 *   both(m, n)  all(m)       masks together; does m hold in every lane?
 *   pick(m, a, b)            a where m holds, else b
 *   greater_of(a, b)         a where a > b, else b
 *   lesser_of(a, b)          a where a < b, else b
 *   muladd(a, b, c)          a * b + c, rounded once
 *   absolute(a)
 *   ratio(a, b)              a / b, where nothing is near overflow or underflow
 *   times_2_to(a, z)         a * 2^n for z = n + MAGIC (formulas.h), by integer arithmetic on
 *                            the exponent: a and the result must be normal numbers
 *   split_exponent(a, &z)    a fraction f from sqrt(1/2) to sqrt(2) and z = n + MAGIC, for a normal
 *                            a = f * 2^n > 0
 *   root(a)                  the square root
 *   with_sign(a, s)          a with the sign of s
 *   look_up(t, x, step)      t[x[0]], t[x[step]], t[x[2 * step]] and so on; f32
 *   first(n)                 mask: the first n lanes
 *   sum_lanes(a)             lane i + lane i + LANES/2, and so on down to one
 *
 * Memory is read and written in pairs of vectors, VV {a, b}: 2 * LANES elements of dtype D. They
 * are in order, except for bf16: a has the even elements, b the odd ones, which needs no shuffles.
 * by_parity and in_order convert a pair of the compute type from one order to the other.
 *
 *   load_D store_D           a pair; _some: n elements only, 0 < n < 2 * LANES, the rest is 0
 *   load_D_to_store          f32, f64: as load_D, if what is made of it is stored in the same loop
 *   stream_D                 as store_D, past the caches; the address a multiple of 32 or, if that
 *                            is less, of the pair's size. CAN_STREAM: is there such a way?
 *   stream_eight             the same for eight elements of 16 bits, as they are stored
 *
 * Conversions to 16 bits round to nearest even and keep subnormals. A NaN that is rounded to bf16
 * must have zeros in its lower half, since rounding might otherwise carry into the sign. NaNs that
 * come from bf16 or from arithmetic do; plain_nan converts any other NaN. */
#include <stdint.h>
#include <string.h>

typedef uint16_t __attribute__((may_alias)) bits16; /* an element of 16 bits, as it is stored */
typedef uint16_t eight __attribute__((vector_size(16)));

#define LANES 1
#define CAN_STREAM 0

#if VJPI_COMPUTE_F64
typedef double T;
typedef uint64_t T_bits;
#define EXPONENT_SHIFT 52
#define EXPONENT_BIAS 1023
#define SQRT_HALF_BITS 0x3fe6a09e667f3bcd
#define MAGIC_BITS 0x4338000000000000
#else
typedef float T;
typedef uint32_t T_bits;
#define EXPONENT_SHIFT 23
#define EXPONENT_BIAS 127
#define SQRT_HALF_BITS 0x3f3504f3
#define MAGIC_BITS 0x4b400000
#endif
typedef T V;
typedef int M;

static inline V k(T c) { return c; }
static inline M gt(V a, V b) { return a > b; }
static inline M eq(V a, V b) { return a == b; }
static inline M both(M m, M n) { return m & n; }
static inline int all(M m) { return m; }
static inline V pick(M m, V a, V b) { return m ? a : b; }
static inline V greater_of(V a, V b) { return a > b ? a : b; }
static inline V lesser_of(V a, V b) { return a < b ? a : b; }
static inline V ratio(V a, V b) { return a / b; }
static inline M first(ptrdiff_t n) { return n > 0; }
static inline T sum_lanes(V a) { return a; }

static inline V muladd(V a, V b, V c)
{
#if VJPI_COMPUTE_F64
    return __builtin_fma(a, b, c);
#else
    return __builtin_fmaf(a, b, c);
#endif
}

static inline V absolute(V a)
{
#if VJPI_COMPUTE_F64
    return __builtin_fabs(a);
#else
    return __builtin_fabsf(a);
#endif
}

static inline V times_2_to(V a, V z)
{
    T_bits a_bits, z_bits;
    memcpy(&a_bits, &a, sizeof(a));
    memcpy(&z_bits, &z, sizeof(z));
    a_bits += z_bits << EXPONENT_SHIFT;
    memcpy(&a, &a_bits, sizeof(a));
    return a;
}

static inline V split_exponent(V a, V *z)
{
    const T_bits bias = (T_bits)EXPONENT_BIAS << EXPONENT_SHIFT;
    T_bits bits, n, z_bits;
    memcpy(&bits, &a, sizeof(a));
    n = (bits - (T_bits)SQRT_HALF_BITS + bias) >> EXPONENT_SHIFT; /* and the bias */
    bits = bits - (n << EXPONENT_SHIFT) + bias;
    z_bits = (T_bits)MAGIC_BITS + n - EXPONENT_BIAS;
    memcpy(&a, &bits, sizeof(a));
    memcpy(z, &z_bits, sizeof(*z));
    return a;
}

static inline V root(V a)
{
#if VJPI_COMPUTE_F64
    return __builtin_sqrt(a);
#else
    return __builtin_sqrtf(a);
#endif
}

static inline V with_sign(V a, V s)
{
#if VJPI_COMPUTE_F64
    return __builtin_copysign(a, s);
#else
    return __builtin_copysignf(a, s);
#endif
}

/* One element of each dtype. */
#if VJPI_COMPUTE_F64

static inline V get_f64(const void *p)
{
    V a;
    memcpy(&a, p, sizeof(a));
    return a;
}

static inline void put_f64(void *p, V a) { memcpy(p, &a, sizeof(a)); }

#else

static inline float from_bits(uint32_t bits)
{
    float a;
    memcpy(&a, &bits, sizeof(a));
    return a;
}

static inline V get_f32(const void *p)
{
    V a;
    memcpy(&a, p, sizeof(a));
    return a;
}

static inline void put_f32(void *p, V a) { memcpy(p, &a, sizeof(a)); }

static inline V get_bf16(const void *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof(half));
    return from_bits((uint32_t)half << 16);
}

static inline V plain_nan(V a) { return a == a ? a : __builtin_nanf(""); }

static inline void put_bf16(void *p, V a)
{
    uint32_t bits;
    memcpy(&bits, &a, sizeof(bits));
    uint16_t half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    memcpy(p, &half, sizeof(half));
}

/* f16 by scaling: the exponent's bias differs by 112, and multiplication by a power of two is exact
 * for subnormals too. */
static inline V get_f16(const void *p)
{
    uint16_t half;
    memcpy(&half, p, sizeof(half));
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;
    float a = from_bits(rest) * 0x1p112f;
    if (rest >= 0x7c00u << 13)
        a = from_bits(rest | 0x7f800000);
    return sign ? -a : a;
}

static inline void put_f16(void *p, V a)
{
    uint32_t bits, sign, half;
    memcpy(&bits, &a, sizeof(bits));
    sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) {
        half = 0x7e00;
    } else if (bits < 0x38800000) { /* below 2^-14: adding 0.5 rounds at f16's last place */
        float moved = from_bits(bits) + 0.5f;
        memcpy(&half, &moved, sizeof(half));
        half -= 0x3f000000;
    } else {
        half = (bits + 0xfff + (bits >> 13 & 1)) - (112u << 23);
        half = half >= 0x7c00u << 13 ? 0x7c00 : half >> 13;
    }
    uint16_t stored = (uint16_t)(sign | half);
    memcpy(p, &stored, sizeof(stored));
}

#endif

typedef struct VV {
    V a, b;
} VV;

static inline VV by_parity(VV v) { return v; }
static inline VV in_order(VV v) { return v; }

static inline void stream_eight(void *p, eight v) { memcpy(p, &v, sizeof(v)); }

static inline V look_up(const T *t, const bits16 *x, ptrdiff_t step)
{
    (void)step;
    return t[x[0]];
}

/* Pairs of one lane each: partial means only the first element. Portable C has no non-temporal
 * stores. */
#define PAIRS(dtype, size)                                                                \
    static inline VV load_##dtype(const void *p)                                          \
    {                                                                                     \
        return (VV){ get_##dtype(p), get_##dtype((const char *)p + size) };               \
    }                                                                                     \
    static inline void store_##dtype(void *p, VV v)                                       \
    {                                                                                     \
        put_##dtype(p, v.a);                                                              \
        put_##dtype((char *)p + size, v.b);                                               \
    }                                                                                     \
    static inline void stream_##dtype(void *p, VV v) { store_##dtype(p, v); }             \
    static inline VV load_some_##dtype(const void *p, ptrdiff_t n)                        \
    {                                                                                     \
        (void)n;                                                                          \
        return (VV){ get_##dtype(p), 0 };                                                 \
    }                                                                                     \
    static inline void store_some_##dtype(void *p, VV v, ptrdiff_t n)                     \
    {                                                                                     \
        (void)n;                                                                          \
        put_##dtype(p, v.a);                                                              \
    }
#if VJPI_COMPUTE_F64
PAIRS(f64, 8)
#else
PAIRS(f32, 4)
PAIRS(f16, 2)
PAIRS(bf16, 2)
#endif
#undef PAIRS

#define load_f32_to_store load_f32
#define load_f64_to_store load_f64
