/* SPDX-License-Identifier: Apache-2.0 */
/* guess.h - "did you mean": of many words, the one that is most like a word that is wrong. */
#ifndef VJP_GUESS_H
#define VJP_GUESS_H

typedef struct guess {
    const char *word; /* what was typed */
    const char *best; /* what was meant; NULL if no candidate is like it */
    int start, whole; /* letters that differ, from the best's first letters and from all of it */
} guess;

/* guess_try - a candidate. It is like the word if of three letters at most one is wrong; letters
 * that the word leaves off at the end are not counted. */
void guess_try(guess *g, const char *candidate);

/* guess_words - " did you mean --name?", the dashes being `prefix`; "" if there is no guess. */
enum {
    GUESS_SIZE = 96
};

const char *guess_words(const guess *g, const char *prefix, char words[GUESS_SIZE]);

#endif
