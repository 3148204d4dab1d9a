/* SPDX-License-Identifier: BSD-3-Clause */
/* A fit between two of its steps: kept in memory after each, written to a checkpoint by the clock and where the fit is
   stopped, and taken up again from there, with the same bits. */
#ifndef ISO_NORM_SAVED_H
#define ISO_NORM_SAVED_H

#include "norm_q.h"

struct norm_saved;

/* For this fit and its scans; what it borrows must outlive it. */
int norm_saved_create(struct norm_saved **state, struct norm_fit *f, struct norm_q *q, const char *path,
                      uint64_t key);
void norm_saved_free(struct norm_saved *state);

/* After a step: keeps all of it. A file is written once a second at most; one that cannot be is tried again after the next
   step. */
int norm_saved_keep(struct norm_saved *state, const struct norm_point *point);

/* The fit was stopped: the last state goes to the file. Returns ISO_ECANCEL. */
int norm_saved_stop(struct norm_saved *state);

/* If there is a checkpoint: the fit as it was, its q made again; else *found is false. */
int norm_saved_resume(bool *found, struct norm_saved *state);

#endif
