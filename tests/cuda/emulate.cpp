/* SPDX-License-Identifier: Apache-2.0 */
/* emulate.cpp - launches of emulated kernels. A thread of a block runs until it waits for others; a
 * barrier or an exchange that some thread never reaches is an error. */
#include "emulate.h"

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "launches.h"

emulated_dim threadIdx, blockIdx, blockDim, gridDim;
alignas(128) char emulated_shared[1 << 18];

enum fiber_state { READY, AT_BARRIER, IN_EXCHANGE, DONE };

/* Where to go on. Unlike swapcontext, a jump makes no system call: there are millions of them. */
typedef void *jump_place[5];

struct fiber {
    jump_place place;
    std::vector<char> stack; /* empty: it has not run yet */
    fiber_state state;
    unsigned exchanges;
    char given[2][sizeof(double)]; /* in turns: the last one may still be read */
};

static std::vector<fiber> fibers;
static jump_place scheduler;
static unsigned current;
static const void *kernel;
static const vjpi_cuda_loop *argument;
static const void *lookup;
static bool is_flat;

[[noreturn]] static __attribute__((noinline)) void jump(jump_place &to)
{
    __builtin_longjmp(to, 1);
}

static __attribute__((noinline)) void wait_as(fiber_state state)
{
    fibers[current].state = state;
    if (__builtin_setjmp(fibers[current].place) == 0)
        jump(scheduler);
}

static void run_thread();

[[noreturn]] static void start(fiber &f)
{
    ucontext_t context;
    f.stack.resize(1 << 17);
    getcontext(&context);
    context.uc_stack.ss_sp = f.stack.data();
    context.uc_stack.ss_size = f.stack.size();
    makecontext(&context, run_thread, 0);
    setcontext(&context);
    std::abort(); /* not reached */
}

/* Run the current fiber until it waits. */
static __attribute__((noinline)) void go_on()
{
    fiber &f = fibers[current];
    if (__builtin_setjmp(scheduler) != 0)
        return;
    if (!f.stack.empty())
        jump(f.place);
    start(f);
}

void emulated_barrier()
{
    wait_as(AT_BARRIER);
}

void emulated_exchange(void *got, const void *given, std::size_t size, unsigned from)
{
    fiber &own = fibers[current];
    unsigned turn = own.exchanges++ % 2;
    std::memcpy(own.given[turn], given, size);
    wait_as(IN_EXCHANGE);
    std::memcpy(got, fibers[current / 32 * 32 + from].given[turn], size);
}

static void run_flat()
{
    vjpi_cuda_flat flat;
    flat.call = argument->call;
    flat.n = argument->x.n;
    flat.lookup = lookup;
    std::memcpy(flat.data, argument->data, sizeof(flat.data));
    ((void (*)(vjpi_cuda_flat))(uintptr_t)kernel)(flat);
}

/* A fiber serves a thread of one block after the other. */
static void run_thread()
{
    for (;;) {
        if (is_flat)
            run_flat();
        else
            ((void (*)(vjpi_cuda_loop))(uintptr_t)kernel)(*argument);
        wait_as(DONE);
    }
}

[[noreturn]] static void give_up(const char *why)
{
    std::fprintf(stderr, "emulated block %u: %s\n", blockIdx.x, why);
    std::abort();
}

static unsigned count_state(unsigned begin, unsigned end, fiber_state state)
{
    unsigned count = 0;
    for (unsigned i = begin; i < end; i++)
        count += fibers[i].state == state;
    return count;
}

static void set_ready(unsigned begin, unsigned end)
{
    for (unsigned i = begin; i < end; i++)
        fibers[i].state = READY;
}

/* Run every thread that can; every second block from its last thread on. */
static void run_ready(unsigned threads)
{
    for (unsigned k = 0; k < threads; k++) {
        unsigned i = blockIdx.x % 2 ? threads - 1 - k : k;
        if (fibers[i].state != READY)
            continue;
        current = i;
        threadIdx = { i % blockDim.x, i / blockDim.x };
        go_on();
    }
}

/* Resume the threads that all others have caught up with. */
static void release(unsigned threads)
{
    bool released = false;
    for (unsigned warp = 0; warp + 32 <= threads; warp += 32)
        if (count_state(warp, warp + 32, IN_EXCHANGE) == 32) {
            set_ready(warp, warp + 32);
            released = true;
        }
    if (count_state(0, threads, AT_BARRIER) == threads) {
        set_ready(0, threads);
        released = true;
    }
    if (!released)
        give_up("some threads wait for others that do not come");
}

static void run_block(unsigned threads, size_t shared)
{
    std::memset(emulated_shared, 0xff, shared);
    for (unsigned i = 0; i < threads; i++) {
        fibers[i].state = READY;
        fibers[i].exchanges = 0;
    }
    for (;;) {
        run_ready(threads);
        if (count_state(0, threads, DONE) == threads)
            return;
        release(threads);
    }
}

void emulate_launch(const void *what, const vjpi_cuda_loop *loop, int flat, const void *table,
                    int64_t blocks, uint32_t x, uint32_t y, size_t shared)
{
    lookup = table;
    kernel = what;
    argument = loop;
    is_flat = flat;
    blockDim = { x, y };
    gridDim = { (unsigned)blocks, 1 };
    if (shared > sizeof(emulated_shared))
        give_up("it asks for too much shared memory");
    if (fibers.size() < x * y)
        fibers.resize(x * y);
    for (int64_t block = 0; block < blocks; block++) {
        blockIdx = { (unsigned)block, 0 };
        run_block(x * y, shared);
    }
}
