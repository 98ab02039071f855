/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - run a fuzz target over the files of folders, once each: its corpus as a test.
 *
 * Every file is also cut short, at a few places: a prefix of an input is an input, and the ends of
 * streams are where readers go wrong. A fault ends the program; the last name printed is the file.
 */
#include <dirent.h>

#include "bytes.h"

enum {
    MOST_PATH = 4096,
    CUTS = 8
};

static uint8_t *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    long end = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        end = ftell(file);
    uint8_t *data = end < 0 ? NULL : malloc((size_t)end + 1);
    if (!data || fseek(file, 0, SEEK_SET) || fread(data, 1, (size_t)end, file) != (size_t)end) {
        perror(path);
        exit(2);
    }
    fclose(file);
    *size = (size_t)end;
    return data;
}

/* An allocation of exactly that size, so that a sanitizer sees a read beyond it. */
static void replay(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size);
    expect(exact || size == 0, "out of memory");
    if (size > 0)
        memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void replay_file(const char *path)
{
    size_t size;
    uint8_t *data = read_whole(path, &size);
    printf("%s\n", path);
    fflush(stdout);
    replay(data, size);
    for (size_t cut = 0; cut < CUTS; cut++)
        replay(data, size * cut / CUTS);
    free(data);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* All files of the folder, in the order of their names; returns how many. */
static int replay_folder(const char *folder)
{
    char path[MOST_PATH];
    struct dirent **files;
    int count = scandir(folder, &files, is_visible, alphasort);
    if (count < 0) {
        perror(folder);
        exit(2);
    }
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, files[i]->d_name);
        replay_file(path);
        free(files[i]);
    }
    free(files);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += replay_folder(argv[i]);
    printf("%d files\n", count);
    return count > 0 ? 0 : 2; /* a corpus that was not found has not been tried */
}
