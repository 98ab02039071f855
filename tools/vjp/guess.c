/* SPDX-License-Identifier: Apache-2.0 */
/* guess.c - see guess.h. */
#include "guess.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_LETTERS = 40 /* longer words are not guessed at */
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Letters to insert, delete or replace, to get from the word to the candidate and to its closest
 * prefix. Levenshtein's table, a row for each letter of the word. */
static void compare(const char *word, const char *candidate, int *whole, int *start)
{
    int row[MOST_LETTERS + 1], length = (int)strlen(candidate);
    for (int c = 0; c <= length; c++)
        row[c] = c;
    for (int w = 0; word[w]; w++) {
        int diagonal = row[0]++;
        for (int c = 0; c < length; c++) {
            int replaced = diagonal + !same_letter(word[w], candidate[c]);
            diagonal = row[c + 1];
            row[c + 1] = least(replaced, least(diagonal, row[c]) + 1);
        }
    }
    *whole = *start = row[length];
    for (int c = 0; c < length; c++)
        *start = least(*start, row[c]);
}

void guess_try(guess *g, const char *candidate)
{
    int whole, start, letters = (int)strlen(g->word);
    if (letters > MOST_LETTERS || strlen(candidate) > MOST_LETTERS)
        return;
    compare(g->word, candidate, &whole, &start);
    if (start > letters / 3)
        return;
    if (g->best && (start > g->start || (start == g->start && whole >= g->whole)))
        return;
    *g = (guess){ g->word, candidate, start, whole };
}

const char *guess_words(const guess *g, const char *prefix, char words[GUESS_SIZE])
{
    words[0] = 0;
    if (g->best)
        snprintf(words, GUESS_SIZE, " did you mean %s%s?", prefix, g->best);
    return words;
}
