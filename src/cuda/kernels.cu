/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.cu - every kernel of one dtype, from ops.def. Compiled once per dtype with VJPI_DTYPE and
 * VJPI_COMPUTE (the type it is computed in), as cpu/loops.c is. */
#ifdef VJPI_EMULATED
#include "emulate.h"
#else
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#include <type_traits>

#include "cuda/launch.h"
#include "cuda/walk.h"
#include "ops_counts.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define IS_F64_f64 1
#define VJPI_COMPUTE_F64 JOIN(IS_F64_, VJPI_COMPUTE)

/* One per dtype: the names in it are the same for all. */
#define KERNELS JOIN(vjpi_, VJPI_DTYPE)

namespace KERNELS {

#include "cuda/element.cuh"

typedef JOIN(STORED_, VJPI_DTYPE) D;

enum { OWN_DTYPE = JOIN(CODE_, VJPI_DTYPE) };

constexpr int N = VJPI_CUDA_VECTOR / sizeof(D), MANY = N < 4 ? N : 4;

/* The formulas over one lane, and over several: as many as a vector has, or as registers allow. */
namespace one {
#define LANES 1
#include "cuda/lanes.cuh"
#undef LANES
} // namespace one

namespace many {
#define LANES MANY
#include "cuda/lanes.cuh"
#undef LANES
} // namespace many

enum { LETS = one::formulas<true>::LETS, PER_ROWS = one::formulas<true>::PER_ROWS };

template <int COUNT> struct lanes {
    typedef many::V V;
    typedef many::formulas<true> quick;
    static constexpr int width = MANY;
};
template <> struct lanes<1> {
    typedef one::V V;
    typedef one::formulas<true> quick;
    static constexpr int width = 1;
};

#include "cuda/signature.cuh"

#include "cuda/access.cuh"
#include "cuda/rows.cuh"

#include "cuda/held.cuh"
#include "cuda/sums.cuh"

#include "cuda/fold.cuh"
#include "cuda/map.cuh"
#include "cuda/row.cuh"

#include "cuda/longer.cuh"
#include "cuda/summed.cuh"

#if !VJPI_COMPUTE_F64
#include "cuda/lookup.cuh"
#endif

/* ---- ops.def -> types --------------------------------------------------------------------- */

#define MIXES(name) (signature<name##_table, true>::mixes())
#define OP(name, ...)                                                                           \
    template <int CHOSEN, bool MIXED>                                                           \
    struct name##_op : signature<name##_table, MIXED, (name##_has_plain && !CHOSEN)> {          \
        typedef name##_op<CHOSEN, false> unmixed;                                               \
        typedef name##_op<(CHOSEN || name##_has_plain), MIXES(name)> general;                   \
        template <int PART, class Formulas, class V>                                            \
        INLINE void formula(Formulas &formulas, uint32_t facts, const V *in, const V *values,   \
                            V index, const T *constants, V *kept, V *out)                       \
        {                                                                                       \
            formulas.name##_formula(PART, CHOSEN, facts, in, values, index, constants, kept,    \
                                    out);                                                       \
        }                                                                                       \
    };
#include "ops.def"

/* ---- types -> kernels --------------------------------------------------------------------- */

constexpr int ONES = VJPI_CUDA_HELD_ONES < N ? (int)VJPI_CUDA_HELD_ONES : N;

/* A row kernel has a copy of the formula for each vector that it holds: of single elements every
 * second size will do, of a long formula one size. */
template <class Op, int LOG> constexpr void set_held(vjpi_cuda_kernels &k)
{
    constexpr int held = 1 << LOG;
    if constexpr (LOG == 0 || (LOG % 2 == 0 && !Op::heavy))
        k.row[0][LOG] = (const void *)row_kernel<typename Op::general, 1, held * ONES>;
    if constexpr (LOG == 2 || !Op::heavy)
        k.row[1][LOG] = (const void *)row_kernel<Op, N, held>;
}

/* The operator as pass PART needs it: a pass that meets no other dtype has one kernel for both. */
template <class Op, int PART>
using pass_of = std::conditional_t<Op::mixes(PART), Op, typename Op::unmixed>;

template <class Op, int PART> constexpr void set_folds(vjpi_cuda_kernels &k)
{
    if constexpr (PART < Op::npasses) {
        if constexpr (Op::reduced(PART) > 0) {
            typedef pass_of<typename Op::general, PART> Single;
            typedef pass_of<Op, PART> Pass;
            k.along[PART][0] = (const void *)along_kernel<Single, PART, 1>;
            k.along[PART][1] = (const void *)along_kernel<Pass, PART, N>;
            k.across[PART][0] = (const void *)across_kernel<Single, PART, 1>;
            k.across[PART][1] = (const void *)across_kernel<Pass, PART, N>;
        }
        set_folds<Op, PART + 1>(k);
    }
}

/* Only what an operator needs is instantiated. Kernels that take single elements check each one's
 * dtype and its mask, and so serve all calls. */
template <class Op> constexpr vjpi_cuda_kernels kernels_of()
{
    typedef typename Op::general Single;
    vjpi_cuda_kernels k = {};
    if constexpr (Op::nfull > 0 && !Op::always_sums()) {
        k.map[0] = (const void *)map_kernel<Single, 1>;
        k.map[1] = (const void *)map_kernel<Op, N>;
    }
    if constexpr (Op::nfull > 0 && !Op::always_sums() && Op::npasses == 1) {
        k.flat = (const void *)flat_kernel<Op, N>;
        k.transposed[0] = (const void *)transposed_kernel<Single, 1>;
        k.transposed[1] = (const void *)transposed_kernel<Op, N>;
    }
#if !VJPI_COMPUTE_F64
    if constexpr (Op::has_lookup && sizeof(D) == 2)
        k.lookup = (const void *)lookup_kernel<Op, N>;
#endif
    if constexpr (Op::npasses > 1 && !Op::always_sums()) {
        set_held<Op, 0>(k);
        set_held<Op, 1>(k);
        set_held<Op, 2>(k);
        set_held<Op, 3>(k);
        k.longer[0] = (const void *)long_kernel<Single, 1>;
        k.longer[1] = (const void *)long_kernel<Op, N>;
        k.column[0] = (const void *)column_kernel<Single, 1>;
        k.column[1] = (const void *)column_kernel<Op, N>;
    }
    if constexpr (Op::npasses > 1 && Op::nsums > 0) {
        constexpr int held = VJPI_CUDA_SUMMED_SIZE / sizeof(T);
        k.summed[0] = (const void *)summed_kernel<Single, 1, held>;
        k.summed[1] = (const void *)summed_kernel<Op, N, held / N>;
    }
    if constexpr (Op::nper_row > 0)
        k.per_row = (const void *)per_row_kernel<typename Op::unmixed>;
    set_folds<Op, 0>(k);
    return k;
}

/* Without a second variant, or without tensors of another dtype, a kernel serves both: it is the
 * same. */
#define VARIES(name) (name##_nchoices > 0 || name##_has_plain)
/* Of a long formula, plain kernels are for one dtype and the others for all, as on the CPU. */
#define HALVED(name) (name##_nheavy > 0 && name##_has_plain)
#define OP(name, ...)                                                         \
    { { kernels_of<name##_op<0, false>>(),                                    \
        kernels_of<name##_op<0, (MIXES(name) && !HALVED(name))>>() },         \
      { kernels_of<name##_op<VARIES(name), (MIXES(name) && HALVED(name))>>(), \
        kernels_of<name##_op<VARIES(name), MIXES(name)>>() } },
static const vjpi_cuda_kernels table[][2][2] = {
#include "ops.def"
};

} // namespace KERNELS

extern "C" const vjpi_cuda_kernel_set JOIN(vjpi_cuda_kernel_set_, VJPI_DTYPE) = {
    KERNELS::table, (const void *)KERNELS::gather_kernel, (const void *)KERNELS::join_kernel
};
