/* SVD++: learns ratings of items by users by gradient descent, in passes over the ratings in random
   order of items; users and items have two vectors of ten and a bias. Usage: ratings RATINGS PASSES */
#include <stdio.h>

#include "objects.h"

enum { RANK = 10, OF_A_USER = 20, OF_AN_ITEM = 40 };
typedef struct { uint32_t user, item; double rating; } Rating;
typedef struct { double p[RANK], q[RANK], bias, norm; } Model;

static Records ratings, user, item, heard;

static inline const Rating *rating_at(long index) { return record(&ratings, index); }

static void begin_models(Records *models, long count) {
    begin_records(models, count, sizeof(Model));
    for (long m = 0; m < count; m++) {
        Model *model = renew_empty(models, m);
        for (int r = 0; r < RANK; r++) model->p[r] = uniform() * 0.1, model->q[r] = uniform() * 0.1;
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    long number = atol(arguments[1]), passes = atol(arguments[2]);
    if (number < OF_AN_ITEM) return 2;
    long users = number / OF_A_USER, items = number / OF_AN_ITEM;
    begin_records(&ratings, number, sizeof(Rating));
    begin_models(&user, users), begin_models(&item, items), begin_records(&heard, users, sizeof(Model));
    for (long r = 0; r < number; r++) {
        Rating *rating = renew_empty(&ratings, r);
        rating->user = r / OF_A_USER % users, rating->item = random_bits() % items;
        rating->rating = 1 + 4 * uniform();
    }
    double error = 0;
    for (long pass = 0; pass < passes; pass++) {
        /* What each user has rated, whatever the rating, as one vector. */
        begin_anew(&heard);
        for (long u = 0; u < users; u++) renew_empty(&heard, u);
        for (long r = 0; r < number; r++) {
            const Rating *rating = rating_at(r);
            Model *all = renew(&heard, rating->user, &heard, rating->user);
            const Model *one = record(&item, rating_at(r)->item);
            for (int k = 0; k < RANK; k++) all->q[k] += one->q[k];
        }
        error = 0;
        for (long r = 0; r < number; r++) {
            long by = rating_at(r)->user, of = rating_at(r)->item;
            renew(&user, by, &user, by);
            Model *i = renew(&item, of, &item, of), *u = record(&user, by);
            const Model *h = record(&heard, by);
            double guess = 3 + u->bias + i->bias;
            for (int k = 0; k < RANK; k++) guess += (u->p[k] + 0.1 * h->q[k]) * i->p[k];
            double off = rating_at(r)->rating - guess;
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
    printf("%.17g\n", error / number);
    return 0;
}
