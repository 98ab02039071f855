/* SPDX-License-Identifier: Apache-2.0 */
/* formulas.h - ops.def as inline functions over lanes, and the mathematics that it uses.
 *
 * Each lane's result depends on that lane alone, also where a rare case is handled for a whole
 * vector at once: a vector is 1, 4, 8 or 16 lanes, and all must give the same bits. Constants
 * come from the .sollya files. The includer defines the vocabulary of the lanes, and INLINE, RARE
 * and UNROLL for its compiler. May be included several times. */
#include "formulas/exp.h"

#include "formulas/piecewise.h"
#include "formulas/rows.h"
#include "formulas/sigmoid.h"
#include "formulas/silu.h"
#include "formulas/softplus.h"
#include "formulas/tanh.h"

#include "formulas/elu.h"
#include "formulas/gelu.h"
#include "formulas/gelu_tanh.h"
#include "formulas/mish.h"

#include "formulas/gated.h"

/* Each operator of ops.def as a function. `part` is a pass over the row, by number, and says what
 * out[] gets: the terms of its reductions or, in the last pass, the FULL and SUM outputs in order;
 * LETS + a pass: the ROWLETs that precede it; PER_ROWS: the PER_ROW outputs. in[]: the inputs;
 * values[]: the row's results of the passes before and, after those of all passes, the ROWLETs, if
 * they were made: the includer's LETS_MADE, of the facts; kept: the value of KEEP, written by its
 * pass. `part` and `choice` are constant: the compiler removes what they do not need. `facts`:
 * limits.h. */
enum { LETS = 50, PER_ROWS = 100 };

typedef void formula(int part, int choice, uint32_t facts, const V *in, const V *values, V index,
                     const T *constants, V *kept, V *out);

#define OP(name, title, text, inputs, attributes, outputs, bounds)                              \
    INLINE void name##_formula(int part, int choice, uint32_t facts, const V *in,               \
                               const V *values, V index, const T *constants, V *kept, V *out)   \
    {                                                                                           \
        int tensor = 0, attr = 0, derived = VJPI_DERIVED_SLOTS, pass = 0;                       \
        const int reached = part >= LETS && part < PER_ROWS ? part - LETS : part;               \
        const V *lets = values + name##_nvalues;                                                \
        (void)lets, (void)choice, (void)facts, (void)values, (void)index, (void)constants;      \
        inputs attributes outputs                                                               \
        (void)tensor, (void)attr, (void)derived, (void)pass, (void)reached;                     \
        (void)kept, (void)out;                                                                  \
    }
#define UNUSED __attribute__((unused))
#define IN(name, variable, ...) UNUSED const V variable = in[tensor++];
#define OPT(name, variable, ...)                            \
    UNUSED const int has_##name = (int)(facts >> tensor & 1); \
    IN(name, variable, __VA_ARGS__)
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
#define LENIENT FLAG
#define NUMBER(name, slot)                                           \
    UNUSED const V name##_low = k(constants[VJPI_LOW_SLOTS + slot]); \
    UNUSED const V name = k(constants[slot]);                        \
    slot++;
#define REAL(name, ...) \
    ATTR_FACT(name)     \
    NUMBER(name, attr)
#define DERIVED(name, ...) NUMBER(name, derived)
#define NEEDED REAL
#define ONE_OF REAL
#define IGNORE REAL
#define AXIS HINT
#define AXES HINT
#define FORMAT HINT
#define CHANNELS HINT
#define CAUSAL HINT
#define LET(variable, ...) UNUSED const V variable = (__VA_ARGS__);
#define INDEX(variable) UNUSED const V variable = index;
#define COUNT(variable) UNUSED const V variable = k(constants[VJPI_COUNT_SLOT]);
#define ROWSUM(variable, ...)     \
    UNUSED V variable = k(0);     \
    if (part == pass)             \
        *out++ = (__VA_ARGS__);   \
    else if (reached > pass)      \
        variable = *values++;
#define ROWMAX ROWSUM
#define ROWLET(variable, ...)                    \
    UNUSED V variable = k(0);                    \
    if (part == LETS + pass)                     \
        *out++ = variable = (__VA_ARGS__);       \
    else if (reached >= pass && LETS_MADE)       \
        variable = *lets++;                      \
    else if (!LETS_MADE)                         \
        variable = (__VA_ARGS__);
#define KEEP(variable, ...)                     \
    UNUSED V variable;                          \
    if (part > pass && facts & VJPI_IS_KEPT)    \
        variable = *kept;                       \
    else                                        \
        variable = (__VA_ARGS__);               \
    if (part == pass)                           \
        *kept = variable;
#define THEN                                  \
    if (part == pass || part == LETS + pass)  \
        return;                               \
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
#undef NUMBER
