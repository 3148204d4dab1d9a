/* SPDX-License-Identifier: BSD-3-Clause */
/* Movement in PETSIRD files: blocks of the bed's transform, and of the gantry's, one for each kind of modules. Each holds from
   the beginning of its time interval until the next block of its kind. */
#include "petsird.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-6 /* of an element, mm */
enum { ROW = 1 + 12 };

static void read_start(struct yardl *y, int type, void *arg)
{
	((struct petsird_moves *)arg)->start_ms = yardl_number(y, type);
}

static void read_interval(struct yardl *y, int type, void *arg)
{
	static const struct yardl_use uses[] = { { "start", read_start, false }, { 0 } };

	yardl_record(y, type, uses, arg);
}

static void read_bed(struct yardl *y, int type, void *arg)
{
	struct petsird_moves *m = arg;

	petsird_read_transform(y, type, m->matrix);
	m->matrices++;
}

/* One for each kind of modules; all kinds must move as one. */
static void read_gantry(struct yardl *y, int type, void *arg)
{
	struct petsird_moves *m = arg;
	int item;
	int64_t n = yardl_items(y, type, &item);

	for (int64_t k = 0; k < n && !y->status; k++) {
		double one[3][4];

		petsird_read_transform(y, item, k ? one : m->matrix);
		m->matrices++;
		for (int i = 0; i < 12 && k && !y->status; i++)
			if (!(fabs(one[i / 4][i % 4] - m->matrix[i / 4][i % 4]) <= SAME))
				y->status = iso_refuse(y->path,
				                       "kinds of modules move apart before byte %" PRId64
				                       ": only gantries that move as one are read",
				                       yardl_tell(y));
	}
}

/* A block that begins as the one before takes its place. */
static void add_row(struct petsird_moves *m, struct yardl *y)
{
	double *row;

	if (m->n > 0 && m->start_ms == m->v[(m->n - 1) * ROW]) m->n--;
	if (m->n == m->room) {
		int64_t room = 2 * m->room + 16;
		double *more = realloc(m->v, (size_t)(room * ROW) * sizeof *more);

		if (!more) {
			y->status = iso_fail_memory(y->path, room * ROW * (int64_t)sizeof *more);
			return;
		}
		m->v = more;
		m->room = room;
	}
	row = m->v + ROW * m->n++;
	row[0] = m->start_ms;
	memcpy(row + 1, m->matrix, 12 * sizeof *row);
}

void petsird_read_moves(struct petsird_moves *m, struct yardl *y, int type)
{
	static const struct yardl_use uses[] = { { "timeInterval", read_interval, false },
		                                 { "transform", read_bed, true },
		                                 { "transforms", read_gantry, true },
		                                 { 0 } };

	m->matrices = 0;
	yardl_record(y, type, uses, m);
	if (y->status || m->matrices == 0) return;
	for (int i = 0; i < 12 && !m->move; i++)
		m->move = !(fabs(m->matrix[i / 4][i % 4] - (i % 5 == 0)) <= SAME);
	add_row(m, y);
}

int petsird_poses(iso_poses **p, const struct petsird_moves *m, double first_ms,
                  const struct iso_poses_options *o, const char *path)
{
	struct iso_poses_options step = *o;
	double *v;

	*p = NULL;
	if (!m->move) return ISO_OK;
	if (!(v = malloc((size_t)((m->n + 1) * ROW) * sizeof *v)))
		return iso_fail_memory(path, (m->n + 1) * ROW * (int64_t)sizeof *v);
	/* before the first block nothing has moved */
	const double rest[ROW] = {
		fmin(-1, 1e-3 * (m->v[0] - first_ms) - 1), 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1
	};

	memcpy(v, rest, sizeof rest);
	memcpy(v + ROW, m->v, (size_t)(m->n * ROW) * sizeof *v);
	for (int64_t k = 1; k <= m->n; k++) v[ROW * k] = 1e-3 * (v[ROW * k] - first_ms);
	step.rule = ISO_POSE_STEP;
	int st = iso_poses_create(p, v, m->n + 1, ROW, &step, path);

	free(v);
	return st;
}
