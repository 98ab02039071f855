/* SPDX-License-Identifier: Apache-2.0 */
/* fpmode.c - see fpmode.h. Where the machine has no switch for flushing, only rounding is set. */
#include "fpmode.h"

#include <fenv.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

enum {
    FLUSH_BITS = 0x8040
};

static void set_flush(int flush)
{
    _mm_setcsr(flush ? _mm_getcsr() | FLUSH_BITS : _mm_getcsr() & ~(unsigned)FLUSH_BITS);
}

static int is_flushing(void)
{
    return (_mm_getcsr() & FLUSH_BITS) == FLUSH_BITS;
}
#elif defined(__aarch64__)
static const uint64_t FLUSH_BITS = 1u << 24;

static uint64_t fpcr(void)
{
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}

static void set_flush(int flush)
{
    uint64_t value = flush ? fpcr() | FLUSH_BITS : fpcr() & ~FLUSH_BITS;
    __asm__ volatile("msr fpcr, %0" : : "r"(value));
}

static int is_flushing(void)
{
    return (fpcr() & FLUSH_BITS) != 0;
}
#else
static int flushing;

static void set_flush(int flush)
{
    flushing = flush;
}

static int is_flushing(void)
{
    return flushing;
}
#endif

fpmode fpmode_at(int index)
{
    static const fpmode modes[FPMODES] = {
        { "the default mode", FE_TONEAREST, 0 },  { "flushing subnormals", FE_TONEAREST, 1 },
        { "rounding up", FE_UPWARD, 0 },          { "rounding down", FE_DOWNWARD, 0 },
        { "rounding to zero", FE_TOWARDZERO, 0 }, { "rounding up and flushing", FE_UPWARD, 1 },
    };
    return modes[index];
}

void fpmode_set(fpmode mode)
{
    fesetround(mode.rounding);
    set_flush(mode.flush);
}

int fpmode_is_set(fpmode mode)
{
    return fegetround() == mode.rounding && is_flushing() == mode.flush;
}
