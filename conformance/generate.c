/* SPDX-License-Identifier: Apache-2.0 */
/* generate.c - writes the conformance vectors: README.md beside this file says what they are.
 *
 *     generate DIR
 *
 * Operators, attributes and tensors come from the library's enumeration, values from MPFR (exact.h)
 * and, where an input is not finite, from the oracle. The library computes nothing here. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base.h"
#include "exact.h"
#include "kinds.h"
#include "variants.h"
#include "vectors.h"

static void write_operator(const char *directory, const vjp_op_info *op)
{
    case_dtypes pairs[CASE_DTYPES];
    int32_t npairs = case_dtypes_of(op->name, pairs);
    vector_file f;
    file_open(&f);
    for (int32_t number = 0; number < variant_count(op); number++)
        for (int32_t d = 0; d < npairs; d++) {
            problem variant = variant_problem(op, number);
            int is_f32 = pairs[d].dtype == VJP_F32 && pairs[d].wide == VJP_F32;
            if (number > 0 && variant_count(op) > 2 && !is_f32) /* many sets: one dtype for most */
                continue;
            if (kind_has_rows(op))
                row_cases(&f, &variant, number, pairs[d]);
            else
                values_cases(&f, &variant, number, pairs[d]);
            layout_cases(&f, &variant, number, pairs[d]);
        }
    file_write(&f, directory, op->name);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: generate DIR\n", stderr);
        return 2;
    }
    if (mkdir(argv[1], 0777) != 0 && errno != EEXIST)
        broken("%s: %s", argv[1], strerror(errno));
    for (int32_t i = 0; i < vjp_op_count(); i++)
        write_operator(argv[1], vjp_op_at(i));
    exact_close();
    return 0;
}
