/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate: list-mode events of a scanner from an activity image. */
#include "cmd.h"

#include "core/plan.h"
#include "core/status.h"

struct settings {
	const char *scanner, *image, *out, *mu;
	double counts, randoms, scatters, tof_fwhm_ps;
	bool exact;
	int64_t seed;
};

static const struct opt_usage usage = {
	"simulate",
	"Simulate list-mode events: decays in the voxels of an image, two photons in an isotropic "
	"direction, crystals, attenuation, TOF blur, randoms and a scatter-like background.",
	"  isotome phantom spheres -o x.nii --mu mu.nii\n"
	"  isotome simulate examples/scanners/clinical-ring.yaml x.nii --mu mu.nii --counts 2e6 -o e.lmdT\n"
	"  isotome simulate ring.yaml x.nii --counts 1e6 --randoms 0.2 --tof-fwhm-ps 0 -o e.lmdT\n",
};

static int plan(struct cmd *c, const struct settings *s, int64_t voxels)
{
	struct iso_plan p = { 0 };

	iso_plan_add(&p, "events", (int64_t)(2.1 * s->counts) + 1000, sizeof(struct iso_event), false);
	iso_plan_add(&p, "emission table", voxels, 16, false);
	return cmd_plan(c, &p);
}

static int report(struct cmd *c, const struct settings *s, const struct iso_simulated *i)
{
	int st = record_result(&c->record, "events",
		json_pack("{s:I, s:I, s:I, s:f}", "trues", (json_int_t)i->trues,
			  "scatters", (json_int_t)i->scatters, "randoms", (json_int_t)i->randoms,
			  "decays", i->decays));

	if (!st && s->randoms > 0)
		st = record_result(&c->record, "additive",
			json_pack("{s:f, s:f, s:f}", "randoms_per_pair", i->randoms_per_pair,
				  "randoms_per_pair_per_mm_tof", i->randoms_per_pair_mm,
				  "window_ps", i->window_ps));
	return st;
}

static int run(struct cmd *c, const struct opt_set *sets, const struct settings *s)
{
	struct iso_array x = { 0 }, mu = { 0 };
	struct iso_events e = { 0 };
	struct iso_simulated info;
	iso_scanner *scanner = NULL;
	int st;

	record_stage(&c->record, "read");
	if ((st = iso_scanner_read(&scanner, s->scanner))) goto done;
	if ((st = iso_read_image(&x, s->image, ISO_NONNEGATIVE, NULL))) goto done;
	if (s->mu && (st = cmd_read_map(&mu, s->mu, &x.grid))) goto done;
	if ((st = record_input(&c->record, s->scanner)) ||
	    (st = record_input(&c->record, s->image)) ||
	    (s->mu && (st = record_input(&c->record, s->mu)))) goto done;
	if ((st = plan(c, s, x.n))) goto done;

	struct iso_simulate p = {
		.scanner = scanner, .activity = &x, .mu = s->mu ? &mu : NULL, .counts = s->counts,
		.exact_counts = s->exact, .randoms = s->randoms, .scatters = s->scatters,
		.tof_fwhm_ps = opt_find(sets, "tof-fwhm-ps")->given ? s->tof_fwhm_ps
								    : iso_scanner_tof_fwhm_ps(scanner),
		.seed = (uint64_t)s->seed,
	};

	record_stage(&c->record, "simulate");
	if ((st = iso_simulate(&e, &info, c->ctx, &p))) goto done;
	record_stage(&c->record, NULL);
	if ((st = report(c, s, &info))) goto done;
	if ((st = cmd_write_events(c, s->out, &e))) goto done;
	st = cmd_report(c);
done:
	iso_array_free(&x);
	iso_array_free(&mu);
	iso_events_free(&e);
	iso_scanner_free(scanner);
	return st;
}

int main_simulate(int argc, char **argv)
{
	struct settings s = { .counts = 1e6, .seed = 1 };
	struct opt own[] = {
		{ 0, "scanner", .text = &s.scanner, .value = "SCANNER", .positional = true,
		  .required = true, .help = "scanner description (YAML or JSON)" },
		{ 0, "image", .text = &s.image, .value = "IMAGE", .positional = true,
		  .required = true, .help = "activity, on any scale" },
		{ 'o', "output", .text = &s.out, .value = "FILE", .required = true,
		  .help = "events (.lmdT)" },
		{ 0, "counts", .real = &s.counts, .value = "N", .min = 1, .max = 1e12,
		  .help = "expected number of events, all kinds together" },
		{ 0, "exact", .flag = &s.exact, .help = "exactly --counts events, not a Poisson number" },
		{ 0, "seed", .integer = &s.seed, .value = "N", .min = 0, .max = 9e15,
		  .help = "the same seed gives the same events, whatever the threads" },
		{ 0, "mu", .text = &s.mu, .value = "FILE", .help = "attenuation map, 1/mm" },
		{ 0, "tof-fwhm-ps", .real = &s.tof_fwhm_ps, .value = "PS", .min = 0, .max = 1e6,
		  .absent = "the scanner's", .help = "time-of-flight resolution; 0: no times" },
		{ 0, "randoms", .real = &s.randoms, .value = "F", .min = 0, .max = 1,
		  .help = "share of the events that are randoms: any pair, any time" },
		{ 0, "scatters", .real = &s.scatters, .value = "F", .min = 0, .max = 1,
		  .help = "share of the events with one photon deflected" },
		{ 0 },
	};
	struct cmd c = { .cpu_only = true };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	int st;

	if ((st = cmd_parse(&c, &usage, sets, argc, argv))) goto done;
	if (!cmd_is_events(s.out)) {
		st = iso_fail(ISO_EARG, "%s: events are written as .lmdT", s.out);
		goto done;
	}
	if ((st = cmd_check_output(&c, s.out))) goto done;
	if ((st = cmd_begin(&c))) goto done;
	st = run(&c, sets, &s);
done:
	cmd_end(&c);
	return st;
}
