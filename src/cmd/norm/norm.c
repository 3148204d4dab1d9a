/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome norm: normalisation factors of two panels from a flat source; of rings in norm_ring.c. */
#include "norm_ring.h"

#include "isotome/norm.h"
#include "problem/inputs.h"

#include "core/size.h"

#define FEW_A_LOR 100 /* 10 % */
#define MISFIT 1.5
#define OTHER_SCALE 2

struct norm_settings {
	const char *scanner, *flat, *expected, *out, *crystals, *method;
	struct iso_norm_options o;
};

static const struct opt_usage usage = {
	"norm",
	"Make the normalisation of a scanner from a scan of a known source. For a ring it finds the "
	"efficiencies of "
	"crystals and the factors of pairs that explain the events best, each with its error, and writes "
	"NAME.norm.json. The source is an image or a shape, and its place is fitted too. Of two panels: n = "
	"measured / expected counts of each line of response "
	"(LOR), from a histogram of a flat source that covers the heads. The default, by crystals, makes n "
	"the product of the two efficiencies that explain the counts best; a thousand counts a crystal "
	"suffice. n is 0 for LORs of dead crystals.",
	"  isotome norm ring.yaml flat.lmdT --source cylinder:0,0,0,100,200 --delayed late.lmdT -o "
	"ring.norm.json\n"
	"  isotome norm ring.yaml flat.Cdh --source flat.nii --components crystal,transaxial,axial \\\n"
	"      --mu mu.nii --relative -o ring.norm.json\n"
	"  isotome norm ring.yaml left.lmdT,right.lmdT --source "
	"cylinder:-60,0,0,40,200,cylinder:60,0,0,40,200 \\\n"
	"      -o ring.norm.json\n"
	"  isotome norm examples/scanners/meng2019.yaml flat.npy --expected ideal.npy -o n.npy\n"
	"  isotome norm meng2019.yaml flat.npy --expected ideal.npy --relative --directions \\\n"
	"      --crystals efficiency.npy -o n.npy\n"
	"  isotome norm meng2019.yaml flat.npy --expected ideal.npy --method lor -o n.npy\n",
};

static int check(const struct cmd *c, const struct norm_settings *s)
{
	int st;

	if (s->o.per_lor && (s->o.directions || s->crystals))
		return iso_fail(ISO_EARG, "--%s needs --method crystal",
		                s->o.directions ? "directions" : "crystals");
	st = cmd_check_array(c, s->out);
	return st ? st : cmd_check_array(c, s->crystals);
}

static void warn(struct record *r, const struct iso_norm_options *o, const struct iso_norm_figures *f)
{
	int64_t unseen = f->unseen[0] + f->unseen[1];
	double a_lor = 1 / (f->noise * f->noise), scale = f->counts / f->expected;

	if (unseen > 0)
		record_warn(r, "%" PRId64 " crystals expect nothing of the source: their LORs have n = 0",
		            unseen);
	if (f->stray > 0)
		record_warn(r, "%.3g counts lie in %s where none are expected: n = 0 there", f->stray,
		            o->per_lor ? "LORs" : "crystals");
	if (o->per_lor && a_lor < FEW_A_LOR)
		record_warn(r,
		            "%.3g counts a LOR: n has errors of %.0f %%; --method crystal needs fewer counts",
		            a_lor, 100 * f->noise);
	if (!o->per_lor && f->few > 0)
		record_warn(r,
		            "%" PRId64 " crystals have less than %d counts, the fewest %.0f: their "
		            "efficiencies have errors of 3 %% and more",
		            f->few, ISO_NORM_FEW, f->fewest);
	if (f->misfit > MISFIT)
		record_warn(r,
		            "chi-square is %.3g times its expectation: %s, or expected counts of too short a "
		            "simulation",
		            f->misfit,
		            o->directions ? "efficiencies are no product"
		                          : "a factor for directions is missing (--directions)");
	if (!o->relative && (scale > OTHER_SCALE || scale * OTHER_SCALE < 1))
		record_warn(r,
		            "the measured counts are %.3g times the expected ones: images will be so many "
		            "times darker; --relative keeps the differences alone",
		            scale);
}

static int record_figures(struct cmd *c, const struct iso_norm_figures *f)
{
	json_t *o = record_pack("{s:f, s:f, s:f, s:[I,I], s:[I,I], s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:i}",
	                        "counts", f->counts, "expected", f->expected, "stray_counts", f->stray,
	                        "dead_crystals", (json_int_t)f->dead[0], (json_int_t)f->dead[1],
	                        "unseen_crystals", (json_int_t)f->unseen[0], (json_int_t)f->unseen[1],
	                        "dead_lors", (json_int_t)f->dead_lors, "fewest_counts_a_crystal", f->fewest,
	                        "mean", f->mean, "spread", f->spread, "least", f->least, "most", f->most,
	                        "noise", f->noise, "iterations", f->iterations);

	if (o && f->misfit > 0) json_object_set_new(o, "misfit", record_real(f->misfit));
	return record_result(&c->record, "norm", o);
}

static void say(struct cmd *c, bool per_lor, const struct iso_norm_figures *f, int64_t lors)
{
	term_say(&c->term,
	         "%.4g counts, %.3g a LOR; dead crystals: %" PRId64 " of the upper head, %" PRId64
	         " of the lower",
	         f->counts, f->counts / (double)lors, f->dead[0], f->dead[1]);
	term_say(&c->term,
	         "%s from %.3g to %.3g, mean %.4g, spread %.1f %%, of which counts alone explain %.1f %%",
	         per_lor ? "n" : "efficiencies", f->least, f->most, f->mean, 100 * f->spread, 100 * f->noise);
	if (f->misfit > 0) term_say(&c->term, "chi-square over its expectation: %.3g", f->misfit);
}

/* (2, Ncx, Ncz), with layers (2, L, Ncx, Ncz): the order of crystal ids. */
static int write_crystals(struct cmd *c, const char *path, const struct iso_panels *p,
                          const double *efficiency)
{
	const int64_t all[] = { 2, p->layers, p->crystals[0], p->crystals[1] }, one[] = { 2, all[2], all[3] };
	struct iso_array a = { 0 };
	int st = iso_array_create(&a, p->layers > 1 ? 4 : 3, p->layers > 1 ? all : one);

	if (st) return st;
	for (int64_t i = 0; i < a.n; i++) a.v[i] = (iso_real)efficiency[i];
	st = cmd_write(c, path, &a);
	iso_array_free(&a);
	return st;
}

/* The factors take the place of the counts. */
static int compute(struct cmd *c, const struct norm_settings *s, const struct iso_panels *p,
                   struct iso_array *y, const struct iso_array *e, double *efficiency)
{
	struct iso_norm_figures f = { .size = sizeof f };
	int st;

	record_stage(&c->record, "norm");
	if ((st = iso_panel_norm(y->v, efficiency, &f, c->ctx, p, y->v, e->v, &s->o))) return st;
	record_stage(&c->record, NULL);
	y->unit[0] = '\0';
	say(c, s->o.per_lor, &f, y->n);
	warn(&c->record, &s->o, &f);
	if ((st = record_figures(c, &f)) || (st = cmd_write(c, s->out, y))) return st;
	return s->crystals ? write_crystals(c, s->crystals, p, efficiency) : ISO_OK;
}

static int run(struct cmd *c, const struct norm_settings *s)
{
	struct iso_array y = { 0 }, e = { 0 };
	struct iso_plan plan = { 0 };
	iso_scanner *scanner = NULL;
	const struct iso_panels *p;
	double *efficiency = NULL;
	int64_t n;
	int st;

	record_stage(&c->record, "read");
	if ((st = cmd_scanner(c, &scanner, s->scanner))) goto done;
	if (!(p = iso_scanner_panels(scanner)))
		st = iso_fail(ISO_EARG,
		              "%s: norm is for two panels (kind: panels) where it is written as .npy; of "
		              "rings it is "
		              "NAME.norm.json",
		              s->scanner);
	else
		iso_plan_add(&plan, "measured and expected counts", iso_panels_lors(p), 2 * sizeof(iso_real),
		             false);
	if (st || (st = cmd_plan(c, &plan)) || (st = lors_read(&c->record, &y, s->flat, p)) ||
	    (st = lors_read(&c->record, &e, s->expected, p)))
		goto done;
	n = iso_scanner_crystals(scanner);
	if (s->crystals && !(efficiency = size_alloc(n, sizeof *efficiency)))
		st = iso_fail_memory("norm", n * (int64_t)sizeof *efficiency);
	else
		st = compute(c, s, p, &y, &e, efficiency);
done:
	iso_scanner_free(scanner);
	iso_array_free(&y);
	iso_array_free(&e);
	free(efficiency);
	return st;
}

/* A norm of rings has a name of its own, by which what the words mean is known before the scanner is read. */
static int check_panels(const struct norm_settings *s, const struct norm_ring *r)
{
	const char *other = r->source           ? "source"
	                    : r->mu             ? "mu"
	                    : r->delayed        ? "delayed"
	                    : r->singles        ? "singles"
	                    : r->mask           ? "mask"
	                    : r->scatter        ? "scatter"
	                    : r->no_mirror      ? "no-mirror"
	                    : r->resume         ? "resume"
	                    : r->pair_share > 0 ? "pair-share"
	                                        : NULL;

	if (other)
		return iso_fail(ISO_EARG,
		                "--%s is of rings, whose norm is written as NAME.norm.json, not %.60s", other,
		                s->out);
	return s->expected
	               ? ISO_OK
	               : iso_fail(ISO_EARG, "--expected is missing: counts that the ideal scanner expects");
}

static int run_ring(struct cmd *c, const struct norm_settings *s, struct norm_ring *r)
{
	const char *other = s->expected       ? "expected"
	                    : s->crystals     ? "crystals"
	                    : s->o.directions ? "directions"
	                    : s->o.per_lor    ? "method"
	                                      : NULL;
	int st;

	if (other) return iso_fail(ISO_EARG, "--%s is of two panels, whose norm is written as .npy", other);
	r->scanner = s->scanner;
	r->events = s->flat;
	r->out = s->out;
	r->relative = s->o.relative;
	c->cpu_only = false;
	c->cpu_first = true;
	if ((st = norm_ring_check(c, r)) || (st = cmd_begin(c))) return st;
	return norm_ring_run(c, r);
}

int main_norm(int argc, char **argv)
{
	static const char *const methods[] = { "crystal", "lor", NULL };
	struct norm_settings s = { .method = "crystal", .o.size = sizeof s.o };
	struct norm_ring r = { .components = "crystal",
		               .place = "fit",
		               .rays = 5,
		               .scatter_seed = 1,
		               .scatter_error = .01,
		               .read.size = sizeof r.read };
	struct opt own[] = {
		CMD_ARGUMENT("scanner", s.scanner, OPT_READS, "SCANNER",
		             "scanner description: rings, free detectors, or two panels"),
		CMD_ARGUMENT("flat", s.flat, OPT_MAY_READ, "FLAT",
		             "rings: events of a known source, or several scans separated by commas, each "
		             "with its "
		             "source. Panels: a histogram of its LORs (.npy)"),
		CMD_OUTPUT(s.out,
		           "rings: NAME.norm.json, with its arrays beside it. Panels: n of each LOR (.npy)"),
		{ 0, "expected", .text = &s.expected, .file = OPT_READS, .value = "FILE",
		  .help = "panels, required: counts of the same source that the ideal scanner expects, "
		          "without noise or from a "
		          "long simulation" },
		{ 0, "method", .text = &s.method, .words = methods, .value = "RULE",
		  .help = "panels: crystal: a product of efficiencies; lor: the plain ratio, as noisy as its "
		          "counts" },
		{ 0, "directions", .flag = &s.o.directions,
		  .help = "panels: also fit a factor for each offset |l - u| between two crystals" },
		{ 0, "relative", .flag = &s.o.relative,
		  .help = "the source has no scale. Rings: make the efficiencies 1 on average over living "
		          "crystals. Panels: make n 1 on average over living LORs" },
		{ 0, "crystals", .text = &s.crystals, .file = OPT_WRITES, .value = "FILE",
		  .help = "panels: also write the efficiencies of the crystals (.npy), upper head first" },
		{ 0, "source", .text = &r.source, .file = OPT_MAY_READ, .value = "SOURCE",
		  .help = "rings, required: where the activity was. An image in counts/mm, or "
		          "cylinder:X,Y,Z,R,LENGTH[,AXIS], "
		          "plane:X,Y,Z,WIDTH,HEIGHT,THICK,ANGLE or orbit:RADIUS,ROD_RADIUS,LENGTH, in mm and "
		          "degrees" },
		{ 0, "mu", .text = &r.mu, .file = OPT_LIST, .value = "FILE",
		  .help = "rings: attenuation of the source, an image in 1/mm" },
		{ 0, "scatter", .text = &r.scatter, .words = norm_scatter_methods, .value = "METHOD",
		  .absent = "none",
		  .help = "rings: estimate the scatter of the source, as recon does; needs --mu and the "
		          "energies "
		          "that the scanner counts" },
		{ 0, "scatter-seed", .integer = &r.scatter_seed, .with = "scatter", .value = "N", .min = 0,
		  .max = 9e15, .help = "rings: seed of the Monte Carlo" },
		{ 0, "scatter-error", .real = &r.scatter_error, .with = "scatter", .value = "F", .min = 1e-4,
		  .max = 0.5,
		  .help = "rings: statistical error of the Monte Carlo, as a share of the scatter" },
		{ 0, "energy-window", .real = r.window_kev, .with = "scatter", .count = 2, .unit = "keV",
		  .value = "LO,HI", .min = 1, .max = 1e4, .absent = "the scanner's",
		  .help = "rings: energies that the scanner counts" },
		{ 0, "energy-resolution", .real = &r.resolution, .with = "scatter", .value = "F", .min = 1e-6,
		  .max = 0.999999, .absent = "the scanner's",
		  .help = "rings: FWHM at 511 keV, as a share of 511 keV" },
		{ 0, "components", .text = &r.components, .value = "LIST",
		  .help = "rings: factors to fit, some of crystal,transaxial,axial: an efficiency of each "
		          "crystal, a factor for "
		          "the places of two crystals round the ring, and one for two rings" },
		{ 0, "no-mirror", .flag = &r.no_mirror,
		  .help = "rings: places round the ring and their mirror images have factors of their own" },
		{ 0, "place", .text = &r.place, .value = "WORD",
		  .help = "rings: fit the source's place, fit:MM with a prior of that width (default 3 mm), "
		          "or given, which keeps the place of --source" },
		{ 0, "delayed", .text = &r.delayed, .file = OPT_MAY_READ, .value = "FILE",
		  .absent = "those that the file of events holds",
		  .help = "rings: delayed coincidences, from which the randoms of each pair follow; none: no "
		          "randoms" },
		{ 0, "singles", .text = &r.singles, .file = OPT_LIST, .value = "FILE",
		  .help = "rings: singles of each crystal, in place of delayed coincidences" },
		{ 0, "coincidence-ns", .real = &r.coincidence_ns, .min = 1e-6, .max = 1e9, .value = "NS",
		  .absent = "as the scanner says",
		  .help = "rings: coincidence window tau of |t1 - t2| <= tau, for singles" },
		{ 0, "duration-s", .real = &r.duration_s, .min = 1e-9, .max = 1e12, .value = "S",
		  .absent = "as the events say", .help = "rings: how long the scan took" },
		{ 0, "mask", .text = &r.mask, .file = OPT_READS, .value = "FILE",
		  .help = "rings: 0 for each crystal that is to be left out, else 1 (.npy)" },
		{ 0, "rays", .integer = &r.rays, .min = 1, .max = 64, .value = "N",
		  .help = "rings: lines between the faces of two crystals" },
		{ 0, "tolerance", .real = &r.tolerance, .min = 1e-12, .max = 1, .value = "T",
		  .absent = "a thousandth of the least error",
		  .help = "rings: the fit ends when no logarithm changes by more" },
		{ 0, "pair-share", .real = &r.pair_share, .min = 1e-6, .max = 1, .value = "F",
		  .absent = "all",
		  .help = "rings: look at this share of the pairs of crystals and their events alone, for "
		          "scanners of "
		          "more than 1e5 crystals; errors grow as with fewer events" },
		{ 0, "resume", .flag = &r.resume, .transient = true,
		  .help = "rings: continue a fit that was stopped from OUTPUT.ckpt; start from the beginning "
		          "if "
		          "the file does not exist" },
		EVENTS_OPTS(r.read),
		{ 0 },
	};
	struct cmd c = { .cpu_only = true };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	s.o.per_lor = strcmp(s.method, "lor") == 0;
	if (!st && iso_norm_is(s.out)) return cmd_end(&c, run_ring(&c, &s, &r));
	if (!st) st = check_panels(&s, &r);
	if (!st && !(st = check(&c, &s)) && !(st = cmd_begin(&c))) st = run(&c, &s);
	return cmd_end(&c, st);
}
