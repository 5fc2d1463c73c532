/* Shor's factoring of a number on a simulated quantum computer, by libquantum.
   Usage: shor NUMBER BASE */
#include <quantum.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    if (count != 3) return 2;
    int number = atoi(arguments[1]), base = atoi(arguments[2]);
    if (number < 15 || base < 2 || quantum_gcd(number, base) != 1) return 2;
    int width = quantum_getwidth(number * number), value = quantum_getwidth(number);
    quantum_reg reg = quantum_new_qureg(0, width);
    for (int i = 0; i < width; i++) quantum_hadamard(i, &reg);
    quantum_addscratch(3 * value + 2, &reg);
    quantum_exp_mod_n(number, base, width, value, &reg);
    for (int i = 0; i < 3 * value + 2; i++) quantum_bmeasure(0, &reg);
    quantum_qft(width, &reg);
    printf("%llu\n", quantum_measure(reg));
    return 0;
}
