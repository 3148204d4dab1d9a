/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray on the command line: events of a ring PET scanner, its corrections, its sensitivity. */
#include "events_opt.h"
#include "model.h"

#include "core/conf.h"
#include "core/size.h"
#include "core/status.h"
#include "io/format.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PAIRS_CPU 2e7	/* crystal pairs for a sensitivity, unless the user says how many */
#define PAIRS_CUDA 1e9
#define FAR_MM 30	/* end points farther than this from every crystal are of another scanner */

#define DEFAULTS { .tof_truncate = 3, .sens_seed = 1 }

static struct ray {
	/* options */
	const char *events, *scanner, *mu, *norm, *additive;
	int64_t size[3];
	double voxel[3], centre[3];
	double tof_fwhm_ps, tof_truncate, share;
	bool precorrected;
	int64_t sens_seed;
	struct iso_events_options read;
	/* what they name */
	struct iso_grid grid;
	struct iso_events e;
	iso_scanner *s;
	struct iso_array mu_map, factors;	/* factors: --norm */
	double tof;				/* in force, ps */
} ray = DEFAULTS;

static struct opt opts[] = {
	{ 0, "events", .text = &ray.events, .value = "FILE",
	  .help = "list-mode events (" EVENTS_FILES ")" },
	{ 0, "data", .text = &ray.events, .value = "FILE", .transient = true,
	  .help = "the same as --events" },
	{ 0, "scanner", .text = &ray.scanner, .value = "FILE",
	  .help = "scanner description (YAML or JSON), or a CASToR .hscan" },
	EVENTS_OPTS(ray.read),
	{ 0, "grid", .integer = ray.size, .count = 3, .spread = true, .value = "NX,NY,NZ", .min = 1,
	  .max = 1e15, .absent = "the image's, where there is one", .help = "number of voxels" },
	{ 0, "voxel", .real = ray.voxel, .count = 3, .spread = true, .value = "DX,DY,DZ",
	  .min = 1e-6, .max = 1e6, .absent = "the image's, where there is one",
	  .help = "size of a voxel, mm" },
	{ 0, "centre", .real = ray.centre, .count = 3, .value = "X,Y,Z",
	  .help = "centre of the image, mm" },
	{ 0, "tof-fwhm-ps", .real = &ray.tof_fwhm_ps, .value = "PS", .min = 0, .max = 1e6,
	  .absent = "the scanner's", .help = "time-of-flight resolution; 0: do not use it" },
	{ 0, "tof-truncate", .real = &ray.tof_truncate, .value = "K", .min = 0, .max = 100,
	  .help = "cut the TOF kernel at K sigma; 0: nowhere" },
	{ 0, "mu", .text = &ray.mu, .value = "FILE", .help = "attenuation map, 1/mm" },
	{ 0, "precorrected", .flag = &ray.precorrected,
	  .help = "divide events by their attenuation instead of putting it into the model" },
	{ 0, "norm", .text = &ray.norm, .value = "FILE",
	  .help = "efficiencies per crystal, or factors per event, told apart by length" },
	{ 0, "additive", .text = &ray.additive, .value = "FILE|R",
	  .help = "randoms and scatter in expected counts, per event or one number for all; "
		  "with TOF per mm" },
	{ 0, "sens-share", .real = &ray.share, .value = "F", .min = 1e-12, .max = 1,
	  .absent = "all pairs up to 2e7 (CPU) or 1e9 (CUDA), else that many",
	  .help = "share of the crystal pairs drawn for the sensitivity; 1: all" },
	{ 0, "sens-seed", .integer = &ray.sens_seed, .value = "N", .min = 0, .max = 9e15,
	  .help = "seed of that draw" },
	{ 0 },
};

/* ---- reading what the options name ---- */

static int load_grid(const struct opt_set *sets, const struct iso_grid *image)
{
	bool size = opt_find(sets, "grid")->given, voxel = opt_find(sets, "voxel")->given;

	if (image && !size && !voxel && !opt_find(sets, "centre")->given) {
		ray.grid = *image;
		return ISO_OK;
	}
	if (!size || !voxel)
		return iso_fail(ISO_EARG, "the image grid is not known: give --grid and --voxel");
	for (int a = 0; a < 3; a++) {
		ray.grid.n[a] = ray.size[a];
		ray.grid.voxel[a] = ray.voxel[a];
		ray.grid.centre[a] = ray.centre[a];
	}
	int st = iso_grid_check(&ray.grid);

	if (!st && image && !iso_grid_same(&ray.grid, image))
		st = iso_fail(ISO_EARG, "--grid, --voxel, --centre are not those of the image; leave "
			      "them out to take the image's");
	return st;
}

/* The file of positions that a table of detectors names. */
static int record_positions(struct cmd *c)
{
	struct conf_node *root = NULL;
	char path[PATH_MAX];
	int st = iso_has_suffix(ray.scanner, ".hscan") ? ISO_OK : iso_conf_read(&root, ray.scanner);
	const struct conf_node *name = st || !root ? NULL : iso_conf_find(root, "positions");

	if (name && !(st = iso_conf_file(path, sizeof path, root, name->text)))
		st = record_input(&c->record, path);
	iso_conf_free(root);
	return st;
}

static int load_scanner(struct cmd *c)
{
	int st;

	if (!ray.scanner)
		return ISO_OK;
	if ((st = iso_scanner_read(&ray.s, ray.scanner)) ||
	    (st = record_input(&c->record, ray.scanner)))
		return st;
	return iso_scanner_kind(ray.s) == ISO_DETECTORS ? record_positions(c) : ISO_OK;
}

/* End points far from every crystal: the wrong scanner, or the wrong unit. */
static void warn_if_far(struct cmd *c)
{
	int64_t far = 0, looked = 0, step = ray.e.n / 1000 + 1;
	double worst = 0;

	for (int64_t i = 0; i < ray.e.n; i += step) {
		const struct iso_event *e = ray.e.v + i;
		double p[3] = { e->p1[0], e->p1[1], e->p1[2] }, d = 0;

		if (iso_event_bad(e))
			continue;
		iso_scanner_nearest(ray.s, p, &d);
		looked++;
		far += d > FAR_MM;
		worst = fmax(worst, d);
	}
	if (far)
		record_warn(&c->record, "%s: %" PRId64 " of %" PRId64 " end points looked at lie more "
			    "than %d mm from every crystal of %s, up to %.0f mm", ray.events, far, looked,
			    FAR_MM, iso_scanner_name(ray.s), worst);
}

static int load_events(struct cmd *c)
{
	int st;

	if (!ray.events)
		return iso_fail(ISO_EARG, "--events is missing");
	ray.read.scanner = ray.s;
	if ((st = iso_events_read(&ray.e, ray.events, &ray.read)) ||
	    (st = record_input(&c->record, ray.events)))
		return st;
	events_warn(c, ray.events, &ray.e);
	if (ray.s)
		warn_if_far(c);
	return ISO_OK;
}

static bool all_times_zero(void)
{
	for (int64_t i = 0; i < ray.e.n; i++)
		if (ray.e.v[i].dt_ps != 0)
			return false;

	return true;
}

/* The resolution in force: the option's, else the scanner's if the events carry times. */
static int load_tof(struct cmd *c, const struct opt_set *sets)
{
	bool given = opt_find(sets, "tof-fwhm-ps")->given;

	ray.tof = given ? ray.tof_fwhm_ps : ray.s ? iso_scanner_tof_fwhm_ps(ray.s) : 0;
	if (ray.tof == 0 || !all_times_zero())
		return ISO_OK;
	if (given)
		return iso_fail(ISO_EINPUT, "%s: all time differences are 0; --tof-fwhm-ps %g can't be "
				"used", ray.events, ray.tof);
	record_warn(&c->record, "%s: all time differences are 0: the scanner's time of flight is not "
		    "used", ray.events);
	ray.tof = 0;
	return ISO_OK;
}

static int load_mu(struct cmd *c)
{
	int st;

	if (!ray.mu)
		return ray.precorrected ? iso_fail(ISO_EARG, "--precorrected needs --mu") : ISO_OK;
	st = cmd_read_map(&ray.mu_map, ray.mu, &ray.grid);
	return st ? st : record_input(&c->record, ray.mu);
}

static bool norm_per_crystal(void)
{
	return ray.s && ray.factors.n == iso_scanner_crystals(ray.s);
}

static int load_norm(struct cmd *c)
{
	int st;

	if (!ray.norm)
		return ISO_OK;
	if ((st = iso_read(&ray.factors, ray.norm, ISO_NONNEGATIVE)) ||
	    (st = record_input(&c->record, ray.norm)))
		return st;
	bool per_event = ray.e.n && ray.factors.n == ray.e.n;

	if (norm_per_crystal() && per_event)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values fit both the crystals and the events",
				ray.norm, ray.factors.n);
	if (norm_per_crystal() || per_event)
		return ISO_OK;
	if (!ray.s)
		return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per event (%" PRId64 "); "
				"efficiencies per crystal need --scanner", ray.norm, ray.factors.n, ray.e.n);
	return iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per crystal (%" PRId64 ") or "
			"per event (%" PRId64 ")", ray.norm, ray.factors.n,
			iso_scanner_crystals(ray.s), ray.e.n);
}

static int ray_load(struct cmd *c, const struct opt_set *sets, int need,
		    const struct iso_grid *image)
{
	int st;

	if ((st = load_grid(sets, image))) return st;
	if ((st = load_scanner(c))) return st;
	if (need & MODEL_NEEDS_SENS && !ray.s)
		return iso_fail(ISO_EARG, "the sensitivity needs --scanner (or, for recon, --sens FILE or "
				"--sens none)");
	if (need & MODEL_NEEDS_DATA && ((st = load_events(c)) || (st = load_tof(c, sets)) ||
	    (st = record_result(&c->record, "tof_fwhm_ps", json_real(ray.tof)))))
		return st;
	if ((st = load_mu(c))) return st;
	return load_norm(c);
}

static void ray_unload(void)
{
	iso_events_free(&ray.e);
	iso_scanner_free(ray.s);
	iso_array_free(&ray.mu_map);
	iso_array_free(&ray.factors);
	ray = (struct ray)DEFAULTS;	/* the next run begins where the first did */
	for (struct opt *o = opts; o->name; o++)
		o->given = false;
}

/* ---- what commands ask for ---- */

static struct iso_grid ray_grid(void)
{
	return ray.grid;
}

static int64_t ray_rows(void)
{
	return ray.e.n;
}

static struct iso_ray parameters(int n_sub)
{
	struct iso_ray p = { .grid = ray.grid, .n_sub = n_sub, .tof_fwhm_ps = ray.tof,
			     .tof_truncate = ray.tof_truncate };

	return p;
}

static void ray_plan(struct iso_plan *plan, const struct cmd *c, int n_sub)
{
	struct iso_ray p = parameters(n_sub);

	iso_ray_plan(plan, c->ctx, &p, ray.e.n);
}

static int ray_op(iso_op **op, struct cmd *c, int n_sub)
{
	struct iso_ray p = parameters(n_sub);

	if (n_sub > ray.e.n)
		return iso_fail(ISO_EARG, "--subsets is %d, %s has %" PRId64 " events", n_sub,
				ray.events, ray.e.n);
	return iso_ray_create(op, c->ctx, &p, &ray.e);
}

/* Efficiencies of the crystals nearest to the ends, and the weight of their pair; 0 leaves a bad
   event out. */
static double pair_factor(const struct iso_event *e)
{
	if (iso_event_bad(e))
		return 0;
	double p1[3] = { e->p1[0], e->p1[1], e->p1[2] }, p2[3] = { e->p2[0], e->p2[1], e->p2[2] };
	double f = ray.s ? iso_scanner_pair_weight(ray.s, p1, p2) : 1, distance;

	if (norm_per_crystal())
		f *= (double)ray.factors.v[iso_scanner_nearest(ray.s, p1, &distance)] *
		     ray.factors.v[iso_scanner_nearest(ray.s, p2, &distance)];
	return f;
}

static bool is_number(const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	return end != text && !*end;
}

/* One additive value for all events. */
static int additive_constant(iso_real **add, double value)
{
	if (!(value >= 0) || !isfinite(value))
		return iso_fail(ISO_EARG, "--additive is %s, must be 0 or above", ray.additive);
	if (!(*add = size_alloc(ray.e.n, sizeof **add)))
		return iso_fail_memory("additive term", ray.e.n * (int64_t)sizeof **add);
	for (int64_t j = 0; j < ray.e.n; j++)
		(*add)[j] = (iso_real)value;
	return ISO_OK;
}

static int additive(iso_real **add, struct cmd *c)
{
	struct iso_array a = { 0 };
	double value;
	int st;

	if (!ray.additive)
		return ISO_OK;
	if (ray.precorrected)
		return iso_fail(ISO_EARG, "--precorrected data can't carry an --additive term");
	if (is_number(ray.additive, &value))
		return additive_constant(add, value);
	if ((st = iso_read(&a, ray.additive, ISO_NONNEGATIVE)) ||
	    (st = record_input(&c->record, ray.additive)))
		return st;
	if (a.n == ray.e.n) {
		*add = a.v;
		return ISO_OK;
	}
	st = iso_fail(ISO_EINPUT, "%s: %" PRId64 " values, expected one per event (%" PRId64 ")",
		      ray.additive, a.n, ray.e.n);
	iso_array_free(&a);
	return st;
}

/* m_j = attenuation x efficiencies x pair weight; with --precorrected the attenuation leaves it,
   and its inverse weighs the event (Van Gendt 2021 eq. 7). */
static int ray_data(struct model_data *d, struct cmd *c)
{
	bool per_event = ray.norm && !norm_per_crystal();
	int st;

	if ((st = additive(&d->add, c))) return st;
	if (!(d->mult = size_alloc(ray.e.n, sizeof *d->mult)) ||
	    !(d->y = size_alloc(ray.e.n, sizeof *d->y)))
		return iso_fail_memory("factors", ray.e.n * (int64_t)sizeof *d->mult);
	for (int64_t j = 0; j < ray.e.n; j++)
		d->y[j] = 1;
	if (ray.mu && (st = iso_ray_attenuation(d->y, c->ctx, &ray.mu_map, &ray.e))) return st;
	for (int64_t j = 0; j < ray.e.n; j++) {
		double m = per_event ? (double)ray.factors.v[j] : pair_factor(ray.e.v + j);

		d->mult[j] = (iso_real)(ray.precorrected ? m : m * d->y[j]);
		d->y[j] = 1 / d->y[j];
	}
	if (!ray.precorrected) {
		free(d->y);
		d->y = NULL;
	}
	return ISO_OK;
}

static int ray_sens(struct iso_array *s, struct cmd *c)
{
	double pairs = (double)iso_scanner_pairs(ray.s), error = 0;
	double most = iso_ctx_is_cuda(c->ctx) ? PAIRS_CUDA : PAIRS_CPU;
	struct iso_ray_sens p = { .grid = ray.grid, .scanner = ray.s, .seed = (uint64_t)ray.sens_seed,
				  .eff = norm_per_crystal() ? ray.factors.v : NULL,
				  .mu = ray.mu && !ray.precorrected ? &ray.mu_map : NULL };
	int st;

	if (ray.norm && !norm_per_crystal())
		record_warn(&c->record, "%s holds factors per event: they are not in the sensitivity; "
			    "give an image that has them with --sens", ray.norm);
	p.share = ray.share > 0 ? ray.share : fmin(1, most / pairs);
	if ((st = iso_array_on_grid(s, &ray.grid))) return st;
	if ((st = iso_ray_sens(s->v, &error, c->ctx, &p))) return st;
	snprintf(s->unit, sizeof s->unit, "mm");
	term_note(&c->term, "sensitivity from %.3g of %.3g crystal pairs, error %.2g %%", p.share * pairs,
		  pairs, 100 * error);
	return record_result(&c->record, "sensitivity", json_pack("{s:f, s:f, s:f}", "pairs", pairs,
			     "share", p.share, "relative_error", error));
}

const struct model model_ray = {
	.title = "Model ray",
	.opts = opts,
	.load = ray_load,
	.unload = ray_unload,
	.grid = ray_grid,
	.rows = ray_rows,
	.plan = ray_plan,
	.op = ray_op,
	.data = ray_data,
	.sens = ray_sens,
};
