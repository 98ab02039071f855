/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_partial.h - load_some_D and store_some_D (lanes_scalar.h) through a small buffer. Included
 * at the end of the lanes headers of instruction sets that cannot mask elements of 16 bits. */
#define PARTIAL(dtype, size)                                                            \
    static inline VV load_some_##dtype(const void *p, ptrdiff_t n)                      \
    {                                                                                   \
        char buffer[2 * LANES * size] = { 0 };                                          \
        memcpy(buffer, p, (size_t)n * size);                                            \
        return load_##dtype(buffer);                                                    \
    }                                                                                   \
    static inline void store_some_##dtype(void *p, VV v, ptrdiff_t n)                   \
    {                                                                                   \
        char buffer[2 * LANES * size];                                                  \
        store_##dtype(buffer, v);                                                       \
        memcpy(p, buffer, (size_t)n * size);                                            \
    }
#if VJPI_COMPUTE_F64
PARTIAL(f64, 8)
#else
PARTIAL(f32, 4)
PARTIAL(f16, 2)
PARTIAL(bf16, 2)
#endif
#undef PARTIAL
