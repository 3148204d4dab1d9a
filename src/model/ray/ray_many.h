/* SPDX-License-Identifier: BSD-3-Clause */
/* Several images on the CPU, in a step of EM and in plain projections: each event is traced once for all of them. */
#ifndef ISO_RAY_MANY_H
#define ISO_RAY_MANY_H

#include "ray_trace.h"

struct ray_many; /* the sums of an operator's own steps; NULL: none made yet */

/* iso_op_em_step_many. lists: memory of a struct ray_list for each thread, list_bytes apart. */
int iso_ray_many_step(struct ray_many **own, const iso_op *op, char *lists, int64_t list_bytes, int sub,
                      int images, iso_real *acc, const iso_real *x, const iso_real *y,
                      const struct iso_em_data *d, struct iso_em_stat *s);
/* The same of iso_forward_many and iso_adjoint_many. */
int iso_ray_many_forward(struct ray_many **own, const iso_op *op, char *lists, int64_t list_bytes, int sub,
                         int images, iso_real *y, const iso_real *x);
int iso_ray_many_adjoint(struct ray_many **own, const iso_op *op, char *lists, int64_t list_bytes, int sub,
                         int images, iso_real *x, const iso_real *y);
void iso_ray_many_free(struct ray_many *m);

#endif
