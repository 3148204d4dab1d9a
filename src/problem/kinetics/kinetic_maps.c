/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes of the coefficients: maps with units, whether the curves fit the events, standard errors by replicates. */
#include "kinetic_run.h"

#include "file/out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAD_FIT 3. /* chi2 over its degrees: a region is told */

enum { MOST_LABEL = 100000 };

/* The maps and coefficients of one run or, of replicates, their statistics. */
struct kinetic_maps {
	struct kinetic_run *k;
	int maps;
	struct iso_basis_map map[ISO_BASES_MOST];
	struct iso_array image;  /* one map */
	struct iso_array labels; /* no values: no regions */
	int regions, *label;
	double *value, *table; /* maps x regions; of each replicate */
	iso_spread *spread, **of_map;
	struct iso_room room;
};

/* ---- maps ---- */

static void fill_map(const struct kinetic_maps *w, iso_real *to, int i, const iso_real *theta)
{
	const struct kinetic_run *k = w->k;
	const int64_t n = k->sens.n;

	for (int64_t v = 0; v < n; v++) {
		double sum = w->map[i].add;

		for (int c = 0; c < k->k; c++) sum += w->map[i].factor[c] * (double)theta[c * n + v];
		to[v] = k->sens.v[v] > 0 ? (iso_real)sum : 0;
	}
}

static int write_beside(const struct kinetic_maps *w, const char *what, const char *unit,
                        const struct iso_array *a)
{
	struct recon *r = w->k->r;
	struct iso_array named = *a;
	char path[PATH_MAX];
	int st = recon_beside(path, r->s, what, NULL);

	snprintf(named.unit, sizeof named.unit, "%s", unit);
	return st ? st : problem_write_image(r->problem, path, &named, NULL);
}

static int write_maps(struct kinetic_maps *w)
{
	char what[64];
	int st = ISO_OK;

	for (int i = 0; i < w->maps && !st && w->k->r->s->out; i++) {
		snprintf(what, sizeof what, "_%s", w->map[i].name);
		fill_map(w, w->image.v, i, w->k->r->x.v);
		st = write_beside(w, what, w->map[i].unit, &w->image);
	}
	return st;
}

/* ---- regions ---- */

static int find_labels(struct kinetic_maps *w, const char *path)
{
	const struct iso_array *a = &w->labels;
	int most = 0;

	for (int64_t i = 0; i < a->n; i++) {
		if (a->v[i] != (iso_real)(int)a->v[i] || a->v[i] > MOST_LABEL)
			return iso_refuse(path,
			                  "voxel %" PRId64 " is %g; labels are whole numbers from 0 to %d", i,
			                  (double)a->v[i], MOST_LABEL);
		most = (int)a->v[i] > most ? (int)a->v[i] : most;
	}
	if (most == 0) return iso_refuse(path, "all voxels are 0, some must have a label");
	ISO_HOST(&w->room, w->label, most);
	for (int k = 1; k <= most && w->label; k++) {
		bool there = false;

		for (int64_t i = 0; i < a->n && !there; i++) there = a->v[i] == (iso_real)k;
		if (there) w->label[w->regions++] = k;
	}
	return w->room.status;
}

static int make_regions(struct kinetic_maps *w)
{
	const char *path = w->k->r->s->replicates.labels;
	int st;

	if (!path) return ISO_OK;
	if ((st = recon_read_image(w->k->r, &w->labels, path, ISO_NONNEGATIVE)) ||
	    (st = find_labels(w, path)))
		return st;
	const int64_t n = (int64_t)w->maps * w->regions;

	ISO_HOST(&w->room, w->value, n);
	ISO_HOST(&w->room, w->table, n * w->k->r->s->replicates.n);
	return w->room.status;
}

static void take_means(const struct kinetic_maps *w, double *to, const iso_real *image)
{
	for (int r = 0; r < w->regions; r++) {
		double sum = 0, n = 0;

		for (int64_t i = 0; i < w->labels.n; i++)
			if (w->labels.v[i] == (iso_real)w->label[r]) {
				sum += image[i];
				n++;
			}
		to[r] = sum / n;
	}
}

/* ---- whether the curves fit ---- */

static void mark(const struct kinetic_maps *w, unsigned char *inside)
{
	const int64_t n = w->k->sens.n;

	memset(inside, 1, (size_t)n); /* the whole image is region 0 */
	for (int r = 0; r < w->regions; r++)
		for (int64_t i = 0; i < n; i++)
			inside[(r + 1) * n + i] = w->labels.v[i] == (iso_real)w->label[r];
}

static double chi2_of(const struct kinetic_run *k, const double *score)
{
	double sum = 0;

	for (int m = 0; m < k->bins; m++) sum += score[m] * score[m];
	return k->bins > k->k ? sum / (k->bins - k->k) : NAN;
}

static int write_scores(const struct kinetic_maps *w, const double *score)
{
	const struct kinetic_run *k = w->k;
	char path[PATH_MAX], word[64], *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int st = recon_beside(path, k->r->s, "_scores", ".tsv");

	if (!f) return iso_fail_memory("scores", 1);
	fputs("label\tchi2_per_degree", f);
	for (int m = 0; m < k->bins; m++) fprintf(f, "\tbin_%d", m + 1);
	for (int r = 0; r <= w->regions; r++) {
		iso_snprintf(word, sizeof word, "\n%d\t%.6g", r ? w->label[r - 1] : 0,
		             chi2_of(k, score + r * k->bins));
		fputs(word, f);
		for (int m = 0; m < k->bins; m++) {
			iso_snprintf(word, sizeof word, "\t%.6g", score[r * k->bins + m]);
			fputs(word, f);
		}
	}
	fputc('\n', f);
	bool whole = fclose(f) == 0 && text;

	if (!st) st = whole ? iso_out_text(path, text) : iso_fail_memory("scores", (int64_t)size);
	free(text);
	return st;
}

static void tell_scores(const struct kinetic_maps *w, const double *score)
{
	const struct kinetic_run *k = w->k;

	for (int r = 0; r <= w->regions; r++) {
		double chi2 = chi2_of(k, score + r * k->bins);
		char who[32] = "the whole image";

		if (r) snprintf(who, sizeof who, "region %d", w->label[r - 1]);
		if (chi2 > BAD_FIT)
			record_warn(
				k->r->record,
				"%s: the curves of the model do not fit the events, chi2 is %.3g a degree",
				who, chi2);
	}
}

static int score(struct kinetic_maps *w)
{
	const struct kinetic_run *k = w->k;
	const int all = w->regions + 1;
	struct iso_room room = iso_room_of(NULL, "scores");
	unsigned char *inside;
	double *v;

	record_stage(k->r->record, "scores");
	ISO_HOST(&room, inside, all * k->sens.n);
	ISO_HOST(&room, v, all * k->bins);
	int st = room.status;

	if (!st) {
		mark(w, inside);
		st = iso_kinetic_scores(v, w->image.v, &k->em, k->r->x.v, all, inside);
	}
	if (!st) tell_scores(w, v);
	if (!st && k->r->s->out && !(st = write_scores(w, v)))
		st = write_beside(w, "_residual", "1", &w->image);
	iso_room_free(&room);
	record_stage(k->r->record, NULL);
	return st;
}

/* ---- replicates ---- */

static int draw(const struct kinetic_run *k, iso_real *y, int64_t replicate)
{
	unsigned char *w = size_alloc(k->rows, 1);
	int st = w ? iso_replicate_weights(w, k->rows, (const uint64_t *)k->number,
	                                   (uint64_t)k->r->s->replicates.seed, replicate, ISO_DRAW_EVENTS)
	           : iso_fail_memory("replicates", k->rows);

	for (int64_t j = 0; j < k->rows && !st; j++) y[j] = w[j];
	free(w);
	return st;
}

static int add_replicate(struct kinetic_maps *w, const iso_real *theta, int64_t replicate)
{
	int st = iso_spread_add(w->spread, theta);

	for (int i = 0; i < w->maps && !st; i++) {
		fill_map(w, w->image.v, i, theta);
		if (w->regions) take_means(w, w->table + (replicate * w->maps + i) * w->regions, w->image.v);
		st = iso_spread_add(w->of_map[i], w->image.v);
	}
	return st;
}

static int run_replicates(struct kinetic_maps *w, const iso_real *start)
{
	const struct kinetic_run *k = w->k;
	const int64_t n = k->r->s->replicates.n, all = k->k * k->sens.n;
	struct iso_kinetic em = k->em;
	iso_real *theta, *y;
	int st;

	record_stage(k->r->record, "replicates");
	struct iso_clock clock = iso_clock_start(k->r->ctx, "replicates", 0, n);

	ISO_HOST(&w->room, theta, all);
	ISO_HOST(&w->room, y, k->rows);
	ISO_HOST(&w->room, w->of_map, w->maps);
	if ((st = w->room.status) || (st = iso_spread_create(&w->spread, all))) return st;
	for (int i = 0; i < w->maps && !st; i++) st = iso_spread_create(&w->of_map[i], k->sens.n);
	em.data.y = y;
	for (int64_t r = 0; r < n && !st; r++) {
		memcpy(theta, start, (size_t)all * sizeof *theta);
		if ((st = draw(k, y, r)) || (st = iso_kinetic_run(theta, NULL, &em, NULL))) break;
		st = add_replicate(w, theta, r);
		iso_clock_step(&clock, r + 1, NULL);
	}
	record_stage(k->r->record, NULL);
	return st;
}

static int write_sd(struct kinetic_maps *w)
{
	struct iso_array sd = { 0 };
	char what[64];
	int st = record_copy(&sd, &w->k->r->x, NULL);

	if (!st) st = iso_spread_get(NULL, sd.v, w->spread);
	if (!st) st = write_beside(w, "_sd", "", &sd);
	iso_array_free(&sd);
	for (int i = 0; i < w->maps && !st; i++) {
		snprintf(what, sizeof what, "_%s_sd", w->map[i].name);
		st = iso_spread_get(NULL, w->image.v, w->of_map[i]);
		if (!st) st = write_beside(w, what, w->map[i].unit, &w->image);
	}
	return st;
}

static int write_table(struct kinetic_maps *w, const struct iso_interval *v)
{
	char path[PATH_MAX], line[320], *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int st = recon_beside(path, w->k->r->s, "_regions", ".tsv");

	if (!f) return iso_fail_memory("table of regions", 1);
	fputs("map\tlabel\tvalue\tmean\tsd\tlow\thigh\tshift\n", f);
	for (int i = 0; i < w->maps * w->regions; i++) {
		iso_snprintf(line, sizeof line, "%s\t%d\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\n",
		             w->map[i / w->regions].name, w->label[i % w->regions], v[i].value, v[i].mean,
		             v[i].sd, v[i].low, v[i].high, v[i].shift);
		fputs(line, f);
	}
	bool whole = fclose(f) == 0 && text;

	if (!st) st = whole ? iso_out_text(path, text) : iso_fail_memory("table of regions", (int64_t)size);
	free(text);
	return st;
}

static int write_regions(struct kinetic_maps *w)
{
	struct iso_interval *v = size_alloc((int64_t)w->maps * w->regions, sizeof *v);
	int st = ISO_OK;

	if (!v) return iso_fail_memory("table of regions", w->maps * w->regions);
	for (int i = 0; i < w->maps; i++) {
		fill_map(w, w->image.v, i, w->k->r->x.v);
		take_means(w, w->value + i * w->regions, w->image.v);
	}
	st = iso_intervals(v, NULL, w->k->r->s->replicates.n, w->maps * w->regions, w->table, w->value);
	if (!st) st = write_table(w, v);
	free(v);
	return st;
}

static int replicate(struct kinetic_maps *w, const iso_real *start)
{
	int st;

	if (w->k->r->s->replicates.n == 0) return ISO_OK;
	if ((st = run_replicates(w, start)) || !w->k->r->s->out || (st = write_sd(w))) return st;
	record_tell(
		w->k->r->record, ISO_NEWS,
		"%" PRId64
		" replicates: statistical error alone; bias by iterations, model and corrections is not in "
		"it",
		w->k->r->s->replicates.n);
	return w->regions && w->maps ? write_regions(w) : ISO_OK;
}

static void free_maps(struct kinetic_maps *w)
{
	iso_spread_free(w->spread);
	for (int i = 0; w->of_map && i < w->maps; i++) iso_spread_free(w->of_map[i]);
	iso_array_free(&w->image);
	iso_array_free(&w->labels);
	iso_room_free(&w->room);
}

int kinetic_maps_write(struct kinetic_run *k, const iso_real *start)
{
	struct kinetic_maps w = { .k = k,
		                  .maps = iso_basis_maps(k->basis),
		                  .room = iso_room_of(NULL, "maps") };
	int st = iso_array_on_grid(&w.image, &k->r->grid);

	for (int i = 0; i < w.maps && !st; i++) {
		w.map[i].size = sizeof w.map[i];
		st = iso_basis_map(&w.map[i], k->basis, i);
	}
	if (!st) st = make_regions(&w);
	if (!st && w.regions) st = score(&w);
	if (!st) st = replicate(&w, start);
	if (!st) st = write_maps(&w);
	free_maps(&w);
	return st;
}
