/* SPDX-License-Identifier: BSD-3-Clause */
/* Gates of model ray: a table of times, or a number an event. */
#include "model_ray.h"

#include "core/size.h"
#include "file/suffix.h"

#include <math.h>

void ray_gates_params(struct opt *table, struct ray_gates *g)
{
	const struct opt own[RAY_GATES_PARAMS] = {
		{ 0, "gates", .text = &g->file, .file = OPT_READS, .takes = ISO_TAKES_ARRAY, .value = "FILE",
		  .help = "which state of its breathing or heartbeat the object was in: a table of times "
		          "(.csv, from isotome gate), or an .npy of one whole number an event, -1 for "
		          "none. The result is a 4-D image with one image per gate" },
		{ 0, "gate-shares", .text = &g->shares, .value = "F,F,...",
		  .help = "share of the time of each gate, if 'gates' has a number an event, or 'events' "
		          "names a histogram for each gate" },
	};

	*g = (struct ray_gates){ 0 };
	memcpy(table, own, sizeof own);
}

bool ray_gated(const struct ray_problem *ray)
{
	return ray->gates.is.n > 0;
}

/* ---- which gates there are ---- */

static bool by_event(const iso_problem *p, const char *path)
{
	return record_given(p->record, path)->array.v || iso_has_suffix(path, ".npy");
}

static int read_gating(const iso_problem *problem, struct gating *g)
{
	const struct ray_gates *own = &((const struct ray_problem *)problem->self)->gates;

	if (own->files) return gating_shares(g, own->shares);
	if (!by_event(problem, own->file)) {
		if (own->shares)
			return iso_fail(
				ISO_EARG,
				"'gate-shares' is for gates of each event; %s has the times of its gates",
				own->file);
		int st = iso_gates_read(&g->table, own->file);

		if (!st) g->n = iso_gates_count(g->table);
		return st;
	}
	if (!own->shares)
		return iso_fail(ISO_EARG,
		                "%s has a gate for each event: 'gate-shares' must say the share of "
		                "the time of each gate",
		                own->file);
	return gating_shares(g, own->shares);
}

int ray_gating(const iso_problem *problem, struct gating *g)
{
	const struct ray_gates *own = &((const struct ray_problem *)problem->self)->gates;

	return own->file && !own->fields ? read_gating(problem, g) : ISO_OK;
}

int ray_gates_begin(struct ray_problem *ray)
{
	struct ray_gates *g = &ray->gates;
	int st;

	if ((st = ray_gate_files_check(ray))) return st;
	if (!g->file && !g->files) return ISO_OK;
	if (g->fields && ray->p->s.frames.series)
		return iso_fail(ISO_EARG, "'frames' and 'fields' exclude each other");
	if (!g->fields && !ray->p->s.frames.series)
		return iso_fail(ISO_EARG, "'gates' makes an image a gate, which recon alone does; with "
		                          "'fields' it is one image");
	if ((st = read_gating(ray->p, &g->is))) return st;
	if (g->files && g->is.n != g->n_files)
		return iso_fail(ISO_EARG,
		                "'gate-shares' has %d shares, expected one for each of %d histograms",
		                g->is.n, g->n_files);
	if (!g->is.table && (ray->motion.poses || ray->motion.bed || ray->motion.gantry))
		return iso_fail(ISO_EARG, "%s has no times of its gates, which motion needs: give a table",
		                g->files ? g->files : g->file);
	if (!(g->part = size_alloc(g->is.n, sizeof *g->part)))
		return iso_fail_memory("gates", g->is.n * (int64_t)sizeof *g->part);
	return record_result(ray->p->record, "gates", record_pack("{s:i}", "number", g->is.n));
}

void ray_gates_end(struct ray_problem *ray)
{
	ray_fields_end(ray);
	gating_free(&ray->gates.is);
	free(ray->gates.of);
	free(ray->gates.end);
	free(ray->gates.part);
}

/* ---- the gate of each event ---- */

static int refuse(const struct ray_problem *ray)
{
	if ((ray->e.count || ray->e.lists_all) && !ray->gates.files)
		return iso_fail(ISO_EINPUT, "%s: a histogram has no times; 'gates' needs list-mode events",
		                ray->events);
	if (ray_scatter_on(ray)) return iso_fail(ISO_EARG, "'scatter' can't be used with 'gates' yet");
	if (ray->disk)
		return iso_fail(ISO_EARG, "'gates' needs the events in memory: they can't be streamed");
	if (ray->gates.is.table && !ray->e.time_ms && !(ray->dry && ray->motion.event_times))
		return iso_fail(
			ISO_EINPUT,
			"%s: holds no times of its events, which 'gates' needs; give 'event-times', CASToR "
			"list mode, or a gate for each event",
			ray->events);
	return ISO_OK;
}

static int check_number(const struct ray_problem *ray, int64_t event, double gate)
{
	if (gate >= -1 && gate < ray->gates.is.n && gate == floor(gate)) return ISO_OK;
	return iso_refuse(ray->gates.file,
	                  "gate %g of event %" PRId64 ", must be a whole number from -1 to %d, as "
	                  "'gate-shares' has %d",
	                  gate, event, ray->gates.is.n - 1, ray->gates.is.n);
}

/* The file of each line. */
static void number_files(struct ray_problem *ray)
{
	const struct ray_gates *g = &ray->gates;
	int32_t k = 0;

	for (int64_t j = 0; g->of && j < ray->e.n; j++) {
		while (j >= g->end[k]) k++;
		g->of[j] = k;
	}
}

static int read_numbers(struct ray_problem *ray)
{
	struct iso_array a = { 0 };
	int st = record_read(ray->p->record, &a, ray->gates.file, ISO_FINITE);

	if (!st && a.n != ray->n)
		st = iso_refuse(ray->gates.file, "%" PRId64 " gates, expected one per event (%" PRId64 ")",
		                a.n, ray->n);
	for (int64_t j = 0; j < ray->e.n && !st && a.v && ray->gates.of; j++) {
		int64_t at = ray->in_file ? ray->in_file[j] : j;

		if (!(st = check_number(ray, at, (double)a.v[at]))) ray->gates.of[j] = (int32_t)a.v[at];
	}
	iso_array_free(&a);
	return st;
}

int ray_gates_load(struct ray_problem *ray)
{
	struct ray_gates *g = &ray->gates;
	int st;

	if (!ray_gated(ray)) return ISO_OK;
	if ((st = refuse(ray))) return st;
	if (!ray->dry && !(g->of = size_alloc(ray->e.n + 1, sizeof *g->of)))
		return iso_fail_memory("gates of events", ray->e.n * (int64_t)sizeof *g->of);
	if (g->files)
		number_files(ray);
	else if (!g->is.table && (st = read_numbers(ray)))
		return st;
	if (g->fields && (st = ray_gates_known(ray))) return st;
#pragma omp parallel for num_threads(iso_ctx_threads(ray->p->ctx))
	for (int64_t j = 0; j < (g->is.table && g->of ? ray->e.n : 0); j++)
		g->of[j] = iso_gates_at(g->is.table, 1e-3 * ray->e.time_ms[j]);
	return g->file ? record_input(ray->p->record, g->file) : ISO_OK;
}

/* ---- the frame in force ---- */

/* Of the whole scan, where no times were chosen. */
static struct gating_frame times_of(const struct ray_problem *ray)
{
	const struct model_frame *f = &ray->frame;
	bool whole = !(f->to_s > f->from_s);
	double end = ray->e.duration_s > 0 ? ray->e.duration_s : ray->duration_s;
	struct gating_frame t = { whole ? 0 : f->from_s, whole ? INFINITY : f->to_s, f->half_life_s };

	if (end > t.from_s) t.to_s = fmin(t.to_s, end);
	return t;
}

void ray_gates_select(struct ray_problem *ray)
{
	const struct gating_frame times = times_of(ray);

	for (int g = 0; g < ray->gates.is.n; g++) ray->gates.part[g] = gating_part(&ray->gates.is, g, &times);
}

int ray_gates_known(struct ray_problem *ray)
{
	const struct frames *f = &ray->p->s.frames;
	bool window = f->edge_s && isfinite(f->edge_s[1]);

	ray_gates_select(ray);
	if (!ray->gates.is.table || window || isfinite(times_of(ray).to_s)) return ISO_OK;
	return iso_fail(ISO_EARG, "'gates' needs the duration of the scan: give 'duration-s'");
}

/* With decay and poses m_j holds exp(-kt) over its mean in the frame: what is left is the time of the gate alone. */
static double of_decay(const struct ray_problem *ray, double share, double frame, double gate)
{
	return ray->motion.decay > 0 ? share * frame / gate : share;
}

double ray_gates_factor(const struct ray_problem *ray, int64_t j)
{
	if (!ray->gates.now) return 1;
	const struct gate_part *p = &ray->gates.part[ray->gates.now[j]];

	return of_decay(ray, p->share, ray->motion.mean, p->mean);
}

/* A histogram of one gate comes with the term of that gate. */
double ray_gates_additive(const struct ray_problem *ray, int64_t j)
{
	return ray->gates.files && !ray->additive_over_m ? 1 : ray_gates_factor(ray, j);
}

double ray_gates_randoms(const struct ray_problem *ray, int64_t j)
{
	if (!ray->gates.now) return 1;
	const struct gate_part *p = &ray->gates.part[ray->gates.now[j]];

	return of_decay(ray, p->randoms, ray->motion.mean_randoms, p->mean_randoms);
}

static bool in_gate(const struct ray_problem *ray, const struct iso_events *e, const int32_t *of, int64_t j)
{
	const struct model_frame *f = &ray->frame;
	int gate = of ? of[j] : iso_gates_at(ray->gates.is.table, 1e-3 * e->time_ms[j]);

	if (gate < 0 || (f->gate > 0 && gate != f->gate - 1)) return false;
	return f->all || !e->time_ms || (e->time_ms[j] >= 1e3 * f->from_s && e->time_ms[j] < 1e3 * f->to_s);
}

int ray_gates_pick(struct iso_events *part, int64_t **place, const struct ray_problem *ray,
                   const struct iso_events *e, const int32_t *of)
{
	int64_t n = 0, *chosen = size_alloc(e->n + 1, sizeof *chosen);

	if (!chosen) return iso_fail_memory("events of a gate", e->n * (int64_t)sizeof *chosen);
	for (int64_t j = 0; j < e->n; j++)
		if (in_gate(ray, e, of, j)) chosen[n++] = j;
	return ray_take(part, place, e, chosen, n, ray->p->ctx);
}
