/* SPDX-License-Identifier: Apache-2.0 */
/* signature.cuh - what the compiler should know about an operator: constants from ops.def. */

/* How the elements of a tensor are stored, by the words of ops.def. Row operands of any dtype are
 * converted when they are read. */
enum {
    SAME_DTYPE,
    MIXED_DTYPE, /* decided per tensor, at run time */
    MASK_DTYPE
};
enum dtype_word { WORD_SAME, WORD_WIDE, WORD_ANY, WORD_STAT, WORD_INDEX, WORD_LABEL, WORD_MASK };

struct tensor_code {
    uint8_t role, word;
    bool is_param, is_optional;
};

/* Lists are local to functions: device code cannot access a host's constants otherwise. */
#define CONSTANT static __host__ __device__ constexpr

#define IS_PARAM_DATA false
#define IS_PARAM_PARAM true
#define IS_PARAM_ROW false
#define IS_PARAM_END false
#define IN(name, variable, dtype, shape) \
    { VJPI_ROLE_##shape, WORD_##dtype, IS_PARAM_##shape, false },
#define OPT(name, variable, dtype, shape, value) \
    { VJPI_ROLE_##shape, WORD_##dtype, IS_PARAM_##shape, true },
#define FULL(name, dtype, shape, ...) { VJPI_FULL, WORD_##dtype, false, false },
#define OPT_FULL(name, dtype, shape, ...) { VJPI_FULL, WORD_##dtype, false, true },
#define SUM(name, dtype, shape, ...) { VJPI_SUM, WORD_##dtype, false, false },
#define OPT_SUM(name, dtype, shape, ...) { VJPI_SUM, WORD_##dtype, false, true },
#define PER_ROW(name, dtype, ...) { VJPI_PER_ROW, WORD_##dtype, false, false },
#define OPT_PER_ROW(name, dtype, ...) { VJPI_PER_ROW, WORD_##dtype, false, true },
#define OP(name, title, text, inputs, attributes, outputs, bounds) \
    CONSTANT tensor_code name##_tensor(int i)                      \
    {                                                              \
        const tensor_code list[] = { inputs outputs };             \
        return list[i];                                            \
    }
#include "ops.def"

/* What a pass leaves for a row, and whether it can be left out. */
#define ROWSUM(...) +1
#define ROWMAX(...) +1 + VJPI_MAXIMUM
#define KEEP(...) +VJPI_KEEP
#define ROWLET(...) +VJPI_LET
#define THEN , 0
#define OP(name, title, text, inputs, attributes, outputs, bounds) \
    CONSTANT int name##_pass(int i)                                \
    {                                                              \
        const int list[] = { 0 outputs };                          \
        return list[i];                                            \
    }
#include "ops.def"
#define THEN , 0
#define WHEN(...) +1
#define OP(name, title, text, inputs, attributes, outputs, bounds) \
    CONSTANT int name##_conditions(int i)                          \
    {                                                              \
        const int list[] = { 0 outputs };                          \
        return list[i];                                            \
    }
#include "ops.def"

/* heavy: the formula is long or, with ROWLETs, has many operands. */
#define OP(name, ...)                                                                 \
    struct name##_table {                                                             \
        static constexpr int nin = name##_nin, nfull = name##_nfull;                  \
        static constexpr int nsums = name##_nsums, nper_row = name##_nper_row;        \
        static constexpr int nvalues = name##_nvalues, npasses = name##_npasses;      \
        static constexpr int nlets = name##_nlets;                                    \
        static constexpr bool heavy = name##_nheavy > 0 || name##_nlets > 0;          \
        static constexpr bool has_lookup = name##_nlookups > 0;                       \
        CONSTANT tensor_code tensor(int i) { return name##_tensor(i); }               \
        CONSTANT int pass(int i) { return name##_pass(i); }                           \
        CONSTANT bool always(int i) { return name##_conditions(i) == 0; }             \
    };
#include "ops.def"

/* No tensor's role: an input that calls of these kernels do not have. */
enum {
    ABSENT = VJPI_KEPT + 1
};

CONSTANT int most(int a, int b) { return a > b ? a : b; }

/* PLAIN: rows are whole and not masked. */
template <class Table, bool MIXED, bool PLAIN = false> struct signature : Table {
    using Table::nfull, Table::nin, Table::npasses, Table::nsums, Table::nvalues;
    static constexpr int nout = nfull + nsums + Table::nper_row, ntensors = nin + nout;
    static constexpr int last = npasses - 1;
    static constexpr int nmade = most(most(nout, VJPI_MAX_SUMS), Table::nlets);

    CONSTANT bool is_absent(int i)
    {
        return PLAIN && (Table::tensor(i).role == VJPI_ROW_END ||
                         Table::tensor(i).word == WORD_MASK);
    }
    CONSTANT int role(int i) { return is_absent(i) ? (int)ABSENT : Table::tensor(i).role; }
    CONSTANT bool is_row_input(int i)
    {
        return role(i) == VJPI_ROW_INPUT || role(i) == VJPI_ROW_END;
    }

    /* The facts of a call, less what is never true. */
    CONSTANT uint32_t possible(uint32_t facts)
    {
        for (int i = 0; i < nin; i++)
            if (is_absent(i))
                facts &= ~(1u << i);
        return facts;
    }
    CONSTANT bool optional(int i) { return Table::tensor(i).is_optional; }

    /* How the elements of tensor i are stored. */
    CONSTANT int how(int i)
    {
        int word = Table::tensor(i).word;
        if (word == WORD_MASK)
            return MASK_DTYPE;
        return MIXED && ((word == WORD_ANY && sizeof(D) <= 4) ||
                         (word == WORD_WIDE && sizeof(D) == 2)) ? MIXED_DTYPE : SAME_DTYPE;
    }

    /* Does some tensor that kernels load or store get another dtype at run time? Some that pass
     * PART loads or stores? */
    CONSTANT bool mixes(int part = last)
    {
        for (int i = 0; i < ntensors; i++)
            if ((role(i) == VJPI_ELEMENTS || (role(i) == VJPI_FULL && part == last)) &&
                how(i) == MIXED_DTYPE)
                return true;
        return false;
    }

    /* Is input i read from memory in each pass, not held? Held are the elements of the data. */
    CONSTANT bool direct(int i)
    {
        return Table::tensor(i).is_param || Table::tensor(i).word == WORD_MASK;
    }
    CONSTANT bool is_held(int i) { return role(i) == VJPI_ELEMENTS && !direct(i); }
    CONSTANT int count_held()
    {
        int count = 0;
        for (int i = 0; i < nin; i++)
            count += is_held(i);
        return count;
    }

    /* ---- rows: arrays are the row inputs in order, absent ones too, then the row values */

    CONSTANT int count_rows_before(int end)
    {
        int count = 0;
        for (int i = 0; i < end; i++)
            count += Table::tensor(i).role == VJPI_ROW_INPUT ||
                     Table::tensor(i).role == VJPI_ROW_END;
        return count;
    }
    CONSTANT int array_of(int input) { return count_rows_before(input); }
    CONSTANT int find_end()
    {
        for (int i = 0; i < nin; i++)
            if (role(i) == VJPI_ROW_END)
                return i;
        return -1;
    }
    static constexpr int first_value = count_rows_before(nin), narrays = first_value + nvalues;
    static constexpr int end = find_end(); /* the input that says where rows end; -1: none */

    /* ---- passes */

    /* The pass that makes the value of KEEP in every call; `last` if there is none. */
    CONSTANT int find_kept()
    {
        for (int p = 0; p < last; p++)
            if (VJPI_KEEPS(Table::pass(p)) && Table::always(p))
                return p;
        return last;
    }
    static constexpr int kept_pass = find_kept();
    static constexpr bool keeps = kept_pass < last;

    CONSTANT bool is_max(int part) { return part < last && VJPI_IS_MAX(Table::pass(part)); }

    /* Results that a pass reduces: row values or, in the last one, SUM outputs. */
    CONSTANT int reduced(int part)
    {
        return part < last ? VJPI_REDUCTIONS(Table::pass(part)) : nsums;
    }

    /* What the formula makes for each element in a pass, or for a row. */
    CONSTANT int results(int part)
    {
        if (part == PER_ROWS)
            return Table::nper_row;
        if (part >= LETS)
            return VJPI_LETS(Table::pass(part - LETS));
        return part < last ? reduced(part) : nfull + nsums;
    }

    /* How many ROWLETs precede those of a pass. */
    CONSTANT int lets_before(int pass)
    {
        int count = 0;
        for (int p = 0; p < pass; p++)
            count += VJPI_LETS(Table::pass(p));
        return count;
    }

    /* The array of the first value that a pass leaves. */
    CONSTANT int value_of_pass(int part)
    {
        int array = first_value;
        for (int p = 0; p < part; p++)
            array += VJPI_REDUCTIONS(Table::pass(p));
        return array;
    }

    /* ---- outputs */

    /* Which result of the formula output i is: FULL and SUM outputs count together. */
    CONSTANT int result_of(int tensor)
    {
        int result = 0;
        for (int i = nin; i < tensor; i++)
            result += (role(i) == VJPI_PER_ROW) == (role(tensor) == VJPI_PER_ROW);
        return result;
    }

    /* The tensor of SUM output `number`. */
    CONSTANT int sum_tensor(int number)
    {
        for (int i = nin; i < ntensors; i++)
            if (role(i) == VJPI_SUM && number-- == 0)
                return i;
        return 0;
    }

    /* Which result of the formula is reduction `number` of a pass. */
    CONSTANT int term(int part, int number)
    {
        return part < last ? number : result_of(sum_tensor(number));
    }

    /* Does every call have a SUM output? */
    CONSTANT bool always_sums()
    {
        for (int i = nin; i < ntensors; i++)
            if (role(i) == VJPI_SUM && !optional(i))
                return true;
        return false;
    }
};
