/* SPDX-License-Identifier: BSD-3-Clause */
/* The datasets of a table of scatter:

     h          (pairs, u)        coincidences per mm of u, or, without time of flight, in all
     end_1, 2   (pairs)           sample detectors of a pair
     detectors  (detectors, 3)    mm, in the scanner's axes
     rings      (rings)           z of the sample rings, mm
     u          (u)               mm from the middle of the line towards end 2
     sigma_mm                     of the time of flight along u; 0: none

   A pair stands there once, end 1 in the lower ring; of one ring both ways, h(u) and h(-u). */
#include "core/room.h"
#include "file/hdf5/h5.h"
#include "scatter/table.h"

struct task {
	const char *temp, *path;
	const iso_scatter_table *t;
};

static double place_of(const struct scatter_grid *g, int64_t detector, int axis)
{
	double turn = 2 * M_PI * (double)(detector % g->detectors) / g->detectors;

	if (axis == 2) return -g->reach + (double)(detector / g->detectors) * g->step + g->middle;
	return g->rho * (axis ? sin(turn) : cos(turn));
}

static int write_axes(const struct iso_h5 *h, const struct scatter_grid *g, struct iso_room *room)
{
	int64_t n = (int64_t)g->detectors * g->rings;
	double *place, *ring, *u;
	int st;

	ISO_HOST(room, place, 3 * n);
	ISO_HOST(room, ring, g->rings);
	ISO_HOST(room, u, g->cells);
	if (room->status) return room->status;
	for (int64_t i = 0; i < 3 * n; i++) place[i] = place_of(g, i / 3, (int)(i % 3));
	for (int32_t r = 0; r < g->rings; r++) ring[r] = place_of(g, (int64_t)r * g->detectors, 2);
	for (int32_t c = 0; c < g->cells; c++) u[c] = (c - g->cells / 2) * g->du;
	if ((st = iso_h5_put_rows(h, "detectors", n, 3, place)) ||
	    (st = iso_h5_put_reals(h, "rings", g->rings, ring)) ||
	    (st = iso_h5_put_reals(h, "u", g->cells, u)))
		return st;
	return iso_h5_put_reals(h, "sigma_mm", -1, &g->sigma);
}

static int write_pairs(const struct iso_h5 *h, const struct scatter_grid *g, struct iso_room *room)
{
	int64_t *end[2], row = 0;
	int st;

	ISO_HOST(room, end[0], table_rows(g));
	ISO_HOST(room, end[1], table_rows(g));
	if (room->status) return room->status;
	for (int32_t a = 0; a < g->rings; a++)
		for (int32_t b = a; b < g->rings; b++)
			for (int32_t i = 0; i < g->detectors; i++)
				for (int32_t k = 0; k < g->offsets; k++, row++) {
					end[0][row] = (int64_t)a * g->detectors + i;
					end[1][row] =
						(int64_t)b * g->detectors + (i + g->apart + k) % g->detectors;
				}
	if ((st = iso_h5_put_integers(h, "end_1", row, end[0]))) return st;
	return iso_h5_put_integers(h, "end_2", row, end[1]);
}

static int write_there(void *arg)
{
	const struct task *task = arg;
	const struct scatter_grid *g = &task->t->grid;
	struct iso_room room = iso_room_of(NULL, task->path);
	struct iso_h5 h;
	int st, closed;

	if (!(st = iso_h5_create_in_memory(&h, task->temp, task->path)) && !(st = write_axes(&h, g, &room)) &&
	    !(st = write_pairs(&h, g, &room)))
		st = iso_h5_put_floats(&h, "h", table_rows(g), g->cells, task->t->h);
	closed = iso_h5_close(&h);
	iso_room_free(&room);
	return st ? st : closed;
}

int table_write_h5(const char *temp, const char *path, const iso_scatter_table *t)
{
	struct iso_apart a = { .work = write_there, .arg = &(struct task){ temp, path, t } };

	return iso_apart(path, &a, table_rows(&t->grid) * t->grid.cells * (int64_t)sizeof *t->h);
}
