/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome calibrate: a scanner's calibration from the image of a uniform phantom. */
#include "cmd.h"

#include "io/format.h"

static const struct opt_usage usage = {
	"calibrate",
	"Calibrate a scanner. The image f, in counts/mm, shows a uniform phantom of known activity "
	"concentration A, as 'isotome recon ray --isotope' makes it. The result is K of A [Bq/ml] = K f / (T "
	"b). The length of the frame T, the branching fraction b, the scanner and the options come from the "
	"record beside the image. 'isotome recon --calibration' takes the file for scans of the same scanner "
	"with the same options.",
	"  isotome calibrate phantom.nii --concentration 5000 --roi cylinder:0,0,0,80,120 -o scanner.json\n"
	"  isotome calibrate phantom.nii --concentration 21300 --at 2026-11-16T09:15 \\\n"
	"      --started-at 2026-11-16T10:02:30 --roi inside.nii -o scanner.json\n",
};

static int run(struct cmd *c, const struct iso_calibrate *p, const char *out)
{
	iso_calibration *k = NULL;
	int st = iso_calibrate(&k, p);

	if (!st && !(st = iso_calibration_write(out, k, c->force))) {
		double value = iso_calibration_k(k), error = iso_calibration_error(k);

		term_say(&c->term, "K = %.6g +- %.2g (%.2g %%) of scanner '%s'", value, error,
		         100 * error / value, iso_calibration_scanner(k));
		st = record_result(&c->record, "calibration",
		                   record_pack("{s:f, s:f}", "K", value, "standard_error", error));
	}
	iso_calibration_free(k);
	return st;
}

int main_calibrate(int argc, char **argv)
{
	struct iso_calibrate p = { .size = sizeof p };
	const char *out = NULL;
	struct cmd c = { 0 };
	struct opt own[] = {
		CMD_ARGUMENT("image", p.image, OPT_READS, "IMAGE",
		             "image of the phantom, with its record beside it"),
		CMD_OUTPUT(out, "calibration (.json)"),
		{ 0, "concentration", .real = &p.concentration, .unit = "Bq/ml", .value = "BQ/ML",
		  .min = 1e-9, .max = 1e15, .required = true,
		  .help = "activity concentration in the phantom" },
		{ 0, "at", .text = &p.at, .value = "TIME", .absent = "at the start of the scan",
		  .help = "time at which the phantom had this concentration: 14:30:15, or with the date "
		          "2026-11-16T14:30:15" },
		{ 0, "started-at", .text = &p.started_at, .value = "TIME",
		  .absent = "what the image's record says", .help = "when the scan started" },
		{ 0, "roi", .text = &p.roi, .file = OPT_MAY_READ, .value = "REGION|FILE", .required = true,
		  .help = "region well inside the phantom, in mm: cylinder:X,Y,Z,R,LENGTH[,AXIS], "
		          "sphere:X,Y,Z,R or box:X0,X1,Y0,Y1,Z0,Z1. An image on the same grid selects voxels "
		          "that are not 0" },
		{ 0, "force", .flag = &c.force, .transient = true, .help = "replace an existing file" },
		{ 'q', "quiet", .flag = &c.quiet, .transient = true, .help = "say nothing on stderr" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, 0), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = iso_target_check(out, c.force))) st = run(&c, &p, out);
	return cmd_end(&c, st);
}
