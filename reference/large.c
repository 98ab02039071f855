/* SPDX-License-Identifier: Apache-2.0 */
/* large.c - see large.h. */
#include "large.h"

#include "base.h"

/* clang-format off */
static const shaped_row rows[] = {
    { "96 MiB of f32",
      SHAPED_MAP, VJP_F32, VJP_F32, NAMED_PLAIN, 0, 1, { 8 << 20 }, NO_SLOPE },
    { "72 MiB of bf16, not a multiple of anything",
      SHAPED_MAP, VJP_BF16, VJP_BF16, NAMED_PLAIN, 0, 1, { (12 << 20) + 13 }, NO_SLOPE },
    { "in place over 32 MiB",
      SHAPED_MAP, VJP_F64, VJP_F64, NAMED_IN_PLACE, 0, 1, { (2 << 20) + 1 }, NO_SLOPE },
    { "images, gradient channels last",
      SHAPED_MAP, VJP_F32, VJP_F32, NAMED_CHANNELS_LAST, 0, 4, { 8, 64, 56, 56 }, NO_SLOPE },
    { "images of bf16, gradient channels last",
      SHAPED_MAP, VJP_BF16, VJP_BF16, NAMED_CHANNELS_LAST, 0, 4, { 4, 65, 57, 31 }, NO_SLOPE },
    { "12 MiB of f32",
      SHAPED_MAP, VJP_F32, VJP_F32, NAMED_PLAIN, 0, 1, { (1 << 20) + 3 }, NO_SLOPE },
    { "f16 with one gradient for all",
      SHAPED_MAP, VJP_F16, VJP_F16, NAMED_BROADCAST, 0, 2, { 1031, 1009 }, NO_SLOPE },

    { "64 long rows",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 64, 40000 }, NO_SLOPE },
    { "over the middle axis",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 3, { 3, 700, 1000 }, NO_SLOPE },
    { "over the first axis of f16",
      SHAPED_ROW, VJP_F16, VJP_F16, NAMED_PLAIN, 0, 2, { 1025, 777 }, NO_SLOPE },
    { "one row of a million",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 0, 1, { 1 << 20 }, NO_SLOPE },
    { "in place, rows of bf16",
      SHAPED_ROW, VJP_BF16, VJP_BF16, NAMED_IN_PLACE, 1, 2, { 300, 4099 }, NO_SLOPE },
    { "bf16 into f32",
      SHAPED_ROW, VJP_BF16, VJP_F32, NAMED_PLAIN, 1, 2, { 50, 30522 }, NO_SLOPE },
    { "f64, gradient channels last",
      SHAPED_ROW, VJP_F64, VJP_F64, NAMED_CHANNELS_LAST, 1, 4, { 4, 80, 40, 41 }, NO_SLOPE },

    { "images, channels first",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 4, { 8, 64, 56, 56 }, 1, { 64 } },
    { "images, channels last",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_PLAIN, 3, 4, { 8, 56, 56, 64 }, 1, { 64 } },
    { "images, gradient channels last",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_CHANNELS_LAST, 1, 4, { 8, 64, 56, 56 }, 1, { 64 } },
    { "three channels",
      SHAPED_FOLD, VJP_BF16, VJP_F32, NAMED_PLAIN, 1, 2, { 1 << 18, 3 }, 1, { 3 } },
    { "in place, one parameter for all",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_IN_PLACE, 1, 2, { 1000, 2049 }, 1, { 1 } },
    { "four million parameters",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_PLAIN, 2, 3, { 2, 1 << 11, 1 << 11 },
      2, { 1 << 11, 1 << 11 } },
    { "parameters for all but the first dim",
      SHAPED_FOLD, VJP_F16, VJP_F16, NAMED_PLAIN, 3, 4, { 17, 32, 32, 64 }, 3, { 32, 32, 64 } },
};
/* clang-format on */

shaped_list large_problems(void)
{
    return shaped_problems(rows, COUNT_OF(rows));
}
