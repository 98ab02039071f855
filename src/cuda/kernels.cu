/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.cu - every kernel of one dtype, from ops.def. Compiled once per dtype with VJPI_DTYPE and
 * VJPI_COMPUTE (the type it is computed in), as cpu/loops.c is. */
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/launch.h"
#include "ops_counts.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define IS_F64_f64 1
#define VJPI_COMPUTE_F64 JOIN(IS_F64_, VJPI_COMPUTE)

namespace vjpi { /* CUDA has an all() of its own */

#include "cuda/element.cuh"

typedef JOIN(STORED_, VJPI_DTYPE) D;

constexpr int N = VJPI_CUDA_VECTOR / sizeof(D), MANY = N < 4 ? N : 4;

/* The formulas over one lane, and over several: as many as a vector has, or as registers allow. */
namespace one {
#define LANES 1
#include "cuda/lanes.cuh"
#include "formulas.h"
#undef LANES
} // namespace one

namespace many {
#define LANES MANY
#include "cuda/lanes.cuh"
#include "formulas.h"
#undef LANES
} // namespace many

using many::OUTS;
using many::TERMS;

template <int COUNT> struct lanes {
    typedef many::V V;
    static constexpr int width = MANY;
};
template <> struct lanes<1> {
    typedef one::V V;
    static constexpr int width = 1;
};

#include "cuda/access.cuh"
#include "cuda/held.cuh"
#include "cuda/sums.cuh"

#include "cuda/fold.cuh"
#include "cuda/map.cuh"
#include "cuda/row.cuh"

/* ---- ops.def -> types --------------------------------------------------------------------- */

/* Has input i the shape of the operator's sums? Then it is the same for all that is summed. */
#define IS_DATA false
#define IS_SLOPE true
#define IN(name, variable, dtype, shape) IS_##shape,
#define OP(name, title, text, accuracy, inputs, attributes, outputs)     \
    static __host__ __device__ constexpr bool name##_has_sum_shape(int i) \
    {                                                                    \
        const bool flags[] = { inputs };                                 \
        return flags[i];                                                 \
    }
#include "ops.def"

/* An operator as the kernels know it. wide(i): operand i is of the compute type; operand(i): which
 * operand the formula reads as its i-th, the row sum behind the inputs. */
#define IN(name, variable, dtype, shape) IS_##dtype && WIDE,
#define FULL(name, dtype, shape, ...) IS_##dtype && WIDE,
#define SUM(name, dtype, shape, ...) IS_##dtype && WIDE,
#define OP(name, title, text, accuracy, inputs, attributes, outputs)                         \
    template <int CHOSEN, bool WIDE> struct name##_op {                                      \
        static constexpr int nin = name##_nin, nfull = name##_nfull, nsums = name##_nsums;   \
        static constexpr int nrowsums = name##_nrowsums, nouts = nfull + nsums;              \
        static constexpr int noperands = nin + nouts + nrowsums;                             \
        static __host__ __device__ constexpr bool wide(int i)                                \
        {                                                                                    \
            const bool flags[] = { inputs outputs true };                                    \
            return flags[i];                                                                 \
        }                                                                                    \
        static __host__ __device__ constexpr int operand(int i)                              \
        {                                                                                    \
            return i < nin ? i : i + nfull;                                                  \
        }                                                                                    \
        template <int PART> static __host__ __device__ constexpr bool fixed(int i)           \
        {                                                                                    \
            return PART == OUTS && name##_has_sum_shape(i);                                  \
        }                                                                                    \
        template <int PART>                                                                  \
        INLINE void formula(const one::V *in, const float *constants, one::V *out)           \
        {                                                                                    \
            one::name##_formula(PART, CHOSEN, in, constants, out);                           \
        }                                                                                    \
        template <int PART>                                                                  \
        INLINE void formula(const many::V *in, const float *constants, many::V *out)         \
        {                                                                                    \
            many::name##_formula(PART, CHOSEN, in, constants, out);                          \
        }                                                                                    \
    };
#include "ops.def"

/* ---- types -> kernels --------------------------------------------------------------------- */

constexpr int ONES = VJPI_CUDA_HELD_ONES < N ? (int)VJPI_CUDA_HELD_ONES : N;

template <class Op, int LOG> constexpr void set_held(vjpi_cuda_kernels &k)
{
    constexpr int held = 1 << LOG;
    k.row[0][LOG] = (const void *)row_kernel<Op, 1, held * ONES>;
    k.row[1][LOG] = (const void *)row_kernel<Op, N, held>;
}

/* Only what an operator needs is instantiated. */
template <class Op> constexpr vjpi_cuda_kernels kernels_of()
{
    vjpi_cuda_kernels k = {};
    if constexpr (Op::nsums == 0) {
        k.map[0] = (const void *)map_kernel<Op, 1, false>;
        k.map[1] = (const void *)map_kernel<Op, N, false>;
        k.map[2] = (const void *)map_kernel<Op, N, true>;
        if constexpr (Op::nrowsums == 0)
            k.flat = (const void *)flat_kernel<Op, N>;
        k.turned[0] = (const void *)turned_kernel<Op, 1>;
        k.turned[1] = (const void *)turned_kernel<Op, N>;
    }
    if constexpr (Op::nrowsums > 0) {
        set_held<Op, 0>(k);
        set_held<Op, 1>(k);
        set_held<Op, 2>(k);
        set_held<Op, 3>(k);
        k.longer[0] = (const void *)long_kernel<Op, 1>;
        k.longer[1] = (const void *)long_kernel<Op, N>;
        k.column[0] = (const void *)column_kernel<Op, 1>;
        k.column[1] = (const void *)column_kernel<Op, N>;
    }
    if constexpr (Op::nsums + Op::nrowsums > 0) {
        constexpr int part = Op::nrowsums > 0 ? TERMS : OUTS;
        k.along[0] = (const void *)along_kernel<Op, part, 1>;
        k.along[1] = (const void *)along_kernel<Op, part, N>;
        k.across[0] = (const void *)across_kernel<Op, part, 1>;
        k.across[1] = (const void *)across_kernel<Op, part, N>;
        k.join = (const void *)join_kernel<Op, part>;
    }
    return k;
}

/* Without a CHOICE attribute, or without WIDE tensors beside a 16-bit dtype, a kernel serves both:
 * it is the same. */
#define OP(name, ...)                                                                          \
    { { kernels_of<name##_op<0, false>>(), kernels_of<name##_op<0, WIDER(name)>>() },          \
      { kernels_of<name##_op<(name##_nchoices > 0), false>>(),                                 \
        kernels_of<name##_op<(name##_nchoices > 0), WIDER(name)>>() } },
#define WIDER(name) (name##_nwide > 0 && sizeof(D) == 2)
static const vjpi_cuda_kernels table[][2][2] = {
#include "ops.def"
};

} // namespace vjpi

extern "C" const vjpi_cuda_kernels (*const JOIN(vjpi_cuda_kernels_, VJPI_DTYPE))[2][2] =
    vjpi::table;
