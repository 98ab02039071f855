/* SPDX-License-Identifier: Apache-2.0 */
/* differences.h - how the libraries differ, each way by a name, and the list of those that are
 * known.
 *
 * A name is "SUBJECT/STAGE: X there, Y here". The list has a pattern of names on each line (* is
 * any text), then " | " and the reason; the first pattern that fits counts. Lines without " | " are
 * comments. "kind NAME | reason" takes a kind out of the comparison.
 *
 * What is found is kept in memory that forked processes share, since a library may crash.
 */
#ifndef DIFFERENCES_H
#define DIFFERENCES_H

/* differences_read - the list; 0 with a message on stderr if it cannot be read. */
int differences_read(const char *path);

/* is_comparable - whether the list does not take the kind out. */
int is_comparable(const char *kind);

/* differ - note a difference, found in question `number`. */
void differ(const char *subject, const char *stage, const char *there, const char *here,
            unsigned long number);

/* differ_if_it_ends - announce a call of the other library, which may end the process, and to which
 * this one has said `here`; differ_since_it_ended notes the difference, in a process that lives. */
void differ_if_it_ends(const char *subject, const char *stage, const char *here,
                       unsigned long number);
void differ_since_it_ended(const char *there);

/* differences_report - print what was found; how many names are not on the list. */
int differences_report(void);

#endif
