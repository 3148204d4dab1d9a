/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of numbers as text: 0:10:60,120,180 */
#ifndef ISO_NUMBER_LIST_H
#define ISO_NUMBER_LIST_H

/* Numbers between commas; FIRST:STEP:LAST, a whole number of steps, stands for many. *v: room for at least `least`, to be
   freed, with the values in it; *n: how many, -1 if the text is no such list or has more than `most`. NULL is an empty list. */
int number_list_read(double **v, int *n, int least, int most, const char *text);

#endif
