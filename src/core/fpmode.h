/* SPDX-License-Identifier: Apache-2.0 */
/* fpmode.h - the floating-point mode that results are computed in: round to nearest, subnormals
 * kept, no traps. Each task, and plan creation where it computes constants, enters it and restores
 * the caller's mode afterwards. */
#ifndef VJPI_FPMODE_H
#define VJPI_FPMODE_H

#include <stdint.h>

#if defined(__x86_64__)

#include <xmmintrin.h>

typedef uint32_t vjpi_fpmode;

static inline vjpi_fpmode vjpi_fpmode_enter(void)
{
    vjpi_fpmode caller = _mm_getcsr();
    _mm_setcsr(0x1f80); /* every exception masked, everything else off */
    return caller;
}

static inline void vjpi_fpmode_leave(vjpi_fpmode caller)
{
    _mm_setcsr(caller);
}

#elif defined(__aarch64__)

typedef struct vjpi_fpmode {
    uint64_t control, status;
} vjpi_fpmode;

static inline vjpi_fpmode vjpi_fpmode_enter(void)
{
    vjpi_fpmode caller;
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(caller.control), "=r"(caller.status));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return caller;
}

static inline void vjpi_fpmode_leave(vjpi_fpmode caller)
{
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1"
                     : : "r"(caller.control), "r"(caller.status) : "memory");
}

#else

#include <fenv.h>

typedef fenv_t vjpi_fpmode;

static inline vjpi_fpmode vjpi_fpmode_enter(void)
{
    vjpi_fpmode caller;
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    return caller;
}

static inline void vjpi_fpmode_leave(vjpi_fpmode caller)
{
    fesetenv(&caller);
}

#endif
#endif
