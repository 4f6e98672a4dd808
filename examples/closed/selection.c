/* Selection on own data: of each class the examples that are nearest to the mean of their class.

   zig cc -target wasm32-wasi -O2 -s -o selection-c.wasm selection.c */
#include "matrix.h"

int main(void) {
    size_t max_examples = number_of("\"max_examples\":"), n_classes, n_chosen = 0;
    Matrix pool = read_matrix("/data/pool.npy");
    char **labels = read_labels("/data/pool.csv", pool.n_rows);
    char **classes = distinct(labels, pool.n_rows, &n_classes);
    size_t *n_of = malloc(n_classes * sizeof *n_of);
    Near **rows_of = malloc(n_classes * sizeof *rows_of);
    for (size_t class = 0; class < n_classes; class++)
        rows_of[class] = central(&pool, labels, classes[class], &n_of[class]);

    /* one of each class, then the second of each, until there are enough */
    printf("{\"ids\": [");
    for (size_t place = 0; place < pool.n_rows; place++)
        for (size_t class = 0; class < n_classes; class++)
            if (place < n_of[class] && n_chosen < max_examples)
                printf("%s\"%zu\"", n_chosen++ ? ", " : "", rows_of[class][place].row);
    printf("]}\n");
    fprintf(stderr, "chose %zu of %zu examples in %zu classes\n", n_chosen, pool.n_rows, n_classes);
    return 0;
}
