/* SPDX-License-Identifier: Apache-2.0 */
/* differences.c - see differences.h. */
#include "differences.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    KNOWN = 128,
    UNLISTED = 512,
    NAME = 160
};

static struct {
    char *pattern, *reason; /* kept to the end of the program */
} known[KNOWN];
static int nknown;

static struct {
    unsigned long counts[KNOWN]; /* how often each line was met */
    int nunlisted;
    struct {
        char name[NAME];
        unsigned long count, first;
    } unlisted[UNLISTED];
    struct {
        char subject[NAME], stage[NAME], here[NAME];
        unsigned long number;
    } announced;
} * shared;

/* ---- the list ----------------------------------------------------------------------------- */

static int read_lines(FILE *file)
{
    char line[512];
    while (fgets(line, sizeof(line), file)) {
        char *bar = strstr(line, " | ");
        line[strcspn(line, "\n")] = '\0';
        if (!bar)
            continue;
        if (nknown == KNOWN)
            return 0;
        *bar = '\0';
        known[nknown].pattern = strdup(line);
        known[nknown].reason = strdup(bar + 3);
        if (!known[nknown].pattern || !known[nknown].reason)
            return 0;
        nknown++;
    }
    return 1;
}

int differences_read(const char *path)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *file = fopen(path, "r");
    if (!file || shared == MAP_FAILED) {
        perror(path);
        return 0;
    }
    int complete = read_lines(file);
    fclose(file);
    if (!complete)
        fprintf(stderr, "%s: too long\n", path);
    return complete;
}

/* find_known - the line that a name is on; -1 if on none. */
static int find_known(const char *name)
{
    for (int i = 0; i < nknown; i++)
        if (fnmatch(known[i].pattern, name, 0) == 0)
            return i;
    return -1;
}

int is_comparable(const char *kind)
{
    char name[NAME];
    snprintf(name, sizeof(name), "kind %s", kind);
    return find_known(name) < 0;
}

/* ---- what is found ------------------------------------------------------------------------ */

static void note_unlisted(const char *name, unsigned long number)
{
    int i = 0;
    while (i < shared->nunlisted && strcmp(shared->unlisted[i].name, name) != 0)
        i++;
    if (i == UNLISTED)
        return;
    if (i == shared->nunlisted) {
        snprintf(shared->unlisted[i].name, NAME, "%s", name);
        shared->unlisted[i].first = number;
        shared->nunlisted++;
    }
    shared->unlisted[i].count++;
}

void differ(const char *subject, const char *stage, const char *there, const char *here,
            unsigned long number)
{
    char name[NAME];
    snprintf(name, sizeof(name), "%s/%s: %s there, %s here", subject, stage, there, here);
    int i = find_known(name);
    if (i >= 0)
        shared->counts[i]++;
    else
        note_unlisted(name, number);
}

void differ_if_it_ends(const char *subject, const char *stage, const char *here,
                       unsigned long number)
{
    snprintf(shared->announced.subject, NAME, "%s", subject);
    snprintf(shared->announced.stage, NAME, "%s", stage);
    snprintf(shared->announced.here, NAME, "%s", here);
    shared->announced.number = number;
}

void differ_since_it_ended(const char *there)
{
    differ(shared->announced.subject, shared->announced.stage, there, shared->announced.here,
           shared->announced.number);
}

int differences_report(void)
{
    for (int i = 0; i < nknown; i++)
        printf("%7lu  %s\n         %s\n", shared->counts[i], known[i].pattern, known[i].reason);
    for (int i = 0; i < shared->nunlisted; i++)
        printf("NOT LISTED, %lu times, first in question %lu: %s\n", shared->unlisted[i].count,
               shared->unlisted[i].first, shared->unlisted[i].name);
    return shared->nunlisted;
}
