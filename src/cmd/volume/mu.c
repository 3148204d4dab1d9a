/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome mu: attenuation at 511 keV from a CT in Hounsfield units. */
#include "onto.h"

#include <math.h>
#include <string.h>

#define METAL 2000 /* HU: denser than any bone */
#define AIR -500   /* HU: what no CT is without */

struct mu_settings {
	const char *ct, *out;
	double kvp, smooth, shift[3];
	struct onto onto;
};

static const struct opt_usage usage = {
	"mu",
	"Turn a CT in Hounsfield units into attenuation at 511 keV in 1/mm, for --mu of other commands. The "
	"CT is a NIfTI image, straight or oblique, or a DICOM series that is not compressed, given by its "
	"folder or one of its files. Two straight lines that depend on the tube voltage (Carney et al. 2006) "
	"turn HU into attenuation. Isotome then smooths the map by as much as the new voxels are wider than "
	"the CT's, and interpolates. Axes are right, anterior, superior, in mm as the CT has them. Outside "
	"the CT the attenuation is 0.",
	"  isotome mu CT -o mu.nii\n"
	"  isotome mu CT/IM0001 --like image.nii --smooth 5 -o mu.nii\n"
	"  isotome mu ct.nii.gz --kvp 120 --voxel 4 --shift 0,0,-12.5 -o mu.nii\n",
};

/* ---- the CT ---- */

/* Tells of values that a CT should not have. */
static int look(struct cmd *c, const struct mu_settings *s, const struct iso_volume *ct)
{
	const int64_t n = ct->dim[0] * ct->dim[1] * ct->dim[2];
	double least = INFINITY, most = -INFINITY;
	int64_t metal = 0;

	for (int64_t i = 0; i < n; i++) {
		least = fmin(least, (double)ct->v[i]);
		most = fmax(most, (double)ct->v[i]);
		metal += ct->v[i] > METAL;
	}
	if (least > AIR)
		record_warn(&c->record,
		            "%s: the least value is %g, air has -1000: is this a CT in Hounsfield units?",
		            s->ct, least);
	if (metal > 0)
		record_warn(
			&c->record,
			"%s: %" PRId64
			" voxels above %d HU, up to %g: attenuation of metal and contrast comes out too high",
			s->ct, metal, METAL, most);
	return record_result(&c->record, "hu", record_pack("{s:f, s:f}", "min", least, "max", most));
}

/* The voltage that the user says, else the file. */
static int choose_voltage(struct cmd *c, struct mu_settings *s, const struct iso_volume *ct)
{
	if (!cmd_given(c, "kvp")) s->kvp = ct->kvp;
	if (s->kvp == 0)
		return iso_fail(ISO_EINPUT, "%s: says no tube voltage; --kvp does, such as --kvp 120", s->ct);
	if (!(s->kvp >= ISO_KVP_LEAST && s->kvp <= ISO_KVP_MOST))
		return iso_fail(ISO_EINPUT,
		                "%s: a tube voltage of %g kVp, known are %g to %g; --kvp names one of these",
		                s->ct, s->kvp, ISO_KVP_LEAST, ISO_KVP_MOST);
	return record_result(&c->record, "kvp", record_real(s->kvp));
}

static int read_ct(struct cmd *c, const struct mu_settings *s, struct iso_volume *ct)
{
	int st;

	iso_volume_free(ct);
	record_stage(&c->record, "read");
	if ((st = iso_volume_read(ct, c->ctx, s->ct)) || (st = look(c, s, ct))) return st;
	for (int r = 0; r < 3; r++) ct->affine[r][3] += s->shift[r];
	return ISO_OK;
}

/* ---- the map ---- */

static int plan(struct cmd *c, const struct mu_settings *s, const struct iso_volume *ct,
                const struct iso_grid *g)
{
	struct iso_plan p = cmd_plan_begin(c);

	iso_plan_add(&p, "CT", ct->dim[0] * ct->dim[1] * ct->dim[2], sizeof(iso_real), false);
	iso_plan_add(&p, "attenuation", iso_grid_voxels(g), sizeof(iso_real), false);
	iso_volume_plan(&p, c->ctx, g, ct, s->smooth);
	return cmd_plan(c, &p);
}

static int make(struct cmd *c, const struct mu_settings *s, const struct iso_volume *ct,
                const struct iso_grid *g)
{
	const int64_t n = iso_grid_voxels(g);
	struct iso_array mu = { 0 };
	int64_t outside = 0;
	int st;

	record_stage(&c->record, "resample");
	if ((st = iso_mu_of_hu(ct->v, ct->dim[0] * ct->dim[1] * ct->dim[2], ct->v, s->kvp)) ||
	    (st = iso_array_on_grid(&mu, g)) ||
	    (st = iso_volume_resample(mu.v, &outside, c->ctx, g, ct, s->smooth)) ||
	    (st = record_result(&c->record, "outside_voxels", json_integer(outside))))
		goto done;
	record_stage(&c->record, NULL);
	if (outside == n)
		st = iso_fail(ISO_EARG,
		              "the grid lies outside of %s; --centre or --shift brings them together", s->ct);
	else if (outside > 0 && onto_asked(c)) /* of the grid that covers an oblique CT, corners always do */
		record_warn_share(&c->record, (double)outside, (double)n,
		                  "%.3g %% of the grid lies outside of %s; attenuation is 0 there",
		                  100 * (double)outside / (double)n, s->ct);
	strcpy(mu.unit, "1/mm");
	if (!st) st = cmd_write(c, s->out, &mu);
done:
	iso_array_free(&mu);
	return st;
}

static int run(struct cmd *c, struct mu_settings *s)
{
	struct iso_volume ct = { 0 };
	struct iso_grid g;
	int st;

	if ((st = iso_volume_peek(&ct, s->ct)) || (st = onto_inputs(c, &ct)) ||
	    (st = choose_voltage(c, s, &ct)) || (st = onto_grid(&g, c, &s->onto, &ct)) ||
	    (st = iso_write_check_grid(s->out, &g)) ||
	    (st = record_result(&c->record, "grid", cmd_grid_json(&g))) || (st = plan(c, s, &ct, &g)) ||
	    (st = read_ct(c, s, &ct)))
		goto done;
	st = make(c, s, &ct, &g);
done:
	iso_volume_free(&ct);
	return st;
}

int main_mu(int argc, char **argv)
{
	struct mu_settings s = { 0 };
	struct opt own[] = {
		CMD_ARGUMENT("ct", s.ct, OPT_READS, "CT",
		             "NIfTI image, DICOM folder, or a file of a DICOM series"),
		CMD_OUTPUT(s.out, "attenuation (.nii, .nii.gz, .npy, .raw)"),
		{ 0, "kvp", .real = &s.kvp, .value = "KV", .min = ISO_KVP_LEAST, .max = ISO_KVP_MOST,
		  .absent = "what the CT says",
		  .help = "voltage of the X-ray tube, kV. For NIfTI it comes from KVP in the JSON file "
		          "beside the image" },
		{ 0, "smooth", .real = &s.smooth, .value = "MM", .min = 0, .max = 1000,
		  .help = "full width at half maximum of a further Gaussian, such as the resolution of the "
		          "PET" },
		{ 0, "shift", .real = s.shift, .count = 3, .value = "X,Y,Z",
		  .help = "move the CT by this much, mm, to align the two scanners" },
		{ 0 },
	};
	struct cmd c = { .cpu_only = true, .like_image = true };
	struct opt_set sets[] = { { NULL, own },
		                  onto_options(&s.onto, "the CT"),
		                  cmd_common(&c, CMD_COMPUTES | CMD_WRITES),
		                  { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = cmd_check_array(&c, s.out)) && !(st = cmd_begin(&c))) st = run(&c, &s);
	return cmd_end(&c, st);
}
