/* SPDX-License-Identifier: Apache-2.0 */
/* fpmode.h - the floating-point mode of the calling thread: rounding and, on x86, flushing of
 * subnormals. */
#ifndef VJP_TESTS_FPMODE_H
#define VJP_TESTS_FPMODE_H

typedef struct fpmode {
    const char *name;
    int rounding; /* FE_TONEAREST and the like */
    int flush;    /* subnormal inputs and results become 0 */
} fpmode;

enum {
    FPMODES = 6
};

/* fpmode_at - every rounding mode without and some with flushing; 0 is the default mode. */
fpmode fpmode_at(int index);

/* fpmode_set - change the calling thread; fpmode_is_set - whether it still has that mode. */
void fpmode_set(fpmode mode);
int fpmode_is_set(fpmode mode);

#endif
