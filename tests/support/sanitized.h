/* SPDX-License-Identifier: Apache-2.0 */
/* sanitized.h - whether this is a build with a sanitizer. */
#ifndef VJP_TESTS_SANITIZED_H
#define VJP_TESTS_SANITIZED_H

/* UNIT_SANITIZED - 1 under AddressSanitizer and ThreadSanitizer, which take malloc's place and
 * a good part of every stack. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNIT_SANITIZED 1
#elif defined(__has_feature)
#define UNIT_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define UNIT_SANITIZED 0
#endif

#endif
