/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome delays: what the optoacoustic models take for the time that sound needs, as numbers and as a picture. */
#include "cmd.h"

#include "core/size.h"
#include "file/npy.h"
#include "io/format.h"
#include "problem/inputs.h"
#include "problem/sound/sound_tissue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct opt_usage usage = {
	"delays",
	"Compute the time that sound needs from points to transducers, in us, as the models ubp, sradon and "
	"svoxel "
	"have it: through water, or through tissue in it. The output is float64, (transducers, nz, ny, nx), "
	"or "
	"(transducers, points). A picture shows what the tissue does: the delay less that of water alone, in "
	"ns, in "
	"the middle plane of the grid, for up to 24 transducers.",
	"  isotome delays examples/scanners/wang2013-32x45.yaml --grid 64,64,1 --voxel 0.5 --tissue "
	"sphere:0,0,0,12 \\\n"
	"    --tissue-speed 1.6 --transducers 0,700 -o T.npy --picture T.png\n"
	"  isotome delays examples/scanners/wang2013-32x45.yaml --points voxels.npy --speed-map c.nii \\\n"
	"    --sound-path eikonal --table-mm 0.5 -o T.npy\n",
};

struct delays {
	const char *scanner, *out, *picture, *points, *chosen;
	int64_t size[3];
	double voxel[3], centre[3], speed;
	bool single;
	struct tissue tissue;
	/* what they name */
	struct transducers array;
	struct iso_transducers t; /* borrows, with the speed of the options */
	struct iso_grid grid;     /* of points: their box */
	double *place;            /* (n, 3) */
	int64_t n, *which, n_which;
	iso_delays *d; /* NULL: water alone */
	double *us, *loud;
};

enum { PICTURES = 24, OWN = 11 };

#define PER_NS 1e3

/* ---- what is asked for ---- */

static int choose(struct delays *s)
{
	int64_t most = s->t.n;
	double *v = size_alloc(most, sizeof *v);
	int n = most;

	if (!v || !(s->which = size_alloc(most, sizeof *s->which))) {
		free(v);
		return iso_fail_memory("transducers", most);
	}
	if (s->chosen && (n = iso_numbers(v, (int)most, s->chosen)) == 0) v[0] = -1, n = 1;
	for (int i = 0; i < n; i++) {
		double q = s->chosen ? v[i] : i;

		if (!(q >= 0 && q < (double)most && q == floor(q))) {
			free(v);
			return iso_fail(ISO_EARG,
			                "--transducers is '%s', must be numbers from 0 to %" PRId64
			                " with commas between them",
			                s->chosen, most - 1);
		}
		s->which[i] = (int64_t)q;
	}
	s->n_which = n;
	free(v);
	return ISO_OK;
}

/* The box of the points, for tables. */
static void box_of(struct iso_grid *g, const double *place, int64_t n)
{
	for (int a = 0; a < 3; a++) {
		double low = INFINITY, high = -INFINITY;

		for (int64_t i = 0; i < n; i++) {
			low = fmin(low, place[3 * i + a]);
			high = fmax(high, place[3 * i + a]);
		}
		g->voxel[a] = 1;
		g->n[a] = (int64_t)ceil(high - low) + 1;
		g->centre[a] = (low + high) / 2;
	}
}

static int read_points(struct delays *s, struct cmd *c)
{
	int st = record_input(&c->record, s->points);

	if (!st) st = iso_table_read(&s->place, &s->n, 3, s->points);
	if (!st && s->n < 1) st = iso_fail(ISO_EINPUT, "%s: no points, must be (n, 3)", s->points);
	if (!st) box_of(&s->grid, s->place, s->n);
	return st;
}

static int make_grid(struct delays *s, const struct cmd *c)
{
	bool size = cmd_given(c, "grid"), voxel = cmd_given(c, "voxel");
	struct iso_grid *g = &s->grid;
	int64_t n;
	int st;

	for (int a = 0; a < 3; a++) {
		g->n[a] = size ? s->size[a] : 0;
		g->voxel[a] = voxel ? s->voxel[0] : 0;
	}
	if ((!size || !voxel) && (st = iso_transducers_grid(g, &s->t, NULL))) return st;
	if (cmd_given(c, "centre") || (size && voxel)) memcpy(g->centre, s->centre, sizeof g->centre);
	if ((st = iso_grid_check(g))) return st;
	s->n = n = iso_grid_voxels(g);
	if (!(s->place = size_alloc(n, 3 * (int64_t)sizeof *s->place))) return iso_fail_memory("points", n);
	for (int64_t i = 0; i < n; i++) {
		const int64_t at[3] = { i % g->n[0], i / g->n[0] % g->n[1], i / g->n[0] / g->n[1] };

		for (int a = 0; a < 3; a++)
			s->place[3 * i + a] =
				g->centre[a] + ((double)at[a] - .5 * (double)(g->n[a] - 1)) * g->voxel[a];
	}
	return ISO_OK;
}

static int prepare(struct delays *s, struct cmd *c)
{
	int st = transducers_load(&s->array, &c->record, s->scanner);

	if (st) return st;
	s->t = *s->array.t;
	if (s->speed > 0) s->t.speed = s->speed;
	if (!(s->t.speed > 0))
		return iso_fail(ISO_EARG, "--speed is missing: %s does not say a speed of sound above 0",
		                s->scanner);
	if (s->points && (cmd_given(c, "grid") || cmd_given(c, "voxel") || cmd_given(c, "centre")))
		return iso_fail(ISO_EARG, "--points takes the place of --grid, --voxel and --centre");
	if (s->picture && s->points) return iso_fail(ISO_EARG, "--picture is of a grid, not of --points");
	if ((st = choose(s)) || (st = s->points ? read_points(s, c) : make_grid(s, c))) return st;
	return tissue_load(&s->tissue, &c->record, s->array.s, &s->t, true);
}

/* ---- numbers ---- */

static int make(struct delays *s, struct cmd *c)
{
	struct iso_plan plan = cmd_plan_begin(c);
	bool spread = strcmp(s->tissue.amplitude, "spread") == 0;
	int st;

	iso_plan_add(&plan, "delays", s->n_which * s->n, (spread ? 2 : 1) * (int64_t)sizeof(double), false);
	if (s->tissue.on) iso_delays_plan(&plan, c->ctx, &s->t, &s->tissue.is, &s->grid);
	if ((st = cmd_plan(c, &plan))) return st;
	if ((st = tissue_delays(&s->d, &s->tissue, &c->record, c->ctx, &s->t, &s->grid))) return st;
	s->us = size_alloc(s->n_which * s->n, sizeof *s->us);
	if (spread) s->loud = size_alloc(s->n_which * s->n, sizeof *s->loud);
	if (!s->us || (spread && !s->loud)) return iso_fail_memory("delays", s->n_which * s->n * 8);
	for (int64_t i = 0; i < s->n_which && !st; i++) {
		const double *at = s->t.pos + 3 * s->which[i];

		if (s->d)
			st = iso_delays_points(s->us + i * s->n, s->loud ? s->loud + i * s->n : NULL, s->d,
			                       s->which[i], s->n, s->place, s->single);
		for (int64_t k = 0; k < s->n && !s->d; k++) {
			const double *r = s->place + 3 * k;

			s->us[i * s->n + k] =
				sqrt(pow(r[0] - at[0], 2) + pow(r[1] - at[1], 2) + pow(r[2] - at[2], 2)) /
				s->t.speed;
		}
	}
	return st;
}

static int write_doubles(struct cmd *c, const struct delays *s, const char *path, const double *v,
                         bool record)
{
	const int64_t grid[4] = { s->n_which, s->grid.n[2], s->grid.n[1], s->grid.n[0] };
	const int64_t list[2] = { s->n_which, s->n }, bytes = s->n_which * s->n * (int64_t)sizeof *v;
	char head[ISO_NPY_LEAD], sidecar[PATH_MAX];
	int lead = iso_npy_lead(head, 'f', sizeof *v, s->points ? 2 : 4, s->points ? list : grid);
	struct iso_out o = { 0 };
	int st = iso_out_open(&o, path, lead + bytes, ISO_OUT_PLAIN);

	if (!st && !(st = iso_out_write(&o, head, lead)) && !(st = iso_out_write(&o, v, bytes)) &&
	    !(st = iso_out_close(&o)))
		st = iso_out_commit(&o);
	iso_out_free(&o);
	if (st || !record || (st = cmd_text(c)) || (st = iso_sidecar_path(sidecar, sizeof sidecar, path)))
		return st;
	return iso_out_text(sidecar, c->text);
}

/* ---- the picture ---- */

/* A plane for each transducer, of what the tissue adds, ns. */
static int planes(struct iso_array *a, double window[2], const struct delays *s)
{
	int64_t n = s->n_which < PICTURES ? s->n_which : PICTURES, area = s->grid.n[0] * s->grid.n[1];
	const int64_t dim[3] = { n, s->grid.n[1], s->grid.n[0] }, from = s->grid.n[2] / 2 * area;
	int st = iso_array_create(a, 3, dim);
	double most = 0;

	for (int64_t i = 0; i < n && !st; i++)
		for (int64_t k = 0; k < area; k++) {
			const double *r = s->place + 3 * (from + k), *at = s->t.pos + 3 * s->which[i];
			double water =
				sqrt(pow(r[0] - at[0], 2) + pow(r[1] - at[1], 2) + pow(r[2] - at[2], 2)) /
				s->t.speed;
			double late = PER_NS * (s->us[i * s->n + from + k] - water);

			a->v[i * area + k] = (iso_real)late;
			most = fmax(most, fabs(late));
		}
	window[1] = most > 0 ? most : 1;
	window[0] = -window[1];
	return st;
}

static int draw(struct cmd *c, const struct delays *s)
{
	struct iso_picture p = {
		.size = sizeof p, .kind = ISO_MONTAGE, .axis = 'z', .every = 1, .labels = ISO_LABEL_AXES
	};
	struct iso_pixels pixels = { 0 };
	struct iso_array a = { 0 };
	char title[160];
	int st = planes(&a, p.window, s);

	iso_snprintf(title, sizeof title, "delay less that of water: %.3g ns (blue) to %.3g ns (red)",
	             p.window[0], p.window[1]);
	p.title = title;
	if (!st && !(st = iso_picture_render(&pixels, NULL, &a, &p)))
		st = cmd_write_picture(c, s->picture, &pixels);
	iso_pixels_free(&pixels);
	iso_array_free(&a);
	return st;
}

/* ---- both ---- */

/* x.npy -> x_amplitude.npy */
static int amplitude_path(char *to, size_t size, const char *out)
{
	int n = (int)strlen(out) - 4;

	return iso_snprintf(to, size, "%.*s_amplitude.npy", n, out) < (int)size
	               ? ISO_OK
	               : iso_fail(ISO_EARG, "%s: the name is too long", out);
}

static int run(struct delays *s, struct cmd *c)
{
	char beside[PATH_MAX];
	int st = prepare(s, c);

	record_stage(&c->record, "delays");
	if (!st) st = make(s, c);
	record_stage(&c->record, NULL);
	if (!st) st = write_doubles(c, s, s->out, s->us, true);
	if (!st && s->loud && !(st = amplitude_path(beside, sizeof beside, s->out)))
		st = write_doubles(c, s, beside, s->loud, false);
	if (!st && s->picture) st = draw(c, s);
	iso_delays_free(s->d);
	tissue_unload(&s->tissue);
	transducers_free(&s->array);
	free(s->place);
	free(s->which);
	free(s->us);
	free(s->loud);
	return st;
}

static int check_out(const char *path, bool force)
{
	if (!iso_has_suffix(path, ".npy")) return iso_fail(ISO_EARG, "%s: delays are written as .npy", path);
	return iso_write_check(path, force);
}

int main_delays(int argc, char **argv)
{
	struct delays s = { .n = 0 };
	const struct opt first[OWN] = {
		CMD_ARGUMENT("scanner", s.scanner, OPT_READS, "SCANNER",
		             "description of the transducers: " TRANSDUCERS_FILES),
		CMD_OUTPUT(s.out, "delays in us, float64 .npy; with --sound-amplitude spread "
		                  "NAME_amplitude.npy beside it "
		                  "has amplitudes, 1/mm"),
		{ 0, "picture", .text = &s.picture, .file = OPT_WRITES, .value = "FILE",
		  .help = "also draw what the tissue adds to the delays, .png" },
		{ 0, "transducers", .text = &s.chosen, .value = "I,J,...", .absent = "all",
		  .help = "numbers of transducers, from 0 on" },
		{ 0, "points", .text = &s.points, .file = OPT_READS, .value = "FILE",
		  .help = "places (n, 3) in mm, .npy, in place of the grid" },
		{ 0, "grid", .integer = s.size, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
		  .max = 1e15, .absent = "that of a planar array", .help = "number of voxels" },
		{ 0, "voxel", .real = s.voxel, .unit = "mm", .count = 1, .value = "MM", .min = 1e-6,
		  .max = 1e6, .absent = "that of a planar array", .help = "edge of a voxel" },
		{ 0, "centre", .real = s.centre, .unit = "mm", .count = 3, .value = "X,Y,Z",
		  .absent = "0,0,0", .help = "centre of the grid, mm" },
		{ 0, "speed", .real = &s.speed, .unit = "mm/us", .value = "C", .min = .01, .max = 100,
		  .absent = "the scanner's", .help = "speed of sound in water, mm/us" },
		{ 0, "single", .flag = &s.single,
		  .help = "by the arithmetic of the models, in place of double precision" },
		{ 0 },
	};
	struct opt own[OWN], tissue[TISSUE_PARAMS + 1] = { 0 };
	struct cmd c = { .cpu_only = true };
	struct opt_set sets[] = {
		{ NULL, own }, { "Tissue", tissue }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 }
	};
	int st;

	memcpy(own, first, sizeof own);
	tissue_params(tissue, &s.tissue);
	st = cmd_parse(&c, &usage, sets, argc, argv);
	if (!st && !(st = cmd_check(&c, s.out, check_out)) &&
	    !(st = s.picture ? cmd_check(&c, s.picture, iso_picture_write_check) : ISO_OK) &&
	    !(st = cmd_begin(&c)))
		st = run(&s, &c);
	return cmd_end(&c, st);
}
