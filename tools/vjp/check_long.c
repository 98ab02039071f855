/* SPDX-License-Identifier: Apache-2.0 */
/* check_long.c - problems of the sizes that GPUs are used for; see check.h.
 *
 * Each kind of kernel, at the edges of what one block, one cluster of blocks or one pass can do. */
#include "base.h"
#include "check.h"

/* clang-format off */
static const shaped_row rows[] = {
    { "of f32",
      SHAPED_MAP, VJP_F32, VJP_F32, NAMED_PLAIN, 0, 1, { (16 << 20) + 1 }, NO_SLOPE },
    { "of f16 in place",
      SHAPED_MAP, VJP_F16, VJP_F16, NAMED_IN_PLACE, 0, 1, { (16 << 20) + 3 }, NO_SLOPE },
    { "of bf16",
      SHAPED_MAP, VJP_BF16, VJP_BF16, NAMED_PLAIN, 0, 1, { (8 << 20) + 5 }, NO_SLOPE },
    { "of f64",
      SHAPED_MAP, VJP_F64, VJP_F64, NAMED_PLAIN, 0, 1, { (4 << 20) + 7 }, NO_SLOPE },
    { "of f16",
      SHAPED_MAP, VJP_F16, VJP_F16, NAMED_PLAIN, 0, 1, { (4 << 20) + 9 }, NO_SLOPE },
    { "transpose",
      SHAPED_MAP, VJP_F32, VJP_F32, NAMED_SWAPPED, 0, 2, { 2049, 4097 }, NO_SLOPE },
    { "transpose of bf16",
      SHAPED_MAP, VJP_BF16, VJP_BF16, NAMED_SWAPPED, 0, 2, { 4096, 2048 }, NO_SLOPE },
    { "transpose of images",
      SHAPED_MAP, VJP_BF16, VJP_BF16, NAMED_CHANNELS_LAST, 0, 4, { 16, 64, 56, 56 }, NO_SLOPE },
    { "transpose of a thin matrix",
      SHAPED_MAP, VJP_F64, VJP_F64, NAMED_SWAPPED, 0, 2, { 3, 1000003 }, NO_SLOPE },

    { "rows of 64",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 100003, 64 }, NO_SLOPE },
    { "rows of 1000",
      SHAPED_ROW, VJP_F16, VJP_F16, NAMED_PLAIN, 1, 2, { 5001, 1000 }, NO_SLOPE },
    { "rows of 1024",
      SHAPED_ROW, VJP_BF16, VJP_F32, NAMED_PLAIN, 1, 2, { 5003, 1024 }, NO_SLOPE },
    { "rows of 8192",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_IN_PLACE, 1, 2, { 515, 8192 }, NO_SLOPE },
    { "rows of 8193",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 513, 8193 }, NO_SLOPE },
    { "rows of 16384",
      SHAPED_ROW, VJP_F64, VJP_F64, NAMED_PLAIN, 1, 2, { 65, 16384 }, NO_SLOPE },
    { "rows of 32768",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 131, 32768 }, NO_SLOPE },
    { "rows of 50257",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 67, 50257 }, NO_SLOPE },
    { "rows of 50257 of f16",
      SHAPED_ROW, VJP_F16, VJP_F16, NAMED_IN_PLACE, 1, 2, { 67, 50257 }, NO_SLOPE },
    { "rows of 65536",
      SHAPED_ROW, VJP_BF16, VJP_BF16, NAMED_PLAIN, 1, 2, { 33, 65536 }, NO_SLOPE },
    { "rows of 131072",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 17, 131072 }, NO_SLOPE },
    { "rows of 131072 of f64",
      SHAPED_ROW, VJP_F64, VJP_F64, NAMED_PLAIN, 1, 2, { 5, 131072 }, NO_SLOPE },
    { "rows of 262145",
      SHAPED_ROW, VJP_BF16, VJP_BF16, NAMED_PLAIN, 1, 2, { 9, 262145 }, NO_SLOPE },
    { "one row",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 0, 1, { (8 << 20) + 11 }, NO_SLOPE },
    { "many columns",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 3, { 9, 1000, 1024 }, NO_SLOPE },
    { "many columns of bf16",
      SHAPED_ROW, VJP_BF16, VJP_BF16, NAMED_PLAIN, 1, 3, { 5, 1001, 1023 }, NO_SLOPE },
    { "few columns",
      SHAPED_ROW, VJP_F16, VJP_F32, NAMED_PLAIN, 0, 2, { 1000003, 3 }, NO_SLOPE },
    { "rows of one layout, gradient of another",
      SHAPED_ROW, VJP_F32, VJP_F32, NAMED_SWAPPED, 1, 2, { 1025, 4099 }, NO_SLOPE },

    { "channels first",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 4, { 16, 64, 112, 112 }, 1, { 64 } },
    { "channels first, f32 parameter",
      SHAPED_FOLD, VJP_BF16, VJP_F32, NAMED_IN_PLACE, 1, 3, { 31, 65, 3001 }, 1, { 65 } },
    { "channels last",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 2, { 2049, 4096 }, 1, { 4096 } },
    { "few channels, last",
      SHAPED_FOLD, VJP_F16, VJP_F16, NAMED_PLAIN, 1, 2, { 1000003, 5 }, 1, { 5 } },
    { "one parameter",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_PLAIN, 1, 4, { 8, 64, 112, 112 }, 1, { 1 } },
    { "one parameter for bf16",
      SHAPED_FOLD, VJP_BF16, VJP_BF16, NAMED_PLAIN, 0, 1, { (16 << 20) + 13 }, 1, { 1 } },
    { "a parameter for each pixel and channel",
      SHAPED_FOLD, VJP_BF16, VJP_BF16, NAMED_PLAIN, 3, 4, { 33, 112, 56, 32 }, 3, { 112, 56, 32 } },
    { "a parameter for each pixel",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_PLAIN, 3, 4, { 16, 64, 56, 56 }, 3, { 1, 56, 56 } },
    { "channels first, gradient channels last",
      SHAPED_FOLD, VJP_F32, VJP_F32, NAMED_CHANNELS_LAST, 1, 4, { 16, 64, 56, 56 }, 1, { 64 } },
};
/* clang-format on */

shaped_list long_problems(void)
{
    return shaped_problems(rows, COUNT_OF(rows));
}
