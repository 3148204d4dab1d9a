/* SPDX-License-Identifier: BSD-3-Clause */
/* Photons in crystals against reference counts: 21 cases of beams, panels, a ring and strips; search of modules against
   all boxes; energy; chords; the same events for any threads and on both devices.

   ISO_CRYSTAL_HISTORIES: histories of a case, in place of a small sample. ISO_CRYSTAL_DEVICE: cuda, for all of it. */
#include "test.h"

#include "scanner/modules.h"
#include "simulate/crystals/crystal_scan.h"
#include "text/json_file.h"

#include "base/now.h"

static iso_ctx *ctx;

/* ---- a case ---- */

struct setup {
	struct iso_modules m;
	struct iso_array activity, object;
	struct iso_label label;
	double at[3], prompt_kev, beam[3], zbin;
	bool point, is_beam;
};

/* grid nt pt ct nbz nzb pz cz gz depth layers bt */
static void read_grid(struct iso_modules *m, const char *text)
{
	int nt, bt, blocks, nz, layers;
	double pt, ct, pz, cz, gz, depth;

	assert_int_equal(sscanf(text, "%d %lf %lf %d %d %lf %lf %lf %lf %d %d", &nt, &pt, &ct, &blocks, &nz,
	                        &pz, &cz, &gz, &depth, &layers, &bt),
	                 11);
	m->crystals[0] = bt;
	m->blocks[0] = nt / bt;
	m->crystals[1] = nz;
	m->blocks[1] = blocks;
	m->pitch[0] = pt;
	m->pitch[1] = pz;
	m->crystal[0] = ct;
	m->crystal[1] = cz;
	m->crystal[2] = depth;
	m->block_gap[1] = gz;
	m->layers = layers;
}

static void add_ring(struct iso_modules *m, int count, double radius, double first_rad)
{
	m->ring[m->rings++] = (struct modules_ring){
		.radius = radius, .first_rad = first_rad, .count = count, .first = m->count
	};
	m->count += count;
}

/* An image of one voxel. */
static void make_line(struct iso_array *a, const double low[3], const double size[3])
{
	struct iso_grid g = { .n = { 1, 1, 1 } };

	for (int k = 0; k < 3; k++) {
		g.voxel[k] = size[k];
		g.centre[k] = low[k] + .5 * size[k];
	}
	OK(iso_array_on_grid(a, &g));
	a->v[0] = 1;
}

/* A cylinder about z, of voxels of half a mm. */
static void make_object(struct setup *s, const char *text)
{
	char formula[64];
	double density, radius, length;
	struct iso_grid g = { .voxel = { .5, .5, 0 } };
	int64_t i = 0;

	assert_int_equal(sscanf(text, "%63s %lf %lf %lf", formula, &density, &radius, &length), 4);
	g.n[0] = g.n[1] = 2 * (int64_t)ceil(2 * radius) + 2;
	g.n[2] = 1;
	g.voxel[2] = length;
	OK(iso_array_on_grid(&s->object, &g));
	for (int64_t y = 0; y < g.n[1]; y++)
		for (int64_t x = 0; x < g.n[0]; x++, i++)
			s->object.v[i] = hypot(((double)x + .5 - .5 * (double)g.n[0]) * .5,
			                       ((double)y + .5 - .5 * (double)g.n[1]) * .5) < radius;
	s->label = (struct iso_label){ .label = 1, .density = density };
	snprintf(s->label.formula, sizeof s->label.formula, "%s", formula);
}

static void read_source(struct setup *s, const char *text)
{
	double x, y, z, end;

	if (sscanf(text, "point %lf %lf %lf", &x, &y, &z) == 3) {
		s->point = true;
		s->at[0] = x;
		s->at[1] = y;
		s->at[2] = z;
	} else if (sscanf(text, "line %lf %lf %lf %lf", &x, &y, &z, &end) == 4) {
		make_line(&s->activity, (double[3]){ x - 5e-4, y - 5e-4, z },
		          (double[3]){ 1e-3, 1e-3, end - z });
	} else {
		fail_msg("source %s", text);
	}
}

static void read_line(struct setup *s, const char *line)
{
	struct iso_modules *m = &s->m;
	char word[64];
	int n = 0, count;
	double a, b = .5;

	assert_int_equal(sscanf(line, "%63s %n", word, &n), 1);
	const char *rest = line + n;

	if (!strcmp(word, "crystal"))
		assert_int_equal(sscanf(rest, "%63s %lf", m->material.formula, &m->material.density), 2);
	else if (!strcmp(word, "cover"))
		assert_int_equal(
			sscanf(rest, "%63s %lf %lf", m->cover_of.formula, &m->cover_of.density, &m->cover),
			3);
	else if (!strcmp(word, "grid"))
		read_grid(m, rest);
	else if (!strcmp(word, "ring")) {
		assert_true(sscanf(rest, "%d %lf %lf", &count, &a, &b) >= 2);
		add_ring(m, count, a, 2 * M_PI * b / count);
	} else if (!strcmp(word, "panels"))
		add_ring(m, 2, .5 * atof(rest), M_PI / 2);
	else if (!strcmp(word, "slab"))
		add_ring(m, 1, 400, 0);
	else if (!strcmp(word, "energy"))
		assert_int_equal(sscanf(rest, "%lf %lf %lf", &m->resolution, &m->window[0], &m->window[1]),
		                 3);
	else if (!strcmp(word, "readout"))
		m->readout = !strcmp(rest, "module")  ? MODULES_READ_MODULE
		             : !strcmp(rest, "block") ? MODULES_READ_BLOCK
		                                      : MODULES_READ_CRYSTAL;
	else if (!strcmp(word, "mindist"))
		m->min_distance = atoi(rest);
	else if (!strcmp(word, "enddepth"))
		m->depth = atof(rest);
	else if (!strcmp(word, "zbin"))
		s->zbin = atof(rest);
	else if (!strcmp(word, "source"))
		read_source(s, rest);
	else if (!strcmp(word, "object"))
		make_object(s, rest);
	else if (!strcmp(word, "prompt"))
		s->prompt_kev = atof(rest);
	else if (!strcmp(word, "beam")) {
		s->beam[2] = 510.99895;
		assert_true(sscanf(rest, "%lf %lf %lf", s->beam, s->beam + 1, s->beam + 2) >= 2);
		s->is_beam = true;
	} else {
		fail_msg("case: '%s'", line);
	}
}

static void read_case(struct setup *s, const json_t *c)
{
	const json_t *line;
	size_t i;

	*s = (struct setup){ .m = { .min_distance = 1, .layers = 1, .mirrored = -1 } };
	json_array_foreach (json_object_get(c, "config"), i, line) read_line(s, json_string_value(line));
	s->m.stride_layer = 1;
	s->m.stride_t = s->m.layers;
	s->m.stride_z = modules_along(&s->m, 0) * s->m.layers;
	s->m.stride_module = modules_along(&s->m, 1) * s->m.stride_z;
}

static void free_case(struct setup *s)
{
	iso_array_free(&s->activity);
	iso_array_free(&s->object);
}

static void open_scan(struct iso_crystal_scan *scan, const struct setup *s, iso_ctx *on, uint64_t seed)
{
	const struct crystal_setting set = { .modules = &s->m,
		                             .labels = s->object.v ? &s->object : NULL,
		                             .label = &s->label,
		                             .n_labels = 1,
		                             .activity = s->activity.v ? &s->activity : NULL,
		                             .seed = seed };

	OK(iso_crystal_scan_create(scan, on, &set, s->at, s->prompt_kev));
	if (!s->is_beam) return;
	/* over the pitch cell of the middle crystal, from the plane n = -cover of module 0 */
	struct crystal_source *q = &scan->device.source;
	double t[3], n[3], phi = s->beam[0] * M_PI / 180, theta = s->beam[1] * M_PI / 180;
	double low[2] = { modules_middle(&s->m, 0, modules_along(&s->m, 0) / 2) - .5 * s->m.pitch[0],
		          modules_middle(&s->m, 1, modules_along(&s->m, 1) / 2) - .5 * s->m.pitch[1] };

	modules_axes(t, n, &s->m, 0);
	q->beam_kev = (float)s->beam[2];
	for (int k = 0; k < 3; k++) {
		double z = k == 2;

		q->dir[k] =
			(float)(sin(phi) * cos(theta) * t[k] + sin(theta) * z + cos(phi) * cos(theta) * n[k]);
		q->low[k] = (float)((s->m.ring[0].radius - s->m.cover - 1e-3) * n[k] + low[0] * t[k] +
		                    low[1] * z);
		q->side[0][k] = (float)(s->m.pitch[0] * t[k]);
		q->side[1][k] = (float)(s->m.pitch[1] * z);
	}
}

/* ---- comparison ---- */

struct verdict {
	int figures, beyond; /* 3 sigma */
	double worst;
	char what[128];
};

/* Counts a of na and b of nb histories; each counts at most twice a history. */
static void judge(struct verdict *v, const char *name, const char *figure, double a, double na, double b,
                  double nb, double times, double spread)
{
	double p = (a + b) / (na + nb) / times, q = fabs(a / na - b / nb) / times;
	double sigma = sqrt(spread * p * fmax(1 - p, 0) * (1 / na + 1 / nb)), z = q / (sigma + 1e-300);
	double floor = .002 * p / (sigma + 1e-300);

	if (!(p > 0)) return;
	v->figures++;
	v->beyond += z > 3 + floor;
	if (z - floor > v->worst) {
		v->worst = z - floor;
		snprintf(v->what, sizeof v->what, "%s %s: %.6g, expected %.6g", name, figure, a / na, b / nb);
	}
	if (getenv("ISO_CRYSTAL_TELL"))
		printf("  %-18s %-28s %10.6f %10.6f  %5.2f sigma\n", name, figure, a / na, b / nb,
		       (a / na > b / nb ? 1 : -1) * z);
}

/* Bins of a histogram with more than 25 counts. */
static void judge_histogram(struct verdict *v, const char *name, const char *figure, const double *have,
                            int bins, double first, double na, const json_t *want, double nb)
{
	double edge = json_number_value(json_object_get(want, "first_edge"));
	double bin = json_number_value(json_object_get(want, "bin")), chi2 = 0;
	const json_t *one;
	size_t i;
	int n = 0;

	json_array_foreach (json_object_get(want, "counts"), i, one) {
		double b = json_number_value(one), r = na / nb;
		int at = (int)lround((edge - first) / bin) + (int)i;
		double a = at >= 0 && at < bins ? have[at] : 0;

		if (b <= 25) continue;
		chi2 += (a - b * r) * (a - b * r) / (b * r + b * r * r + 4e-6 * b * r * b * r);
		n++;
	}
	if (n == 0) return;
	double z = (chi2 - n) / sqrt(2. * n);

	v->figures++;
	v->beyond += z > 3;
	if (z > v->worst) {
		v->worst = z;
		snprintf(v->what, sizeof v->what, "%s %s: chi2 %.5g of %d bins", name, figure, chi2, n);
	}
	if (getenv("ISO_CRYSTAL_TELL")) printf("  %-18s %-28s chi2 %.1f of %d bins\n", name, figure, chi2, n);
}

enum { OFFSETS = 160, HEIGHTS = 140 };

struct tally {
	double count[CRYSTAL_COUNTS], in_window, several, not_first, full, more, depth, depths;
	double u[OFFSETS], v[OFFSETS], z[HEIGHTS];
};

/* Offset of the line from the nominal point of the crystal. */
static void tally_beam(struct tally *t, const struct setup *s, const struct crystal_source *q,
                       const struct crystal_event *e)
{
	double p[3], tt[3], n[3], phi = s->beam[0] * M_PI / 180, theta = s->beam[1] * M_PI / 180,
				  off[2] = { 0 };

	t->depth += (double)e->dt_ps;
	t->depths++;
	if (e->photons[0] == 0) return;
	t->more += e->photons[0] > 1;
	t->in_window++;
	t->several += e->photons[1] > 1;
	t->not_first += !(e->first & 1);
	t->full += fabs((double)(e->kev[1] - q->beam_kev)) < .01;
	modules_point(p, &s->m, (int32_t)e->crystal[0]);
	modules_axes(tt, n, &s->m, 0);
	for (int k = 0; k < 3; k++) {
		double z = k == 2, d = (double)e->at[k] - p[k];

		off[0] += d * (cos(phi) * tt[k] - sin(phi) * n[k]);
		off[1] +=
			d * (-sin(theta) * sin(phi) * tt[k] + cos(theta) * z - sin(theta) * cos(phi) * n[k]);
	}
	for (int k = 0; k < 2; k++)
		if (fabs(off[k]) < 20) (k ? t->v : t->u)[(int)floor((off[k] + 20) * 4)]++;
}

static void run_case(struct tally *t, const struct setup *s, double histories)
{
	struct iso_crystal_scan scan;
	int64_t count[CRYSTAL_COUNTS] = { 0 }, found, n = (int64_t)histories;
	int64_t piece = n < CRYSTAL_PIECE ? n : CRYSTAL_PIECE;
	struct crystal_event *e = calloc((size_t)piece, sizeof *e);

	memset(t, 0, sizeof *t);
	assert_non_null(e);
	open_scan(&scan, s, ctx, 17);
	for (int64_t first = 0; first < n; first += piece) {
		OK(iso_crystal_scan_events(e, &found, count, &scan, (uint64_t)first,
		                           n - first < piece ? n - first : piece));
		for (int64_t i = 0; i < found; i++) {
			if (s->is_beam)
				tally_beam(t, s, &scan.device.source, e + i);
			else if (e[i].kind != CRYSTAL_WITH_PROMPT && s->zbin > 0 && fabsf(e[i].at[2]) < 700)
				t->z[(int)floor(((double)e[i].at[2] + 700) / s->zbin)]++;
		}
	}
	for (int k = 0; k < CRYSTAL_COUNTS; k++) t->count[k] = (double)count[k];
	iso_crystal_scan_free(&scan);
	free(e);
}

static void judge_case(struct verdict *v, const char *name, const json_t *c, const struct tally *t, double na,
                       const struct setup *s)
{
	double nb = json_number_value(json_object_get(c, "histories"));
	const json_t *k = json_object_get(c, "counts"), *p = json_object_get(c, "photons");
	static const struct {
		const char *name;
		int count;
		bool photons;
	} figures[] = {
		{ "entered", CRYSTAL_MET, true },
		{ "interacted", CRYSTAL_INTERACTED, true },
		{ "singles", CRYSTAL_SINGLES, true },
		{ "several_crystals", CRYSTAL_SEVERAL, true },
		{ "not_first_crystal", CRYSTAL_NOT_FIRST, true },
		{ "coincidences", CRYSTAL_PAIRS, false },
		{ "scattered_in_object", CRYSTAL_SCATTERED, false },
		{ "unscattered_with_rayleigh", CRYSTAL_RAYLEIGH, false },
		{ "decays_with_3_or_more_singles", CRYSTAL_MANY, false },
		{ "both_singles_one_module", CRYSTAL_ONE_MODULE, false },
		{ "pairs_several_crystals", CRYSTAL_PAIR_SEVERAL, false },
		{ "pairs_not_first_crystal", CRYSTAL_PAIR_NOT_FIRST, false },
		{ "coincidences_with_prompt", CRYSTAL_PROMPT, false },
	};
	const struct {
		const char *name;
		double v;
	} beams[] = { { "interact", t->count[CRYSTAL_INTERACTED] },
		      { "in_window", t->in_window },
		      { "several_crystals", t->several },
		      { "not_first_crystal", t->not_first },
		      { "full_energy", t->full },
		      { "more_than_one_single", t->more } };

	if (s->is_beam) {
		for (int i = 0; i < N_OF(beams); i++)
			judge(v, name, beams[i].name, beams[i].v, na,
			      json_number_value(json_object_get(k, beams[i].name)), nb, 1, 1);
		judge_histogram(v, name, "u", t->u, OFFSETS, -20, na, json_object_get(c, "u_hist"), nb);
		judge_histogram(v, name, "v", t->v, OFFSETS, -20, na, json_object_get(c, "v_hist"), nb);
		double depth = json_number_value(json_object_get(c, "mean_first_depth_mm"));
		double z = fabs(t->depth / t->depths - depth) / (5.1 * sqrt(1 / t->depths + 1 / (.8 * nb)));

		if (getenv("ISO_CRYSTAL_TELL"))
			printf("  %-18s depth %.4f %.4f %.2f sigma\n", name, t->depth / t->depths, depth, z);
		if (z > v->worst) {
			v->worst = z;
			snprintf(v->what, sizeof v->what, "%s depth %g, expected %g", name,
			         t->depth / t->depths, depth);
		}
		return;
	}
	for (int i = 0; i < N_OF(figures); i++) {
		const json_t *want = json_object_get(figures[i].photons ? p : k, figures[i].name);
		double times = figures[i].photons ? 2 : 1;

		if (want)
			judge(v, name, figures[i].name, t->count[figures[i].count], na,
			      json_number_value(want), nb, times, 1);
	}
	for (size_t i = 0; i < 5; i++)
		judge(v, name, "by_object_compton", t->count[CRYSTAL_ORDERS + i], na,
		      json_number_value(json_array_get(json_object_get(c, "by_object_compton"), i)), nb, 1,
		      1);
	if (json_object_get(c, "coincidences_by_z"))
		judge_histogram(v, name, "coincidences_by_z", t->z, HEIGHTS, -700, na,
		                json_object_get(c, "coincidences_by_z"), nb);
}

static json_t *read_cases(void)
{
	json_t *all = NULL;

	OK(iso_json_read(&all, TEST_DATA "/crystals/cases.json"));
	return all;
}

static void cases(void **state)
{
	const char *many = getenv("ISO_CRYSTAL_HISTORIES"), *only = getenv("ISO_CRYSTAL_CASE"), *name;
	double histories = many ? atof(many) : sized(30000, 3000);
	struct verdict v = { 0 };
	json_t *all = read_cases(), *c;
	int n = 0;

	(void)state;
	json_object_foreach (all, name, c) {
		struct setup s;
		struct tally t;

		if (only && !strstr(name, only)) continue;
		read_case(&s, c);
		run_case(&t, &s, histories);
		judge_case(&v, name, c, &t, histories, &s);
		free_case(&s);
		n++;
	}
	json_decref(all);
	printf("%d cases of %g histories: %d figures, %d beyond 3 sigma; worst %.2f sigma: %s\n", n,
	       histories, v.figures, v.beyond, v.worst, v.what);
	assert_true(n == 21 || only);
	assert_true(v.worst < 4);
	assert_true(20 * v.beyond <= v.figures);
}

/* ---- parts ---- */

static void open_named(struct setup *s, const char *name)
{
	json_t *all = read_cases();

	read_case(s, json_object_get(all, name));
	json_decref(all);
}

/* The next module by rings is the nearest of all boxes. */
static void search(void **state)
{
	static const char *const name[] = { "ring_line", "strips_line", "panel_block" };
	const int rays = sized(200000, 20000);

	(void)state;
	for (int k = 0; k < N_OF(name); k++) {
		struct iso_crystal_scan scan;
		struct setup s;
		int met = 0;

		open_named(&s, name[k]);
		open_scan(&scan, &s, ctx, 5);
		const struct crystal_world *w = &scan.device.w;

		for (int i = 0; i < rays; i++) {
			struct philox a = philox_draw(3, (uint64_t)i, 0), b = philox_draw(3, (uint64_t)i, 1);
			struct crystal_entry e, best = { .in = 1e30f, .module = -1 };
			float dir[3], at[3];

			source_direction(dir, a.w[0], a.w[1]);
			for (int c = 0; c < 3; c++) at[c] = 1400 * (philox_unit(b.w[c]) - .5f);
			for (int r = 0; r < w->rings; r++) {
				bool inside = false;

				for (int m = 0; m < w->ring[r].count; m++) {
					float p[3], d[3], in, out;

					crystal_to_local(p, d, w, w->ring + r, w->ring[r].module + m, at,
					                 dir);
					crystal_clip(&in, &out, w, p, d);
					inside = inside || (in <= 0 && in < out);
					crystal_try(&best, w, r, m, at, dir, -1);
				}
				if (inside) best.module = -2; /* no ray begins in a box */
				if (inside) break;
			}
			if (best.module == -2) continue;
			crystal_next(&e, w, at, dir, -1);
			met += best.module >= 0;
			/* a corner is met or missed within rounding */
			if (e.module != best.module && best.module >= 0 && best.out - best.in < 1e-2f)
				continue;
			assert_int_equal(e.module, best.module);
		}
		assert_true(met > rays / 4000);
		iso_crystal_scan_free(&scan);
		free_case(&s);
	}
}

/* Deposits, what stays elsewhere and what leaves add up to what was emitted. */
static void energy(void **state)
{
	const int decays = sized(100000, 5000);
	struct iso_crystal_scan scan;
	struct setup s;
	double worst = 0;

	(void)state;
	open_named(&s, "ring_nema");
	s.m.cover = 1;
	s.m.cover_of = (struct modules_matter){ "Al", 2.7 };
	s.m.gap = (struct modules_matter){ "BaSO4", 1 };
	s.prompt_kev = 602.7;
	open_scan(&scan, &s, ctx, 23);
	for (int i = 0; i < decays; i++) {
		struct crystal_photon p[3];
		struct crystal_trace t;
		double sum = 0, emitted = 0;
		int n = crystal_decay(&t, p, &scan.device, (uint64_t)i, false);

		for (int k = 0; k < n; k++) emitted += (double)p[k].kev;
		for (int k = 0; k < t.n; k++) sum += (double)t.d[k].kev;
		sum += (double)t.object_kev + (double)t.passive_kev + (double)t.left_kev;
		worst = larger(worst, fabs(sum - emitted));
	}
	print_message("energy is kept to %.2g keV\n", worst);
	assert_true(worst < 1e-3);
	iso_crystal_scan_free(&scan);
	free_case(&s);
}

/* P(interacts) by chords in integration over directions: spec's figures. */
static void chords(void **state)
{
	static const struct {
		double at[3], met, interacts;
	} points[] = { { { 0, 0, 0 }, .23207, .17919 },
		       { { 150, 0, 60 }, .25523, .19598 },
		       { { 150, 0, 0 }, .2646, .2017 } };
	const double n = sized(400000, 10000);

	(void)state;
	for (int k = 0; k < N_OF(points); k++) {
		struct setup s;
		struct tally t;

		open_named(&s, "ring_point");
		memcpy(s.at, points[k].at, sizeof s.at);
		run_case(&t, &s, n);
		double p = t.count[CRYSTAL_INTERACTED] / (2 * n), q = t.count[CRYSTAL_MET] / (2 * n);

		assert_true(fabs(p - points[k].interacts) < 4 * sqrt(p * (1 - p) / n) + .001 * p);
		assert_true(fabs(q - points[k].met) < 4 * sqrt(q * (1 - q) / n) + .001 * q);
		free_case(&s);
	}
}

/* Beam (0, 0): through a cover, and with gaps of the crystal's own matter. */
static void covers(void **state)
{
	const double n = sized(200000, 10000);
	struct setup s;
	struct tally t;

	(void)state;
	open_named(&s, "beam_0_0");
	run_case(&t, &s, n);
	double p = t.count[CRYSTAL_INTERACTED] / n;

	assert_true(fabs(p - .79933) < 4 * sqrt(p * (1 - p) / n));
	s.m.gap = s.m.material;
	run_case(&t, &s, n);
	p = t.count[CRYSTAL_INTERACTED] / n;
	assert_true(fabs(p - .82386) < 4 * sqrt(p * (1 - p) / n));
	s.m.gap = (struct modules_matter){ 0 };
	s.m.cover = 1;
	s.m.cover_of = (struct modules_matter){ "Al", 2.7 };

	struct iso_crystal_scan scan;
	double through = 0;

	open_scan(&scan, &s, ctx, 4);
	for (int i = 0; i < n; i++) {
		struct crystal_photon q[3];
		struct crystal_trace k;

		crystal_decay(&k, q, &scan.device, (uint64_t)i, false);
		through += k.first_depth >= 0;
	}
	iso_crystal_scan_free(&scan);
	/* first_depth is below 0 where the cover was first: it lies before the crystals */
	p = through / n;
	assert_true(fabs(p - .78147) < 4 * sqrt(p * (1 - p) / n));
	free_case(&s);
}

/* Two layers read as one module count as one layer does. */
static void layers(void **state)
{
	const double n = sized(200000, 10000);
	double in[2];

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct setup s;
		struct tally t;

		open_named(&s, "beam_30_20");
		s.m.layers = 1 + k;
		s.m.stride_t *= s.m.layers;
		s.m.stride_z *= s.m.layers;
		s.m.stride_module *= s.m.layers;
		run_case(&t, &s, n);
		in[k] = t.in_window / n;
		free_case(&s);
	}
	assert_true(fabs(in[0] - in[1]) < 1e-9 + 4 * sqrt(in[0] * (1 - in[0]) * 2 / n));
}

static struct crystal_event *events_of(int64_t *found, int64_t *count, iso_ctx *on, const char *name,
                                       int64_t n, bool lazy)
{
	struct iso_crystal_scan scan;
	struct crystal_event *e = calloc((size_t)n, sizeof *e);
	struct setup s;

	assert_non_null(e);
	open_named(&s, name);
	open_scan(&scan, &s, on, 99);
	if (lazy && !s.is_beam) iso_crystal_scan_lazy(&scan, &s.m);
	memset(count, 0, CRYSTAL_COUNTS * sizeof *count);
	OK(iso_crystal_scan_events(e, found, count, &scan, 1000, n));
	iso_crystal_scan_free(&scan);
	free_case(&s);
	return e;
}

static void same(iso_ctx *other, int64_t n, bool lazy)
{
	static const char *const name[] = { "ring_nema", "ring_prompt", "strips_line", "panel_crystal",
		                            "beam_30_20" };

	for (int k = 0; k < N_OF(name); k++) {
		int64_t found[2], count[2][CRYSTAL_COUNTS];
		struct crystal_event *a = events_of(found, count[0], ctx, name[k], n, lazy);
		struct crystal_event *b = events_of(found + 1, count[1], other, name[k], n, lazy);

		assert_int_equal(found[0], found[1]);
		assert_memory_equal(count[0], count[1], sizeof count[0]);
		assert_memory_equal(a, b, (size_t)found[0] * sizeof *a);
		free(a);
		free(b);
	}
}

static void threads(void **state)
{
	iso_ctx *other = NULL;

	(void)state;
	OK(iso_ctx_create(&other, "cpu", 7));
	same(other, sized(50000, 5000), false);
	iso_ctx_free(other);
}

static void cuda_same(void **state)
{
	iso_ctx *other = cuda_or_skip();

	(void)state;
	if (!other) return;
	same(other, 1 << 20, false);
	same(other, 1 << 20, true);
	iso_ctx_free(other);
}

/* Decays a second, on demand: ISO_CRYSTAL_SPEED names how many decays. */
static void speed(void **state)
{
	static const char *const name[] = { "ring_line", "ring_nema", "panel_module", "strips_line" };
	const char *many = getenv("ISO_CRYSTAL_SPEED");
	const int64_t n = many ? (int64_t)atof(many) : 0;

	(void)state;
	for (int k = 0; k < 2 * N_OF(name) && n > 0; k++) {
		int64_t count[CRYSTAL_COUNTS] = { 0 }, found, events = 0;
		struct crystal_event *e = calloc(CRYSTAL_PIECE, sizeof *e);
		struct iso_crystal_scan scan;
		struct setup s;

		assert_non_null(e);
		open_named(&s, name[k / 2]);
		open_scan(&scan, &s, ctx, 1);
		if (k % 2) iso_crystal_scan_lazy(&scan, &s.m);
		OK(iso_crystal_scan_events(e, &found, count, &scan, 0,
		                           n < CRYSTAL_PIECE ? n : CRYSTAL_PIECE));
		double began = iso_now_s();

		for (int64_t first = 0; first < n; first += CRYSTAL_PIECE, events += found)
			OK(iso_crystal_scan_events(e, &found, count, &scan, (uint64_t)first,
			                           n - first < CRYSTAL_PIECE ? n - first : CRYSTAL_PIECE));
		printf("speed: %-14s %-10s %.4g decays/s, %.3g events\n", name[k / 2],
		       k % 2 ? "pairs only" : "all", (double)n / (iso_now_s() - began), (double)events);
		iso_crystal_scan_free(&scan);
		free_case(&s);
		free(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases),   cmocka_unit_test(search),    cmocka_unit_test(energy),
		cmocka_unit_test(chords),  cmocka_unit_test(covers),    cmocka_unit_test(layers),
		cmocka_unit_test(threads), cmocka_unit_test(cuda_same), cmocka_unit_test(speed),
	};
	const char *device = getenv("ISO_CRYSTAL_DEVICE");

	if (getenv("ISO_CRYSTAL_TEST")) cmocka_set_test_filter(getenv("ISO_CRYSTAL_TEST"));
	if (iso_ctx_create(&ctx, device ? device : "cpu", 0) != ISO_OK) return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	iso_ctx_free(ctx);
	return failed;
}
