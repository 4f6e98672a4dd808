/* Selection for Speech: of each word, and of what is no word, the clips that are nearest to the mean of their word.

   zig cc -target wasm32-wasi -O2 -s -o speech_selection-c.wasm speech_selection.c */
#include "matrix.h"

static void print_list(const Matrix *pool, char **labels, const char *word, size_t n_each) {
    size_t n;
    Near *rows = central(pool, labels, word, &n);
    printf("[");
    for (size_t i = 0; i < n && i < n_each; i++) printf("%s\"%zu\"", i ? ", " : "", rows[i].row);
    printf("]");
    free(rows);
}

int main(void) {
    size_t max_clips = number_of("\"max_clips\":"), n_words, n_listed = 0;
    Matrix pool = read_matrix("/data/pool.npy");
    char **labels = read_labels("/data/pool.csv", pool.n_rows);
    char **words = distinct(labels, pool.n_rows, &n_words);
    size_t n_each = max_clips / n_words;

    /* the label is empty for what is no target word */
    printf("{\"targets\": {");
    for (size_t word = 0; word < n_words; word++) {
        if (!*words[word]) continue;
        printf("%s\"%s\": ", n_listed++ ? ", " : "", words[word]);
        print_list(&pool, labels, words[word], n_each);
    }
    printf("}, \"nontargets\": ");
    print_list(&pool, labels, "", n_each);
    printf("}\n");
    fprintf(stderr, "chose %zu clips of each of %zu words and of the others\n", n_each, n_listed);
    return 0;
}
