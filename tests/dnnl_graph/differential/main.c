/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - ask a oneDNN and this project's libdnnl the same random questions and compare.
 *
 *     differential THERE HERE LIST [QUESTIONS [FIRST]]
 *
 * THERE and HERE are the libraries, LIST the known differences; a difference that is not on it is a
 * failure. Without the library THERE the exit status is 77: skipped. VJP_TEST_SEED chooses others.
 *
 * A process asks question after question. Where it crashes, or gets no answer for some seconds,
 * that is an answer too, and another process goes on with the next question.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"
#include "differences.h"
#include "schema.h"

enum {
    STAGES = 6,
    PATIENCE = 60 /* seconds */
};

/* Shared with the processes that ask. */
static struct {
    unsigned long next, reached[STAGES];
    int unserved[dnnl_graph_op_last_symbol]; /* one library at least has said so */
} * progress;

static dnnl_graph_op_kind_t draw_kind(random_state *random)
{
    int kind;
    do
        kind = (int)random_below(random, dnnl_graph_op_last_symbol);
    while (progress->unserved[kind] && random_chance(random, 90)); /* there is little to compare */
    return (dnnl_graph_op_kind_t)kind;
}

static void ask(const pair *libraries, uint64_t seed, unsigned long number)
{
    random_state random = random_start(seed, number);
    compare_descriptions(libraries, &random, number);
    dnnl_graph_op_kind_t kind = draw_kind(&random);
    if (!is_comparable(dg_schema_of(kind)->name))
        return;
    int stage = compare_question(libraries, kind, &random, number);
    progress->reached[stage]++;
    progress->unserved[kind] |= stage == 2 || dg_schema_of(kind)->is_open;
}

static int ask_all(char **paths, uint64_t seed, unsigned long end)
{
    const pair libraries = { library_open(paths[0]), library_open(paths[1]) };
    if (!libraries.there || !libraries.here)
        return 1;
    /* An exception out of compile would leave a broken entry in the cache of compiled
     * partitions. */
    libraries.there->graph_set_compiled_partition_cache_capacity(0);
    if (progress->next == 0)
        compare_settings(&libraries);
    while (progress->next < end) {
        alarm(PATIENCE);
        ask(&libraries, seed, progress->next++);
    }
    return 0;
}

/* ask_in_processes - whether all questions were asked. */
static int ask_in_processes(char **paths, uint64_t seed, unsigned long end)
{
    for (;;) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(ask_all(paths, seed, end));
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 0;
        if (!WIFSIGNALED(status))
            return WEXITSTATUS(status) == 0;
        differ_since_it_ended(WTERMSIG(status) == SIGALRM ? "no end" : "a crash");
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s THERE HERE LIST [QUESTIONS [FIRST]]\n", argv[0]);
        return 2;
    }
    if (access(argv[1], R_OK) != 0) {
        printf("skipped: there is no %s\n", argv[1]);
        return 77;
    }
    progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED || !differences_read(argv[3]))
        return 1;
    unsigned long count = argc > 4 ? strtoul(argv[4], NULL, 0) : 8000;
    progress->next = argc > 5 ? strtoul(argv[5], NULL, 0) : 0;
    uint64_t seed = random_seed();
    if (!ask_in_processes(argv + 1, seed, progress->next + count))
        return 1;
    const unsigned long *reached = progress->reached;
    printf("%lu questions, seed %llu; the last stage was add_op %lu, filter %lu, is_supported %lu, "
           "compile %lu, execute %lu, values %lu times\n",
           count, (unsigned long long)seed, reached[0], reached[1], reached[2], reached[3],
           reached[4], reached[5]);
    return differences_report() != 0;
}
