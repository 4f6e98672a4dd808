/* What the programs share: the files of /data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    size_t n_rows, n_cols;
    double *numbers; /* (n_rows, n_cols) */
} Matrix;

static void fail(const char *why, const char *of) {
    fprintf(stderr, "%s: %s\n", why, of);
    exit(1);
}

/* A whole file, with a zero behind it. */
static char *read_file(const char *path, size_t *n_bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) fail("can't open", path);
    fseek(file, 0, SEEK_END);
    *n_bytes = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*n_bytes + 1);
    if (!bytes || fread(bytes, 1, *n_bytes, file) != *n_bytes) fail("can't read", path);
    bytes[*n_bytes] = 0;
    fclose(file);
    return bytes;
}

/* The whole number that /data/task.json has under a name, which is given with its quotes and colon. */
static size_t number_of(const char *name) {
    size_t n_bytes;
    char *document = read_file("/data/task.json", &n_bytes);
    char *found = strstr(document, name);
    if (!found) fail("no such number in task.json", name);
    size_t number = strtoul(found + strlen(name), NULL, 10);
    free(document);
    return number;
}

/* A NumPy file of format 1.0 with 32- or 64-bit floats, row after row. */
static Matrix read_matrix(const char *path) {
    size_t n_bytes;
    unsigned char *bytes = (unsigned char *)read_file(path, &n_bytes);
    size_t begin = 10 + (bytes[8] | (size_t)bytes[9] << 8);
    char *header = calloc(begin + 1, 1);
    memcpy(header, bytes + 10, begin - 10);
    Matrix matrix;
    char *shape = strstr(header, "'shape': (");
    if (!shape || sscanf(shape, "'shape': (%zu, %zu)", &matrix.n_rows, &matrix.n_cols) != 2) fail("no shape", path);
    int is_double = strstr(header, "'<f8'") != NULL;
    size_t n = matrix.n_rows * matrix.n_cols;
    if (n_bytes - begin != n * (is_double ? 8 : 4)) fail("damaged", path);
    matrix.numbers = malloc(n * sizeof *matrix.numbers);
    for (size_t i = 0; i < n; i++) {
        if (is_double) {
            memcpy(&matrix.numbers[i], bytes + begin + 8 * i, 8);
        } else {
            float number;
            memcpy(&number, bytes + begin + 4 * i, 4);
            matrix.numbers[i] = number;
        }
    }
    free(header);
    free(bytes);
    return matrix;
}

/* The labels of a table, one a row: lines `id,label`, where the id is the number of the row. */
static char **read_labels(const char *path, size_t n_rows) {
    size_t n_bytes;
    char *at = read_file(path, &n_bytes);
    char **labels = malloc(n_rows * sizeof *labels);
    while (*at++ != '\n') continue; /* the header */
    for (size_t row = 0; row < n_rows; row++) {
        while (*at++ != ',') continue;
        labels[row] = at;
        while (*at != '\n') at++;
        *at++ = 0;
    }
    return labels;
}

typedef struct {
    double distance;
    size_t row;
} Near;

static int nearer(const void *a, const void *b) {
    const Near *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

/* The rows of a label, those first that are nearest to their mean; ties by number. Says how many in *n. */
static Near *central(const Matrix *pool, char **labels, const char *label, size_t *n) {
    double *mean = calloc(pool->n_cols, sizeof *mean);
    Near *rows = malloc(pool->n_rows * sizeof *rows);
    *n = 0;
    for (size_t row = 0; row < pool->n_rows; row++)
        if (!strcmp(labels[row], label)) rows[(*n)++].row = row;
    for (size_t i = 0; i < *n; i++)
        for (size_t col = 0; col < pool->n_cols; col++)
            mean[col] += pool->numbers[rows[i].row * pool->n_cols + col] / (double)*n;
    for (size_t i = 0; i < *n; i++) {
        rows[i].distance = 0;
        for (size_t col = 0; col < pool->n_cols; col++) {
            double by = pool->numbers[rows[i].row * pool->n_cols + col] - mean[col];
            rows[i].distance += by * by;
        }
    }
    qsort(rows, *n, sizeof *rows, nearer);
    free(mean);
    return rows;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The different labels, ascending. Says how many in *n. */
static char **distinct(char **labels, size_t n_rows, size_t *n) {
    char **all = malloc(n_rows * sizeof *all);
    memcpy(all, labels, n_rows * sizeof *all);
    qsort(all, n_rows, sizeof *all, by_name);
    *n = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (!*n || strcmp(all[*n - 1], all[i])) all[(*n)++] = all[i];
    return all;
}
