/* SPDX-License-Identifier: Apache-2.0 */
/* base.h - what the files of this folder share. They serve the program vjp, the generator of the
 * conformance vectors and the tests, and so depend on nothing but the library. */
#ifndef VJP_REFERENCE_BASE_H
#define VJP_REFERENCE_BASE_H

#include <stddef.h>
#include <stdint.h>

#define COUNT_OF(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* broken - the check itself cannot go on: print why and exit with a failure. */
_Noreturn void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* unit_malloc - malloc, or broken() if there is no memory. */
void *unit_malloc(size_t size);

#endif
