/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate: list-mode events of a scanner from an activity image. */
#include "simulate.h"

#include "core/status.h"
#include "io/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
	const char *scanner, *image, *out, *mu, *norm, *delayed, *singles, *isotope;
	double counts, randoms, scatters, tof_fwhm_ps, duration_s, half_life_s, noise;
	bool exact;
	int64_t seed;
};

struct inputs {
	iso_scanner *scanner;
	struct iso_array image, mu, eff;
};

static const struct opt_usage usage = {
	"simulate",
	"Simulate list-mode events: decays in the voxels of an image, two photons in an isotropic "
	"direction, crystals and their efficiencies, attenuation, TOF blur, randoms and a scatter-like "
	"background; beside them delayed coincidences and singles. Events are in the order of time. "
	"Two strips (kind: strips) see a phantom of ellipses instead: --counts events exactly, as .f32, "
	".txt or .npy. Two panels (kind: panels) see the image or phantom by --physics: photons followed "
	"through the crystals, counted in a histogram of LORs. Transducers (kind: transducers) hear a "
	"phantom of spheres in closed form, through their apertures and impulse response: traces as .npy, or "
	"with the transducers as IPASC (.hdf5, .h5).",
	"  isotome phantom spheres -o x.nii --mu mu.nii\n"
	"  isotome simulate examples/scanners/clinical-ring.yaml x.nii --mu mu.nii --counts 2e6 -o e.lmdT\n"
	"  isotome simulate ring.yaml x.nii --counts 1e6 --randoms 0.2 --tof-fwhm-ps 0 -o e.lmdT\n"
	"  isotome simulate ring.yaml x.nii --counts 1e6 --randoms 0.3 --norm eff.npy -o e.lmdT \\\n"
	"    --delayed d.lmdT --singles s.npy --duration-s 600 --isotope F-18\n"
	"  isotome simulate examples/scanners/bialas2015.yaml ellipses --counts 1e6 -o e.f32\n"
	"  isotome simulate examples/scanners/meng2019.yaml x.nii --physics --counts 1e6 -o lors.npy\n"
	"  isotome simulate examples/scanners/wang2013.yaml nine-spheres --noise 0.01 -o traces.npy\n"
	"  isotome simulate array.yaml vessel-tree -o traces.hdf5\n"
	"  isotome simulate examples/scanners/meng2019.yaml --physics --point 0,0,0 --pairs 1e7 --json\n",
};

/* Events go to the file a round of blocks at a time: 64 of 8192, give or take. */
static int plan(struct cmd *c, const struct settings *s, int64_t voxels)
{
	struct iso_plan p = cmd_plan_begin(c);

	iso_plan_add(&p, "events", 600000, sizeof(struct iso_event) + 12, false);
	iso_plan_add(&p, "emission tables", voxels, s->scatters > 0 ? 36 : 24, false);
	return cmd_plan(c, &p);
}

static int read_norm(struct cmd *c, struct inputs *in, const char *path)
{
	int64_t n = iso_scanner_crystals(in->scanner);
	int st;

	if ((st = cmd_read(c, &in->eff, path, ISO_NONNEGATIVE)) || (st = record_input(&c->record, path)))
		return st;
	if (in->eff.n != n)
		return iso_fail(ISO_EINPUT,
		                "%s: %" PRId64 " values, must be one for each of the %" PRId64
		                " crystals of %s",
		                path, in->eff.n, n, iso_scanner_name(in->scanner));
	return ISO_OK;
}

static int read_inputs(struct cmd *c, struct inputs *in, const struct settings *s)
{
	int st;

	if ((st = iso_scanner_read(&in->scanner, s->scanner)) ||
	    (st = cmd_read_image(c, &in->image, s->image, ISO_NONNEGATIVE, NULL)) ||
	    (st = record_input(&c->record, s->scanner)) || (st = record_input(&c->record, s->image)) ||
	    (s->mu && (st = cmd_read_mu(c, &in->mu, s->mu, &in->image.grid))))
		return st;
	return s->norm ? read_norm(c, in, s->norm) : ISO_OK;
}

static int half_life(double *half_life_s, const struct settings *s)
{
	*half_life_s = s->half_life_s;
	return s->isotope ? iso_half_life(half_life_s, s->isotope) : ISO_OK;
}

static int report(struct cmd *c, const struct iso_simulate *p, const struct iso_simulated *i)
{
	int st = record_result(&c->record, "events",
	                       record_pack("{s:I, s:I, s:I, s:f}", "trues", (json_int_t)i->trues, "scatters",
	                                   (json_int_t)i->scatters, "randoms", (json_int_t)i->randoms,
	                                   "decays", i->decays));

	if (!st && p->randoms > 0)
		st = record_result(&c->record, "additive",
		                   record_pack("{s:f, s:f, s:f}", "randoms_per_pair", i->randoms_per_pair,
		                               "randoms_per_pair_per_mm_tof", i->randoms_per_pair_mm,
		                               "window_ps", i->window_ps));
	if (!st && p->half_life_s > 0)
		st = record_result(&c->record, "half_life_s", record_real(p->half_life_s));
	return st;
}

static int append(void *writer, const struct iso_events *piece)
{
	return iso_event_writer_append(writer, piece);
}

/* Closes and frees the writer. */
static int finish(struct cmd *c, iso_event_writer *w)
{
	char *text = NULL;
	int st = record_text(&c->record, &text);

	if (st)
		iso_event_writer_free(w);
	else
		st = iso_event_writer_close(w, text);
	free(text);
	return st;
}

static int write_list(struct cmd *c, const char *path, const struct iso_simulate *p)
{
	iso_event_writer *w = NULL;
	struct iso_simulated info;
	int64_t n = llround(p->delayed ? p->counts * p->randoms : p->counts);
	int st = iso_event_writer_open(&w, path, p->scanner, n);

	if (st) return st;
	record_stage(&c->record, "simulate");
	st = iso_simulate_blocks(&info, c->ctx, p, append, w);
	record_stage(&c->record, NULL);
	if (!st)
		st = p->delayed ? record_result(&c->record, "delayed", json_integer((json_int_t)info.randoms))
		                : report(c, p, &info);
	if (st) {
		iso_event_writer_free(w);
		return st;
	}
	if (p->duration_s > 0 && iso_has_suffix(path, ".lmdT"))
		record_warn(&c->record,
		            "%s: lmdT has no place for the times of events: only their "
		            "order is kept",
		            path);
	return finish(c, w);
}

static int write_singles(struct cmd *c, const char *path, const struct iso_simulate *p)
{
	int64_t n = iso_scanner_crystals(p->scanner);
	struct iso_array a = { 0 };
	int st;

	if ((st = iso_array_create(&a, 1, &n))) goto done;
	if ((st = iso_simulate_singles(a.v, p))) goto done;
	st = cmd_write(c, path, &a);
done:
	iso_array_free(&a);
	return st;
}

static int run(struct cmd *c, const struct opt_set *sets, const struct settings *s)
{
	struct inputs in = { 0 };
	int st;

	record_stage(&c->record, "read");
	if ((st = read_inputs(c, &in, s))) goto done;
	if ((st = plan(c, s, in.image.n))) goto done;

	struct iso_simulate p = {
		.size = sizeof p,
		.scanner = in.scanner,
		.activity = &in.image,
		.mu = s->mu ? &in.mu : NULL,
		.eff = in.eff.v,
		.counts = s->counts,
		.exact_counts = s->exact,
		.randoms = s->randoms,
		.scatters = s->scatters,
		.duration_s = s->duration_s,
		.seed = (uint64_t)s->seed,
		.isotope = s->isotope ? iso_isotope(s->isotope) : NULL,
		.tof_fwhm_ps = opt_find(sets, "tof-fwhm-ps")->given ? s->tof_fwhm_ps
		                                                    : iso_scanner_tof_fwhm_ps(in.scanner),
	};

	if ((st = half_life(&p.half_life_s, s))) goto done;
	if ((st = write_list(c, s->out, &p))) goto done;
	if (s->singles && (st = write_singles(c, s->singles, &p))) goto done;
	p.delayed = true;
	if (s->delayed && (st = write_list(c, s->delayed, &p))) goto done;
	st = cmd_report(c);
done:
	iso_array_free(&in.image);
	iso_array_free(&in.mu);
	iso_array_free(&in.eff);
	iso_scanner_free(in.scanner);
	return st;
}

/* What the options must be together, before anything is read. */
static int check_options(const struct settings *s)
{
	double t;

	if (!cmd_is_events(s->out) || (s->delayed && !cmd_is_events(s->delayed)))
		return iso_fail(ISO_EARG, "%s: events are written as .lmdT or .Cdh",
		                cmd_is_events(s->out) ? s->delayed : s->out);
	if (s->singles && cmd_is_events(s->singles))
		return iso_fail(ISO_EARG, "--singles %s: counts per crystal are an array, not events",
		                s->singles);
	if ((s->delayed || s->singles) && !(s->randoms > 0))
		return iso_fail(ISO_EARG, "--delayed and --singles need --randoms above 0");
	if ((s->singles || s->isotope || s->half_life_s > 0) && !(s->duration_s > 0))
		return iso_fail(ISO_EARG, "--singles, --isotope and --half-life-s need --duration-s");
	if (s->noise > 0) return iso_fail(ISO_EARG, "--noise is for scanners of kind transducers");
	if (s->isotope && s->half_life_s > 0)
		return iso_fail(ISO_EARG, "--isotope and --half-life-s: give one of them");
	return half_life(&t, s);
}

static int check_outputs(const struct cmd *c, const struct settings *s)
{
	int st = cmd_check_output(c, s->out);

	if (!st && s->delayed) st = cmd_check_output(c, s->delayed);
	if (!st && s->singles) st = cmd_check_array(c, s->singles);
	return st;
}

bool simulate_asks(const struct opt *o)
{
	return o->given && (!o->real || *o->real != 0);
}

static int run_panels(struct cmd *c, const struct opt_set *sets, struct simulate_panels *p,
                      const struct settings *s)
{
	p->scanner = s->scanner;
	p->image = s->image;
	p->out = s->out;
	p->delayed = s->delayed;
	p->counts = s->counts;
	p->randoms = s->randoms;
	p->duration_s = s->duration_s;
	p->exact = s->exact;
	p->seed = (uint64_t)s->seed;
	return simulate_panels(c, sets, p);
}

/* The kind decides what the options mean, so a description that is wrong is told before them. Files
   of traces are of transducers. */
static int read_kind(enum iso_scanner_kind *kind, const char *path)
{
	iso_scanner *s = NULL;
	int st;

	if (iso_is_recording(path)) {
		*kind = ISO_TRANSDUCERS;
		return ISO_OK;
	}
	if (!(st = iso_scanner_read(&s, path))) *kind = iso_scanner_kind(s);
	iso_scanner_free(s);
	return st;
}

int main_simulate(int argc, char **argv)
{
	struct settings s = { .counts = 1e6, .seed = 1 };
	struct simulate_panels panels = { 0 };
	struct opt two_panels[SIMULATE_PANELS_OPTIONS];
	struct opt own[] = {
		{ 0, "scanner", .text = &s.scanner, .file = OPT_READS, .value = "SCANNER", .positional = true,
		  .required = true,
		  .help = "scanner description (YAML or JSON); transducers also from "
		          "a file of traces that holds them" },
		{ 0, "image", .text = &s.image, .file = OPT_MAY_READ, .value = "IMAGE", .positional = true,
		  .required = true,
		  .help = "activity, on any scale; for strips: ellipses, or a "
		          "file of them (.txt); for panels also a phantom; for "
		          "transducers nine-spheres, vessel-tree, or a file of spheres that do "
		          "not overlap (.yaml; smooth_fwhm_mm smooths them)" },
		{ 'o', "output", .text = &s.out, .file = OPT_WRITES, .value = "FILE", .required = true,
		  .help = "events (.lmdT, or CASToR .Cdh with its .Cdf, .hscan and .lut; strips: .f32; "
		          "panels: histogram of LORs, .npy; transducers: traces, .npy, .hdf5 or .h5)" },
		{ 0, "counts", .real = &s.counts, .value = "N", .min = 1, .max = 1e12,
		  .help = "expected number of events, all kinds together" },
		{ 0, "exact", .flag = &s.exact, .help = "exactly --counts events, not a Poisson number" },
		{ 0, "seed", .integer = &s.seed, .value = "N", .min = 0, .max = 9e15,
		  .help = "the same seed gives the same events or noise, whatever the threads" },
		{ 0, "mu", .text = &s.mu, .file = OPT_READS, .value = "FILE",
		  .help = "attenuation map, 1/mm" },
		{ 0, "norm", .text = &s.norm, .file = OPT_READS, .value = "FILE",
		  .help = "efficiency per crystal: thins all kinds of events alike" },
		{ 0, "tof-fwhm-ps", .real = &s.tof_fwhm_ps, .value = "PS", .min = 0, .max = 1e6,
		  .absent = "the scanner's", .help = "time-of-flight resolution; 0: no times" },
		{ 0, "randoms", .real = &s.randoms, .value = "F", .min = 0, .max = 1,
		  .help = "share of the events that are randoms: any pair, any time" },
		{ 0, "scatters", .real = &s.scatters, .value = "F", .min = 0, .max = 1,
		  .help = "share of the events with one photon deflected" },
		{ 0, "delayed", .text = &s.delayed, .file = OPT_WRITES, .value = "FILE",
		  .help = "also delayed coincidences, as the randoms but drawn apart" },
		{ 0, "singles", .text = &s.singles, .file = OPT_WRITES, .value = "FILE",
		  .help = "also counts per crystal that give the randoms" },
		{ 0, "duration-s", .real = &s.duration_s, .value = "S", .min = 0, .max = 4e6,
		  .help = "length of the scan; 0: events have no times" },
		{ 0, "isotope", .text = &s.isotope, .value = "NAME",
		  .help = "the activity decays over the scan: F-18, C-11, ..." },
		{ 0, "half-life-s", .real = &s.half_life_s, .value = "S", .min = 0, .max = 1e12,
		  .help = "the same by half life; 0: it does not decay" },
		{ 0, "noise", .real = &s.noise, .value = "F", .min = 0, .max = 1e3,
		  .help = "transducers: width of Gaussian noise, as a share of the greatest pressure" },
		{ 0 },
	};
	struct cmd c = { .cpu_only = true };
	struct opt_set sets[] = {
		{ NULL, own }, { "Two panels", two_panels }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 }
	};
	enum iso_scanner_kind kind;
	int st;

	simulate_panels_options(two_panels, &panels);
	if ((st = cmd_parse(&c, &usage, sets, argc, argv))) goto done;
	if (!s.scanner) {
		st = iso_fail(ISO_EARG, "simulate: SCANNER is missing; see isotome simulate --help");
		goto done;
	}
	if ((st = read_kind(&kind, s.scanner))) goto done;
	if (kind == ISO_PANELS) {
		st = run_panels(&c, sets, &panels, &s);
		goto done;
	}
	if ((st = simulate_panels_refuse(two_panels, &panels))) goto done;
	if (kind == ISO_STRIPS) {
		st = simulate_strips(&c, sets,
		                     &(struct simulate_strips){ s.scanner, s.image, s.out, llround(s.counts),
		                                                (uint64_t)s.seed });
		goto done;
	}
	if (kind == ISO_TRANSDUCERS) {
		st = simulate_sound(
			&c, sets,
			&(struct simulate_sound){ s.scanner, s.image, s.out, s.noise, (uint64_t)s.seed });
		goto done;
	}
	if ((st = check_options(&s))) goto done;
	if ((st = check_outputs(&c, &s))) goto done;
	if ((st = cmd_begin(&c))) goto done;
	st = run(&c, sets, &s);
done:
	cmd_end(&c);
	return st;
}
