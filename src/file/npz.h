/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of a .npz file, which is a zip archive of .npy files: as NumPy's savez and savez_compressed, and SciPy's save_npz,
   write it. */
#ifndef ISO_NPZ_H
#define ISO_NPZ_H

#include "npy.h"

/* Array `name`: its head, and head->bytes bytes of elements, to be freed. */
int iso_npz_read(struct iso_npy *head, uint8_t **raw, const char *path, const char *name);

/* An array of one word, such as b'csr': its letters. */
int iso_npz_word(char word[16], const char *path, const char *name);

/* A plain array of one axis: n values in *v, to be freed. Reals must be finite. */
int iso_npz_reals(iso_real **v, int64_t *n, const char *path, const char *name);
int iso_npz_integers(int64_t **v, int64_t *n, const char *path, const char *name);

#endif
