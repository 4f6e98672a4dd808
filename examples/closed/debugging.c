/* Debugging on own data: first the examples whose neighbours have other labels than they have.

   zig cc -target wasm32-wasi -O2 -s -o debugging-c.wasm debugging.c */
#include "matrix.h"

enum { N_NEIGHBOURS = 10 };

/* How many of a row's nearest neighbours have another label; equal distances by number. */
static size_t doubts(const Matrix *train, char **labels, size_t row) {
    Near nearest[N_NEIGHBOURS];
    size_t n = 0, n_others = 0;
    for (size_t other = 0; other < train->n_rows; other++) {
        if (other == row) continue;
        Near near = {0, other};
        for (size_t col = 0; col < train->n_cols; col++) {
            double by = train->numbers[row * train->n_cols + col] - train->numbers[other * train->n_cols + col];
            near.distance += by * by;
        }
        size_t place = n < N_NEIGHBOURS ? n++ : N_NEIGHBOURS;
        for (; place > 0 && near.distance < nearest[place - 1].distance; place--)
            if (place < N_NEIGHBOURS) nearest[place] = nearest[place - 1];
        if (place < N_NEIGHBOURS) nearest[place] = near;
    }
    for (size_t i = 0; i < n; i++) n_others += strcmp(labels[nearest[i].row], labels[row]) != 0;
    return n_others;
}

int main(void) {
    Matrix train = read_matrix("/data/train.npy");
    char **labels = read_labels("/data/train.csv", train.n_rows);
    size_t *n_others = malloc(train.n_rows * sizeof *n_others), n_listed = 0, n_doubted = 0;
    for (size_t row = 0; row < train.n_rows; row++) {
        n_others[row] = doubts(&train, labels, row);
        n_doubted += 2 * n_others[row] > N_NEIGHBOURS;
    }

    printf("{\"order\": [");
    for (size_t n = N_NEIGHBOURS + 1; n-- > 0;)
        for (size_t row = 0; row < train.n_rows; row++)
            if (n_others[row] == n) printf("%s\"%zu\"", n_listed++ ? ", " : "", row);
    printf("]}\n");
    fprintf(stderr, "of %zu examples %zu have mostly neighbours with other labels\n", train.n_rows, n_doubted);
    return 0;
}
