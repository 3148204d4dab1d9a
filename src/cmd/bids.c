/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome bids: an image into a PET-BIDS data set. */
#include "cmd.h"

#include <string.h>

static const struct opt_usage usage = {
	"bids",
	"Put an image in Bq/mL, or in SUV, into a PET-BIDS data set. The image becomes "
	"sub-LABEL/pet/sub-LABEL_pet.nii.gz with its sidecar; an SUV image goes under derivatives/isotome. "
	"Isotome makes the data set if it does not exist. The sidecar takes isotope, times, dose and method "
	"from the record beside the image. If the record lacks a value, Isotome asks for the value by name, "
	"or takes it from --with.",
	"  isotome bids image.nii --subject 01 -o study --manufacturer simulated --tracer-name FDG \\\n"
	"      --injected-mass n/a --specific-radioactivity n/a --mode-of-administration bolus\n"
	"  isotome bids suv.nii --subject 01 --session baseline --with study.json -o study\n",
};

enum { OWN = 10, KEYS = 32 };

int main_bids(int argc, char **argv)
{
	const char *value[KEYS] = { NULL };
	struct iso_bids p = { .size = sizeof p, .value = value };
	struct cmd c = { 0 };
	char path[PATH_MAX];
	const struct opt own[OWN] = {
		CMD_ARGUMENT("image", p.image, OPT_READS, "IMAGE",
		             "image of recon, with its record beside it"),
		{ 'o', "output", .text = &p.folder, .file = OPT_PLACE, .value = "FOLDER", .required = true,
		  .help = "folder of the data set" },
		{ 0, "subject", .text = &p.subject, .value = "LABEL", .required = true,
		  .help = "LABEL of sub-LABEL" },
		{ 0, "session", .text = &p.session, .value = "LABEL", .help = "LABEL of ses-LABEL" },
		{ 0, "tracer", .text = &p.tracer, .value = "LABEL", .help = "LABEL of trc-LABEL" },
		{ 0, "reconstruction", .text = &p.reconstruction, .value = "LABEL",
		  .help = "LABEL of rec-LABEL" },
		{ 0, "run", .text = &p.run, .value = "LABEL", .help = "LABEL of run-LABEL" },
		{ 0, "with", .text = &p.with, .file = OPT_READS, .value = "FILE",
		  .help = "JSON file with keys of the sidecar: the keys below, and any others" },
		{ 0, "force", .flag = &p.force, .transient = true, .help = "replace an existing image" },
		{ 0 },
	};
	struct opt first[OWN], asked[KEYS] = { { 0 } };
	struct opt_set sets[] = {
		{ NULL, first }, { "Keys of the sidecar", asked }, cmd_common(&c, 0), { 0 }
	};

	memcpy(first, own, sizeof own);
	for (int k = 0; k < KEYS - 1 && iso_bids_key(k); k++)
		asked[k] = (struct opt){ .name = iso_bids_key(k)->name,
			                 .text = &value[k],
			                 .value = "VALUE",
			                 .help = iso_bids_key(k)->help };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st) st = iso_bids_write(path, sizeof path, &p);
	if (!st) st = record_result(&c.record, "image", record_string(path));
	if (!st && !c.json) puts(path);
	return cmd_end(&c, st);
}
