/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome response: what the crystals of a scanner make of photons, by angle and energy. */
#include "cmd.h"
#include "facts.h"

static const struct opt_usage usage = {
	"response",
	"Make the table of what the crystals of a scanner record: parallel photons fly at one module, from "
	"all "
	"directions, through the crystals of the whole scanner, and its readout tells which crystal records "
	"each. "
	"The table holds how large a crystal is for the photons (its effective area), and how far their "
	"lines lie "
	"from its nominal point. 'recon ray --response' lays the lines of an event by it, weighs pairs of "
	"crystals, and estimates scatter. The scanner's description needs the map 'detector'.",
	"  isotome response ring.yaml -o ring.resp.h5\n"
	"  isotome response ring.yaml --photons 2e7 --no-energies -o ring.resp.h5\n"
	"  isotome recon ray --events scan.lmdT --scanner ring.yaml --response ring.resp.h5 -o x.nii\n",
};

static const struct fact facts[] = {
	FACT("photons", struct iso_response_info, photons),
	FACT("records", struct iso_response_info, records),
	FACT("window_kev", struct iso_response_info, window_kev),
	FACT("area_mm2", struct iso_response_info, area_mm2),
	FACT("depth_mm", struct iso_response_info, depth_mm),
	FACT("chi2", struct iso_response_info, chi2),
	FACT("joined", struct iso_response_info, joined),
	FACT("scanner", struct iso_response_info, scanner),
	{ 0 },
};

static int write_table(struct cmd *c, const char *path, const iso_response *r)
{
	struct iso_response_info i = { .size = sizeof i };
	int st;

	record_stage(&c->record, "write");
	if ((st = iso_response_describe(&i, r)) ||
	    (st = record_result(&c->record, "response", facts_json(facts, &i))))
		return st;
	if (i.joined > 0)
		record_warn(&c->record,
		            "%" PRId64
		            " histograms of offsets have fewer than 400 counts, and are joined with "
		            "those of neighbouring crystals; more --photons leave each its own",
		            i.joined);
	if ((st = cmd_text(c)) || (st = iso_response_write(path, r, c->text))) return st;
	record_stage(&c->record, NULL);
	term_say(&c->term,
	         "%s: %.3g photons, %.3g recorded; effective area along the normal %.4g mm2, mean depth of "
	         "the first "
	         "deposit %.3g mm, chi2 of the smooth areas %.3f",
	         path, (double)i.photons, (double)i.records, i.area_mm2, i.depth_mm, i.chi2);
	return ISO_OK;
}

static int run(struct cmd *c, const char *scanner, const char *out, struct iso_response_make *p)
{
	struct iso_plan plan = cmd_plan_begin(c);
	iso_response *r = NULL;
	iso_scanner *s = NULL;
	int st = cmd_scanner(c, &s, scanner);

	p->scanner = s;
	if (!st) st = iso_response_plan(&plan, c->ctx, p);
	if (!st) st = cmd_plan(c, &plan);
	record_stage(&c->record, "photons");
	if (!st && !(st = iso_response_create(&r, c->ctx, p))) st = write_table(c, out, r);
	iso_response_free(r);
	iso_scanner_free(s);
	return st;
}

int main_response(int argc, char **argv)
{
	const char *scanner = NULL, *out = NULL;
	int64_t seed = 1;
	double photons = 0;
	struct iso_response_make p = { .size = sizeof p };
	struct cmd c = { 0 };
	struct opt own[] = {
		CMD_ARGUMENT("scanner", scanner, OPT_READS, "SCANNER",
		             "scanner description with the map 'detector'"),
		CMD_OUTPUT(out, "the table, .h5"),
		{ 0, "photons", .real = &photons, .value = "N", .min = 1, .max = 1e12,
		  .absent = "2e8, on CUDA 2e9",
		  .help = "photons of 511 keV, over all directions; each lower energy has a tenth of them" },
		{ 0, "no-energies", .flag = &p.no_energies,
		  .help = "511 keV alone: a table for lines and weights, not for scatter" },
		{ 0, "seed", .integer = &seed, .value = "N", .min = 0, .max = 9e15,
		  .help = "seed of the random numbers" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	p.photons = (int64_t)photons;
	p.seed = (uint64_t)seed;
	if (!st && !(st = cmd_check(&c, out, iso_response_write_check)) && !(st = cmd_begin(&c)))
		st = run(&c, scanner, out, &p);
	return cmd_end(&c, st);
}
