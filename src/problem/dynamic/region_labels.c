/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels of an image as regions, their means, and files of them. */
#include "region_labels.h"

#include "file/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LABEL = 100000 };

/* The labels of the image, each of which becomes a region. */
static int find_labels(struct regions *g, const char *path)
{
	const struct iso_array *a = &g->labels;
	int most = 0;

	for (int64_t i = 0; i < a->n; i++) {
		if (a->v[i] != (iso_real)(int)a->v[i] || a->v[i] > MOST_LABEL)
			return iso_fail(ISO_EINPUT,
			                "%s: voxel %" PRId64 " is %g; labels are whole numbers from 0 to %d",
			                path, i, (double)a->v[i], MOST_LABEL);
		most = (int)a->v[i] > most ? (int)a->v[i] : most;
	}
	if (most == 0) return iso_fail(ISO_EINPUT, "%s: all voxels are 0, some must have a label", path);
	ISO_HOST(&g->room, g->of, most + 1);
	ISO_HOST(&g->room, g->label, most);
	ISO_HOST(&g->room, g->voxels, most);
	if (g->room.status) return g->room.status;
	for (int64_t i = 0; i < a->n; i++) g->of[(int)a->v[i]]++;
	for (int k = 1; k <= most; k++) {
		if (g->of[k] == 0) continue;
		g->voxels[g->n] = g->of[k];
		g->label[g->n] = k;
		g->of[k] = g->n++;
	}
	g->of[0] = -1;
	return ISO_OK;
}

int regions_read(struct regions *g, struct recon *r)
{
	const char *path = r->s->replicates.labels;
	int st;

	g->room = iso_room_of(NULL, "regions");
	if (!path) return ISO_OK;
	st = recon_read_image(r, &g->labels, path, ISO_NONNEGATIVE);
	return st ? st : find_labels(g, path);
}

void regions_free(struct regions *g)
{
	iso_array_free(&g->labels);
	iso_room_free(&g->room);
}

void regions_means(const struct regions *g, double *to, const iso_real *x)
{
	for (int64_t i = 0; i < g->labels.n; i++) {
		int k = g->of[(int)g->labels.v[i]];

		if (k >= 0) to[k] += x[i];
	}
	for (int k = 0; k < g->n; k++) to[k] /= g->voxels[k];
}

int regions_write_values(struct recon *r, const char *path, int64_t rows, int64_t columns, const double *v)
{
	struct iso_array a = { 0 };
	int st = iso_array_create(&a, 2, (const int64_t[]){ rows, columns });

	for (int64_t i = 0; i < a.n && !st; i++) a.v[i] = (iso_real)v[i];
	if (!st) st = record_write(r->record, path, &a, NULL);
	iso_array_free(&a);
	return st;
}

int regions_write_text(const char *path, const char *head, const struct regions *g,
                       void (*line)(char *to, size_t size, const struct regions *g, int k, const void *arg),
                       const void *arg)
{
	char row[256], *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int st;

	if (!f) return iso_fail_memory("table of regions", 1);
	fputs(head, f);
	for (int k = 0; k < g->n; k++) {
		line(row, sizeof row, g, k, arg);
		fputs(row, f);
	}
	st = fclose(f) == 0 && text ? iso_out_text(path, text)
	                            : iso_fail_memory("table of regions", (int64_t)size);
	free(text);
	return st;
}
