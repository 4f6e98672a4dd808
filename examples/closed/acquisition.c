/* Acquisition on own data: as much as the budget buys, first from the seller whose features tell most about the labels.

   zig cc -target wasm32-wasi -O2 -s -o acquisition-c.wasm acquisition.c */
#include "matrix.h"

enum { MAX_SELLERS = 1000 };

/* The sum of squares of the correlations that a seller's summary has; *at is moved behind them. */
static double strength(char **at) {
    double sum = 0;
    *at = strchr(*at, '[') + 1;
    while (**at != ']') {
        char *end;
        double correlation = strtod(*at, &end);
        if (end == *at) end++; /* a space, a comma, or a letter of null */
        else sum += correlation * correlation;
        *at = end;
    }
    return sum;
}

int main(void) {
    size_t n_bytes, n_rows[MAX_SELLERS], counts[MAX_SELLERS] = {0}, n_sellers = 0;
    double price[MAX_SELLERS], strengths[MAX_SELLERS];
    char *task = read_file("/data/task.json", &n_bytes), *found = strstr(task, "\"budget\":");
    if (!found) fail("no budget in", "task.json");
    double money = strtod(found + strlen("\"budget\":"), NULL);

    /* sellers.csv has a line `seller,n_rows,price` for each seller, and task.json its summary in the same order */
    char *line = strtok(read_file("/data/sellers.csv", &n_bytes), "\n");
    for (found = task; (line = strtok(NULL, "\n")) && n_sellers < MAX_SELLERS; n_sellers++) {
        if (sscanf(line, "%*[^,],%zu,%lf", &n_rows[n_sellers], &price[n_sellers]) != 2) fail("damaged", line);
        if (!(found = strstr(found, "\"correlation\":"))) fail("no summary of", line);
        strengths[n_sellers] = strength(&found);
    }

    for (size_t n = 0; n < n_sellers; n++) {
        size_t best = 0;
        for (size_t seller = 1; seller < n_sellers; seller++)
            if (strengths[seller] > strengths[best]) best = seller;
        strengths[best] = -1;
        double each = price[best] / (double)n_rows[best];
        while (counts[best] < n_rows[best] && (double)(counts[best] + 1) * each <= money) counts[best]++;
        money -= (double)counts[best] * each;
        fprintf(stderr, "%zu of %zu examples of seller %zu\n", counts[best], n_rows[best], best);
    }
    printf("{\"counts\": {");
    for (size_t seller = 0; seller < n_sellers; seller++) printf("%s\"%zu\": %zu", seller ? ", " : "", seller, counts[seller]);
    printf("}}\n");
    return 0;
}
