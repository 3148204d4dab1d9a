/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray of an object that moves: its parameters, the tables that they name, and events in the object's axes. */
#include "model_ray.h"

#include "core/size.h"
#include "file/npy.h"
#include "io/events.h"
#include "motion/pose.h"
#include "problem/inputs.h"
#include "scanner/scanner.h"

#include <math.h>
#include <string.h>

#define SAME 1e-6 /* every element of a pose, mm: nearer to the identity than this is the identity */
#define FAR 1e9   /* mm: no piece is cut */
#define ORTHONORMAL 1e-3

enum {
	PIECE = 1 << 20, /* events at a time */
};

static const char *const rules[] = { "linear", "step", NULL };

/* ---- parameters ---- */

void ray_motion_params(struct opt *table, struct ray_motion *m)
{
	const struct opt own[RAY_MOTION_PARAMS] = {
		{ 0, "poses", .text = &m->poses, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "where the object is at each time (.csv, .npy, or YRT-PET's motion .csv); "
		          "every event is moved with the object, and the sensitivity is that of all "
		          "poses. The image shows the object where its pose is the identity" },
		{ 0, "poses-rule", .text = &m->rule, .words = rules, .with = "poses", .value = "RULE",
		  .absent = "the file's",
		  .help = "linear: poses are interpolated between rows; step: a row holds until the "
		          "next" },
		{ 0, "poses-inverse", .flag = &m->inverse, .with = "poses",
		  .help = "the rows map the scanner to the object, as those of YRT-PET do" },
		{ 0, "poses-axes", .text = &m->axes, .file = OPT_READS, .with = "poses", .value = "FILE",
		  .help = "3 x 4 matrix C from the tracker's axes to the scanner's, x_scanner = C "
		          "x_tracker; a pose P becomes C P C^-1" },
		{ 0, "reference", .text = &m->reference, .file = OPT_READS, .with = "poses",
		  .value = "S|mean|FILE", .or_word = "mean", .or_number = true,
		  .help = "the pose that is to be the identity: the pose at this time in s, the mean "
		          "pose of the scan, or a table of one row. The image and 'mu' show the object "
		          "as it lay then" },
		{ 0, "bed", .text = &m->bed, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "where the bed is at each time: a table as 'poses', or one of time_s and z_mm" },
		{ 0, "bed-inverse", .flag = &m->bed_inverse,
		  .help = "the rows of 'bed', or the bed's transforms in the events' file, map the scanner "
		          "to the bed" },
		{ 0, "gantry", .text = &m->gantry, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE",
		  .help = "where the crystals are at each time: a table as 'poses', or one of time_s "
		          "and angle_deg around z" },
		{ 0, "mu-fixed", .text = &m->mu_fixed, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE",
		  .help = "attenuation map of what stays with the scanner, such as coils, 1/mm" },
		{ 0, "mu-bed", .text = &m->mu_bed, .file = OPT_READS, .takes = ISO_TAKES_ARRAY,
		  .value = "FILE", .help = "attenuation map of what moves with the bed, 1/mm" },
		{ 0, "sens-error", .real = &m->sens_error, .value = "F", .min = 1e-5, .max = 10,
		  .help = "wanted relative error of a voxel of the sensitivity, where each crystal pair "
		          "is taken at some of the poses" },
		{ 0, "sens-budget", .integer = &m->sens_budget, .value = "N", .min = 0, .max = 1e15,
		  .absent = "2e8 (CPU) or 3e9 (CUDA)",
		  .help = "the sensitivity takes all crystal pairs at all poses if these are at most N "
		          "lines; 0: never" },
		{ 0, "event-times", .text = &m->event_times, .file = OPT_READS, .value = "FILE.npy",
		  .help = "time of each event, for formats that have no times: integers in ms, or "
		          "floating point numbers in s" },
	};

	*m = (struct ray_motion){ .sens_error = .005, .sens_budget = -1, .mean = 1, .mean_randoms = 1 };
	memcpy(table, own, sizeof own);
}

/* ---- tables ---- */

static const char *path_of(const struct ray_motion *m, enum iso_pose_kind kind)
{
	return kind == ISO_POSES_OBJECT ? m->poses : kind == ISO_POSES_BED ? m->bed : m->gantry;
}

static int read_axes(struct iso_pose *c, const char *path)
{
	double *v = NULL;
	int64_t rows;
	int st = iso_table_read(&v, &rows, 4, path);

	if (!st && rows != 3)
		st = iso_refuse(path, "%" PRId64 " rows of 4 values, expected 3: a matrix (R | T)", rows);
	if (!st) memcpy(c->m, v, sizeof c->m);
	free(v);
	if (st) return st;
	if (pose_skew(c) > ORTHONORMAL || pose_determinant(c) < 0)
		return iso_refuse(path, "is not a rotation with a translation: %s",
		                  pose_determinant(c) < 0 ? "a reflection" : "R^t R differs from 1");
	return ISO_OK;
}

static struct iso_poses_options options_of(const struct ray_motion *m, enum iso_pose_kind kind)
{
	struct iso_poses_options o = { .size = sizeof o, .kind = kind };

	if (kind == ISO_POSES_BED) o.inverse = m->bed_inverse;
	if (kind != ISO_POSES_OBJECT) return o;
	o.inverse = m->inverse;
	o.axes = m->axes ? &m->tracker : NULL;
	o.rule = m->rule ? ISO_POSE_LINEAR + opt_place(rules, m->rule) : ISO_POSE_OF_FILE;
	return o;
}

static const char *const movers[] = { "object", "bed", "gantry" };

/* What the events' file has of its own, where 'bed' and 'gantry' do not say. */
static int tables_of_file(struct ray_problem *ray)
{
	struct ray_motion *m = &ray->motion;
	iso_event_file *f = NULL;
	int st = ray->events ? ray_file(ray, &f, false) : ISO_OK;

	for (int kind = ISO_POSES_BED; kind <= ISO_POSES_GANTRY && f && !st; kind++) {
		struct iso_poses_options o = options_of(m, kind);
		iso_poses *table = NULL;

		if ((st = iso_event_file_poses(&table, f, &o)) || !table) continue;
		if (m->table[kind]) {
			record_warn(ray->p->record,
			            "%s: the movement of its %s is not used: '%s' takes its place",
			            ray->events, movers[kind], movers[kind]);
			iso_poses_free(table);
			continue;
		}
		m->table[kind] = table;
		m->of_file = true;
		record_warn(ray->p->record, "%s: its %s moves: its transforms are taken as where the %s is%s",
		            ray->events, movers[kind], movers[kind],
		            kind == ISO_POSES_GANTRY ? ""
		            : m->bed_inverse         ? ", turned round by 'bed-inverse'"
		                                     : "; 'bed-inverse' takes them the other way");
	}
	if (!st && m->bed_inverse && !m->table[ISO_POSES_BED])
		st = iso_fail(ISO_EARG,
		              "'bed-inverse' needs 'bed', or events whose file has a bed that moves");
	return st;
}

int ray_motion_tables(struct ray_problem *ray)
{
	struct ray_motion *m = &ray->motion;
	int st = m->axes ? read_axes(&m->tracker, m->axes) : ISO_OK;

	if (!st && m->axes) st = record_input(ray->p->record, m->axes);
	for (int kind = ISO_POSES_OBJECT; kind <= ISO_POSES_GANTRY && !st; kind++) {
		const char *path = path_of(m, kind);
		struct iso_poses_options o = options_of(m, kind);

		if (path) st = input_poses(&m->table[kind], ray->p->record, path, &o);
	}
	if (!st) st = tables_of_file(ray);
	if (!st && m->table[0]) m->rows = iso_poses_rows(m->table[0]);
	return st;
}

/* Of a bed, the range of z in its table. */
void ray_motion_lengthen(const struct ray_problem *ray, struct iso_grid *g)
{
	const iso_poses *bed = ray->motion.table[ISO_POSES_BED];
	double low = INFINITY, high = -INFINITY;
	struct iso_pose at;

	for (int64_t k = 0; bed && k < iso_poses_rows(bed); k++)
		if (iso_poses_row(&at, bed, k)) {
			low = fmin(low, at.m[11]);
			high = fmax(high, at.m[11]);
		}
	if (!(high >= low)) return;
	if (!problem_given(ray->p, "grid")) g->n[2] += (int64_t)ceil((high - low) / g->voxel[2] - 1e-9);
	g->centre[2] -= .5 * (low + high); /* x_object = x_scanner - z of the bed */
}

/* ---- times ---- */

/* Times n of `path` into t, this rank's by their numbers. */
static int read_times(struct ray_problem *ray, uint32_t *t, struct iso_in *in, const struct iso_npy *h)
{
	const char *path = ray->motion.event_times;
	unsigned char *raw = size_alloc(h->bytes, 1);
	bool seconds = h->element.kind == 'f';
	int st = raw ? iso_in_read(in, raw, h->bytes) : iso_fail_memory("times of events", h->bytes);

	for (int64_t j = 0; j < ray->e.n && !st; j++) {
		int64_t i = ray->in_file ? ray->in_file[j] : j;
		double v = iso_element_get(raw + i * h->element.size, h->element);
		double ms = seconds ? round(1e3 * v) : v;

		if (!(ms >= 0 && ms <= UINT32_MAX))
			st = iso_refuse(path, "time %" PRId64 " is %g %s, must be 0 to %.0f s", i, v,
			                seconds ? "s" : "ms", 1e-3 * UINT32_MAX);
		else
			t[j] = (uint32_t)ms;
	}
	free(raw);
	return st;
}

int ray_motion_times(struct ray_problem *ray)
{
	const char *path = ray->motion.event_times;
	struct iso_npy h;
	struct iso_in in;
	int st;

	if (!path) return ISO_OK;
	if (ray->e.time_ms)
		return iso_fail(ISO_EARG, "'event-times' is given, but %s holds the times of its events",
		                ray->events);
	if (ray->disk)
		return iso_fail(ISO_EARG, "'event-times' needs the events in memory: they can't be streamed");
	if ((st = iso_npy_open(&h, &in, path, false))) return st;
	int64_t n = h.bytes / h.element.size;

	if (n != ray->n)
		st = iso_refuse(path, "%" PRId64 " times, expected one per event (%" PRId64 ")", n, ray->n);
	if (!st && !ray->dry) {
		if (!(ray->e.time_ms = malloc((size_t)(ray->e.n + 1) * sizeof *ray->e.time_ms)))
			st = iso_fail_memory("times of events", ray->e.n * (int64_t)sizeof *ray->e.time_ms);
		else
			st = read_times(ray, ray->e.time_ms, &in, &h);
	}
	iso_in_close(&in);
	return st ? st : record_input(ray->p->record, path);
}

/* Another clock of the tracker shows here; of all ranks. */
static int check_times(struct ray_problem *ray)
{
	const iso_poses *p = ray->motion.table[ISO_POSES_OBJECT];
	uint32_t first = UINT32_MAX;
	int st = ISO_OK;

	if (!p || ray->disk || ray->dry || !ray->e.time_ms || ray->n < 1) return ISO_OK;
	int64_t outside = iso_poses_outside(p, ray->e.time_ms, ray->e.n);

	for (int64_t j = 0; j < ray->e.n; j++) first = ray->e.time_ms[j] < first ? ray->e.time_ms[j] : first;
	double earliest = -(double)first;

	if (ray->dealt) {
		st = iso_comm_sum(ray->p->ctx, ISO_OK, &outside, 1);
		st = iso_comm_max(ray->p->ctx, st, &earliest, 1);
	}
	if (st || (st = iso_poses_reaches(p, -1e-3 * earliest))) return st;
	if (outside > 0)
		record_warn(ray->p->record,
		            "%s: %" PRId64 " of %" PRId64
		            " events lie outside of its times; the first and the last pose hold there",
		            ray->motion.poses, outside, ray->n);
	return ISO_OK;
}

/* ---- the motion ---- */

static bool anything_given(const struct ray_motion *m)
{
	return m->poses || m->bed || m->gantry || m->of_file;
}

static double least_voxel(const struct iso_grid *g)
{
	return fmin(g->voxel[0], fmin(g->voxel[1], g->voxel[2]));
}

static int make_motion(iso_motion **m, const struct ray_motion *of, bool poses, bool bed)
{
	struct iso_motion_parts parts = { .size = sizeof parts, .gantry = of->table[ISO_POSES_GANTRY] };

	if (poses) parts.poses = of->table[ISO_POSES_OBJECT];
	if (bed) parts.bed = of->table[ISO_POSES_BED];
	if (poses && of->refers && parts.poses) parts.reference = &of->to_object;
	return parts.poses || parts.bed || parts.gantry ? iso_motion_create(m, &parts) : ISO_OK;
}

static int find_reference(struct ray_problem *ray)
{
	struct ray_motion *m = &ray->motion;
	bool mean = m->reference && strcmp(m->reference, "mean") == 0;
	struct iso_poses_options o = options_of(m, ISO_POSES_OBJECT);
	double time_s;

	if (!m->reference || !m->table[ISO_POSES_OBJECT]) return ISO_OK;
	m->refers = true;
	if (mean && !(m->duration_s > 0))
		return iso_fail(ISO_EARG,
		                "'reference' mean needs the duration of the scan: give 'duration-s'");
	int st = iso_poses_reference(&m->to_object, m->table[ISO_POSES_OBJECT], m->reference, &o, 0,
	                             m->duration_s, &ray->grid, .25 * least_voxel(&ray->grid));

	if (st || mean || iso_number(&time_s, m->reference, strlen(m->reference))) return st;
	return record_input(ray->p->record, m->reference);
}

/* Whether all rows are the identity: then nothing moves. */
static bool at_rest(const iso_poses *t, const struct iso_pose *reference)
{
	struct iso_pose back = reference ? iso_pose_inverse(*reference) : iso_pose_identity(), at;

	for (int64_t k = 0; k < iso_poses_rows(t); k++) {
		if (!iso_poses_row(&at, t, k)) return false;
		at = iso_pose_multiply(at, back);
		for (int i = 0; i < 12; i++)
			if (!(fabs(at.m[i] - (i % 5 == 0)) <= SAME)) return false;
	}
	return true;
}

static void forget_still(struct ray_motion *m)
{
	for (int kind = 0; kind < 3; kind++)
		if (m->table[kind] &&
		    at_rest(m->table[kind], kind == ISO_POSES_OBJECT && m->refers ? &m->to_object : NULL)) {
			iso_poses_free(m->table[kind]);
			m->table[kind] = NULL;
		}
}

static int refuse(const struct ray_problem *ray, int need)
{
	const struct ray_motion *m = &ray->motion;
	const char *name = m->poses ? "poses" : m->bed || !m->gantry ? "bed" : "gantry";

	if (ray->precorrected && (m->mu_fixed || m->mu_bed))
		return iso_fail(ISO_EARG, "'precorrected' can't be used with 'mu-fixed' and 'mu-bed'");
	if (m->mu_fixed || m->mu_bed)
		name = anything_given(m) ? name : m->mu_fixed ? "mu-fixed" : "mu-bed";
	else if (!anything_given(m))
		return ISO_OK;
	if (ray->scatter.save)
		return iso_fail(ISO_EARG, "'scatter-save' writes one table: it can't be used with '%s'",
		                name);
	if (ray->scatter.extend) return iso_fail(ISO_EARG, "'scatter-extend' can't be used with '%s'", name);
	if (ray->e.count || ray->e.lists_all)
		return iso_fail(ISO_EINPUT, "%s: a histogram has no times; '%s' needs list-mode events",
		                ray->events, name);
	if (!anything_given(m)) return ISO_OK;
	if (ray->lines > 1 && ray->disk && iso_ctx_is_cuda(ray->p->ctx))
		return iso_fail(
			ISO_EARG,
			"'rays' is %" PRId64
			", which with '%s' needs the events in memory: they can't be streamed to a GPU",
			ray->lines, name);
	if (need & MODEL_NEEDS_DATA && !ray->e.time_ms && !(ray->dry && m->event_times))
		return iso_fail(
			ISO_EINPUT,
			"%s: holds no times of its events, which '%s' needs; give 'event-times', or CASToR "
			"list mode",
			ray->events, name);
	return ISO_OK;
}

/* The factors of the file hold the attenuation of lines that did not move. */
static int refuse_factors(struct ray_problem *ray, int need)
{
	if (need & MODEL_NEEDS_SENS && ray->motion.all && ray_attenuated_by_file(ray))
		return iso_fail(
			ISO_EINPUT,
			"%s: its factors per event hold the attenuation, which moves; give 'mu' and 'norm', "
			"or 'sens'",
			ray->events);
	return ISO_OK;
}

static double duration_of(struct ray_problem *ray)
{
	iso_event_file *f = NULL;

	if (ray->e.duration_s > 0) return ray->e.duration_s;
	if (ray->duration_s > 0) return ray->duration_s;
	if (ray_file(ray, &f, false) || !f) return 0;
	return iso_event_file_info(f)->duration_s;
}

/* A map that lies in the object's axes, or where nothing moves in any, takes the place of 'mu', if that is not given. */
static void take_maps(struct ray_problem *ray)
{
	struct ray_motion *m = &ray->motion;

	if (!ray->mu && m->mu_fixed && !m->all) {
		ray->mu = m->mu_fixed;
		m->mu_fixed = NULL;
	}
	if (!ray->mu && m->mu_bed && !m->table[ISO_POSES_OBJECT]) {
		ray->mu = m->mu_bed;
		m->mu_bed = NULL;
	}
}

/* FNV-1a, of tables after reference and axes: a sensitivity that was made with others is told of. */
static uint64_t hash_bytes(uint64_t h, const void *v, size_t n)
{
	for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)v)[i]) * 1099511628211u;
	return h;
}

static uint64_t hash_tables(const struct ray_motion *m)
{
	uint64_t h = 14695981039346656037u;
	struct iso_pose back = m->refers ? iso_pose_inverse(m->to_object) : iso_pose_identity();

	for (int kind = 0; kind < 3; kind++)
		for (int64_t k = 0; m->table[kind] && k < iso_poses_rows(m->table[kind]); k++) {
			double time_s = iso_poses_time(m->table[kind], k);
			struct iso_pose at = { { 0 } };

			if (iso_poses_row(&at, m->table[kind], k) && kind == ISO_POSES_OBJECT)
				at = iso_pose_multiply(at, back);
			h = hash_bytes(hash_bytes(h, &time_s, sizeof time_s), &at, sizeof at);
		}
	return h;
}

static int tell(struct ray_problem *ray)
{
	struct ray_motion *m = &ray->motion;
	const iso_poses *p = m->table[ISO_POSES_OBJECT];
	char hash[20];
	json_t *o = record_pack("{s:b, s:I}", "moves", (int)(m->all != NULL), "rows", (json_int_t)m->rows);

	snprintf(hash, sizeof hash, "%016" PRIx64, hash_tables(m));
	if (m->all) json_object_set_new(o, "hash", json_string(hash));
	if (p)
		json_object_set_new(o, "rule",
		                    json_string(iso_poses_rule(p) == ISO_POSE_STEP ? "step" : "linear"));
	if (m->refers) {
		json_t *pose = record_reals(12, m->to_object.m);

		json_object_set_new(o, "reference", pose);
	}
	return record_result(ray->p->record, "motion", o);
}

/* The sensitivity needs the end of the scan, and each frame of a series some time in which the pose is known: found before
   the first is reconstructed. */
static int check_frames(struct ray_problem *ray)
{
	const struct frames *f = &ray->p->s.frames;
	int st = ISO_OK;

	if (!(ray->motion.duration_s > 0) && !(f->edge_s && isfinite(f->edge_s[f->n])))
		return iso_fail(ISO_EARG,
		                "the sensitivity of an object that moves needs the duration of the scan: "
		                "give 'duration-s'");
	for (int k = 0; f->list && f->edge_s && k < f->n && !st; k++) {
		struct iso_motion_span span = {
			.size = sizeof span, .from_s = f->edge_s[k], .to_s = f->edge_s[k + 1], .live = 1
		};
		struct iso_piece *piece = NULL;
		int64_t n = 0;

		st = iso_motion_pieces(&piece, &n, ray->motion.all, &span, &ray->grid, FAR);
		free(piece);
		if (!st && n == 0)
			st = iso_fail(ISO_EINPUT,
			              "frame %d, from %g to %g s: the pose is not known at any of its times",
			              k + 1, span.from_s, span.to_s);
	}
	return st;
}

int ray_motion_begin(struct ray_problem *ray, int need)
{
	struct ray_motion *m = &ray->motion;
	int st;

	if (!anything_given(m) && !m->mu_fixed && !m->mu_bed) return ISO_OK;
	m->duration_s = duration_of(ray);
	if ((st = refuse(ray, need)) || (st = find_reference(ray)) || (st = check_times(ray))) return st;
	forget_still(m);
	if ((st = make_motion(&m->all, m, true, true)) ||
	    (m->mu_fixed && (st = make_motion(&m->beside[0].motion, m, false, false))) ||
	    (m->mu_bed && (st = make_motion(&m->beside[1].motion, m, false, true))))
		return st;
	take_maps(ray);
	if ((st = refuse_factors(ray, need)) || (st = tell(ray))) return st;
	if (m->all && need & MODEL_NEEDS_SENS && (st = check_frames(ray))) return st;
	if (!(need & MODEL_NEEDS_DATA) || ray->disk || ray->dry || !m->all) return ISO_OK;
	m->moved = true;
	if ((st = ray_motion_move(ray, &ray->e, &m->unknown))) return st;
	ray->now.n_bad = ray->e.n_bad;
	if (ray_fielded(ray)) { /* `now` is a copy */
		const struct model_frame f = ray->frame;

		if ((st = ray_select(ray->p, &f))) return st;
	}
	return ray_motion_tell_unknown(ray);
}

int ray_motion_tell_unknown(struct ray_problem *ray)
{
	struct ray_motion *m = &ray->motion;
	int64_t n[2] = { m->unknown, ray->disk || !ray->dealt ? ray->n : ray->e.n };
	int st = ISO_OK;

	if (!m->all) return ISO_OK;
	if (iso_ranks(ray->p->ctx) > 1) st = iso_comm_sum(ray->p->ctx, ISO_OK, n, 1);
	if (st) return st;
	if (n[0] > 0)
		record_tell(ray->p->record, ISO_NEWS,
		            "%" PRId64 " of %" PRId64 " events are left out: their pose is not known", n[0],
		            ray->n);
	return record_result(ray->p->record, "events_of_unknown_pose", json_integer(n[0]));
}

void ray_motion_end(struct ray_problem *ray)
{
	struct ray_motion *m = &ray->motion;

	iso_motion_free(m->all);
	for (int b = 0; b < 2; b++) {
		iso_motion_free(m->beside[b].motion);
		iso_array_free(&m->beside[b].mu);
	}
	for (int kind = 0; kind < 3; kind++) iso_poses_free(m->table[kind]);
}

/* ---- events ---- */

int ray_motion_move(struct ray_problem *ray, struct iso_events *e, int64_t *unknown)
{
	int64_t n = 0;
	int st = ISO_OK;

	if (!ray->motion.all) return ISO_OK;
	for (int64_t first = 0; first < e->n && !st; first += PIECE) {
		int64_t m = e->n - first < PIECE ? e->n - first : PIECE, left = 0;

		st = iso_motion_events(&left, ray->p->ctx, ray->motion.all, e->v + first, e->time_ms + first,
		                       m);
		n += left;
	}
	*unknown += n;
	if (st) return st;
	e->n_bad = 0;
	for (int64_t j = 0; j < e->n; j++) e->n_bad += iso_event_bad(e->v + j);
	return ISO_OK;
}

void ray_motion_crystals(double p1[3], double p2[3], const struct ray_problem *ray,
                         const struct iso_events *e, int64_t j)
{
	struct iso_pose z;

	for (int a = 0; a < 3; a++) {
		p1[a] = e->v[j].p1[a];
		p2[a] = e->v[j].p2[a];
	}
	if (!ray->motion.all || !iso_motion_at(&z, ray->motion.all, 1e-3 * e->time_ms[j])) return;
	double q1[3], q2[3];

	memcpy(q1, p1, sizeof q1);
	memcpy(q2, p2, sizeof q2);
	iso_pose_apply(p1, &z, q1);
	iso_pose_apply(p2, &z, q2);
}

/* ---- decay: pose and time go together ---- */

void ray_motion_select(struct ray_problem *ray)
{
	struct ray_motion *m = &ray->motion;
	const struct model_frame *f = &ray->frame;
	double end = f->to_s;

	m->decay = 0;
	m->mean = m->mean_randoms = 1;
	if (!m->all || !(f->half_life_s > 0)) return;
	if (m->duration_s > f->from_s) end = fmin(end, m->duration_s);
	m->decay = log(2) / f->half_life_s;
	m->mean = iso_decay_mean(f->half_life_s, f->from_s, end);
	m->mean_randoms = iso_decay_mean(f->half_life_s / 2, f->from_s, end);
	if (f->gate == 0) return;
	m->mean = ray->gates.part[f->gate - 1].mean;
	m->mean_randoms = ray->gates.part[f->gate - 1].mean_randoms;
}

double ray_motion_decay(const struct ray_problem *ray, const struct iso_events *e, int64_t j)
{
	const struct ray_motion *m = &ray->motion;

	return m->decay > 0 ? exp(-m->decay * 1e-3 * e->time_ms[j]) / m->mean : 1;
}

double ray_motion_decay_randoms(const struct ray_problem *ray, const struct iso_events *e, int64_t j)
{
	const struct ray_motion *m = &ray->motion;

	return m->decay > 0 ? exp(-2 * m->decay * 1e-3 * e->time_ms[j]) / m->mean_randoms : 1;
}

/* ---- maps that stay ---- */

int ray_motion_maps(struct ray_problem *ray)
{
	struct ray_motion *m = &ray->motion;
	const char *const path[2] = { m->mu_fixed, m->mu_bed };
	int st = ISO_OK;

	for (int b = 0; b < 2 && !st; b++)
		if (path[b]) st = record_read_mu(ray->p->record, &m->beside[b].mu, path[b], &ray->grid);
	return st;
}

bool ray_motion_attenuates(const struct ray_problem *ray)
{
	return ray->motion.beside[0].mu.n > 0 || ray->motion.beside[1].mu.n > 0;
}

/* Events first ... first + n - 1 into the axes of a map. */
static void into_axes(struct iso_event *v, const struct ray_problem *ray, const struct iso_events *e,
                      int64_t first, int64_t n, const iso_motion *to)
{
#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx))
	for (int64_t i = 0; i < n; i++) {
		double p1[3], p2[3], q1[3], q2[3];
		struct iso_pose z;

		v[i] = e->v[first + i];
		if (iso_event_bad(v + i)) continue;
		ray_motion_crystals(q1, q2, ray, e, first + i);
		memcpy(p1, q1, sizeof p1);
		memcpy(p2, q2, sizeof p2);
		if (to && iso_motion_at(&z, to, 1e-3 * e->time_ms[first + i])) {
			z = iso_pose_inverse(z);
			iso_pose_apply(p1, &z, q1);
			iso_pose_apply(p2, &z, q2);
		}
		for (int a = 0; a < 3; a++) {
			v[i].p1[a] = (float)p1[a];
			v[i].p2[a] = (float)p2[a];
		}
	}
}

/* Ranks with fewer pieces than others join in with empty ones: the device's integrals are of each rank by itself. */
int ray_motion_attenuate(struct ray_problem *ray, iso_real *alpha, const struct iso_events *e)
{
	int64_t most = e->n < PIECE ? e->n : PIECE;
	struct iso_event *v = size_alloc(most + 1, sizeof *v);
	iso_real *one = size_alloc(most + 1, sizeof *one);
	int st = v && one ? ISO_OK : iso_fail_memory("attenuation", most * (int64_t)sizeof *v);

	for (int b = 0; b < 2; b++) {
		struct ray_beside *beside = &ray->motion.beside[b];

		for (int64_t first = 0; first < e->n && beside->mu.n > 0 && !st; first += PIECE) {
			int64_t n = e->n - first < PIECE ? e->n - first : PIECE;
			struct iso_events part = { .n = n, .v = v };

			into_axes(v, ray, e, first, n, beside->motion);
			st = iso_ray_attenuation(one, ray->p->ctx, &beside->mu, &part);
			for (int64_t i = 0; i < n && !st; i++) alpha[first + i] *= one[i];
		}
	}
	free(v);
	free(one);
	return st;
}
