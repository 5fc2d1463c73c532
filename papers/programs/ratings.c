/* SVD++: learns ratings of items by users by gradient descent, in passes over the ratings in random
   order of items; users and items have two vectors of ten and a bias. Usage: ratings RATINGS PASSES */
#include <stdio.h>

#include "random.h"

enum { RANK = 10, OF_A_USER = 20, OF_AN_ITEM = 40 };
typedef struct { uint32_t user, item; double rating; } Rating;
typedef struct { double p[RANK], q[RANK], bias, norm; } Model;

static Model *models(long count) {
    Model *models = array(count, sizeof *models);
    for (long m = 0; m < count; m++)
        for (int r = 0; r < RANK; r++) models[m].p[r] = uniform() * 0.1, models[m].q[r] = uniform() * 0.1;
    return models;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    long number = atol(arguments[1]), passes = atol(arguments[2]);
    if (number < OF_AN_ITEM) return 2;
    long users = number / OF_A_USER, items = number / OF_AN_ITEM;
    Rating *ratings = array(number, sizeof *ratings);
    Model *user = models(users), *item = models(items), *heard = array(users, sizeof *heard);
    for (long r = 0; r < number; r++) {
        ratings[r].user = r / OF_A_USER % users, ratings[r].item = random_bits() % items;
        ratings[r].rating = 1 + 4 * uniform();
    }
    double error = 0;
    for (long pass = 0; pass < passes; pass++) {
        /* What each user has rated, whatever the rating, as one vector. */
        for (long u = 0; u < users; u++) heard[u] = (Model){0};
        for (long r = 0; r < number; r++)
            for (int k = 0; k < RANK; k++) heard[ratings[r].user].q[k] += item[ratings[r].item].q[k];
        error = 0;
        for (long r = 0; r < number; r++) {
            Model *u = &user[ratings[r].user], *i = &item[ratings[r].item], *h = &heard[ratings[r].user];
            double guess = 3 + u->bias + i->bias;
            for (int k = 0; k < RANK; k++) guess += (u->p[k] + 0.1 * h->q[k]) * i->p[k];
            double off = ratings[r].rating - guess;
            error += off * off;
            u->bias += 0.007 * (off - 0.005 * u->bias), i->bias += 0.007 * (off - 0.005 * i->bias);
            for (int k = 0; k < RANK; k++) {
                double p = u->p[k];
                u->p[k] += 0.007 * (off * i->p[k] - 0.015 * p);
                i->p[k] += 0.007 * (off * (p + 0.1 * h->q[k]) - 0.015 * i->p[k]);
                i->q[k] += 0.007 * (off * 0.1 * i->p[k] - 0.015 * i->q[k]);
            }
        }
    }
    printf("%g\n", error / number);
    return 0;
}
