/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h - cmocka with the headers it requires, and the assertion every test needs.
 *
 * cmocka jumps out of a failing test; what the test had open then leaks, which is accepted.
 */
#ifndef VJP_TESTS_UNIT_H
#define VJP_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base.h"
#include "sanitized.h"
#include "vjp/vjp.h"

/* assert_status - fail with both names and the reason unless `got` is `wanted`. */
#define assert_status(wanted, got, reason) \
    unit_assert_status((wanted), (got), (reason), __FILE__, __LINE__)

void unit_assert_status(vjp_status wanted, vjp_status got, const char *reason, const char *file,
                        int line);

/* unit_named - a test of that state, called "subject: what". Its name is never freed. */
struct CMUnitTest unit_named(const char *subject, const char *what, CMUnitTestFunction test,
                             const void *state);

/* unit_quick - whether VJP_TEST_QUICK requests a tenth of the samples and no huge tensors:
 * for emulators and sanitizers. */
int unit_quick(void);

/* unit_tries - whether a test of every operator, whose subject is not its formula, tries this one:
 * if quick, only the first of each kind. */
int unit_tries(const vjp_op_info *op);

#endif
