/* SPDX-License-Identifier: Apache-2.0 */
/* base.h - what the problems, the values and the oracle need, without cmocka.
 *
 * They serve the cmocka programs and the command `vjp check` alike.
 */
#ifndef VJP_TESTS_BASE_H
#define VJP_TESTS_BASE_H

#include <stddef.h>
#include <stdint.h>

#define COUNT_OF(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* broken - the test itself cannot go on: says why and ends the program as a failure. */
_Noreturn void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* unit_malloc - memory, or the end of the program. Freed by free(). */
void *unit_malloc(size_t size);

#endif
