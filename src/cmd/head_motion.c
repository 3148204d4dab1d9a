/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome motion: the poses of a head over time, from its events. */
#include "cmd.h"

#include "core/size.h"
#include "file/out.h"
#include "file/suffix.h"
#include "io/format.h"
#include "report/markup/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEGREES 57.29577951308232

struct motion {
	const char *events, *scanner, *reference, *mu, *out, *picture;
	double frame_s, smooth, tof, voxel[3];
	int64_t least, reference_frames, rounds, iterations, grid[3];
};

static const struct opt_usage usage = {
	"motion",
	"Find how a head moves during a scan, from the events alone. Isotome cuts the scan into short "
	"frames, "
	"reconstructs each frame, and registers it to a reference by a shift and a rotation. The result is a "
	"table of poses for 'isotome recon ray --poses'. The reference is the mean of the first frames; from "
	"the second round on it is the mean of all frames, each moved to where the reference lies. Frames "
	"that fit badly become rows of nan.",
	"  isotome motion head.Cdh -o poses.csv\n"
	"  isotome motion head.Cdh --frame-s 2 --picture poses.svg -o poses.csv\n"
	"  isotome motion head.Cdh --reference still.nii --rounds 1 -o poses.csv\n",
};

/* ---- the picture ---- */

/* Shift of the grid's centre, mm, and rotation vector, degrees. */
static void six_numbers(double v[6], const struct iso_pose *p, const double c[3])
{
	double angle, s, at[3];

	iso_pose_apply(at, p, c);
	for (int i = 0; i < 3; i++) {
		int j = (i + 1) % 3, k = (i + 2) % 3;

		v[i] = at[i] - c[i];
		v[3 + i] = .5 * (p->m[4 * k + j] - p->m[4 * j + k]);
	}
	s = sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5]);
	angle = atan2(s, .5 * (p->m[0] + p->m[5] + p->m[10] - 1));
	for (int i = 3; i < 6; i++) v[i] *= s > 0 ? DEGREES * angle / s : 0;
}

/* v: times, then the six numbers, then the correlation; found->n values each. */
static void draw(struct iso_text *t, double *v, const struct iso_tracked *found)
{
	static const char *const names[] = { "x", "y", "z", "about x", "about y", "about z", "correlation" };
	struct iso_svg_curve curve[7];
	int64_t n = found->n;

	for (int64_t k = 0; k < n; k++) {
		const struct iso_tracked_frame *f = &found->frame[k];
		double six[6];

		six_numbers(six, &f->pose, found->grid.centre);
		v[k] = .5 * (f->from_s + f->to_s);
		for (int i = 0; i < 6; i++) v[(1 + i) * n + k] = f->known ? six[i] : NAN;
		v[7 * n + k] = f->correlation;
	}
	for (int i = 0; i < 7; i++)
		curve[i] = (struct iso_svg_curve){ names[i], i % 3 + 1, n, v, v + (1 + i) * n };
	const struct iso_svg_chart charts[] = {
		{ "shift of the head over time", "s", "shift of the grid's centre, mm", 3, curve,
		  ISO_SVG_PLAIN },
		{ "rotation of the head over time", "s", "rotation, degrees", 3, curve + 3, ISO_SVG_PLAIN },
		{ "correlation of each frame with the reference", "s", "correlation", 1, curve + 6,
		  ISO_SVG_PLAIN },
	};

	iso_svg_file(t, 3, charts);
}

static int write_picture(struct cmd *c, const char *path, const struct iso_tracked *found)
{
	double *v = size_alloc(8 * found->n, sizeof *v);
	struct iso_text t = { 0 };
	struct iso_out o = { 0 };
	int st = v ? ISO_OK : iso_fail_memory("picture", 8 * found->n * (int64_t)sizeof *v);

	if (!st) draw(&t, v, found);
	if (!st && t.failed) st = iso_fail_memory("picture", (int64_t)t.n);
	if (!st && !t.n)
		record_warn(&c->record, "%s: fewer than two frames have a pose; no picture is written", path);
	if (!st && t.n && !(st = cmd_text(c)) &&
	    !(st = iso_out_open(&o, path, (int64_t)t.n, ISO_OUT_PLAIN)) &&
	    !(st = iso_out_write(&o, t.v, (int64_t)t.n)))
		st = iso_target_finish(&o, c->text);
	iso_out_free(&o);
	iso_text_free(&t);
	free(v);
	return st;
}

/* ---- the table ---- */

static int record_frames(struct cmd *c, const struct iso_tracked *found)
{
	json_t *list = json_array();
	bool bad = !list;

	for (int64_t k = 0; k < found->n && !bad; k++) {
		const struct iso_tracked_frame *f = &found->frame[k];

		bad = json_array_append_new(
			      list, record_pack("{s:f, s:f, s:I, s:i, s:f, s:b}", "from_s", f->from_s, "to_s",
		                                f->to_s, "events", (json_int_t)f->events, "steps", f->steps,
		                                "correlation", f->correlation, "known", (int)f->known)) != 0;
	}
	if (bad) {
		json_decref(list);
		return iso_fail(ISO_ENOMEM, "motion: no memory for the record");
	}
	int st = record_result(&c->record, "frames", list);

	if (!st) st = record_result(&c->record, "grid", cmd_grid_json(&found->grid));
	return st ? st : record_result(&c->record, "tof_fwhm_ps", record_real(found->tof_fwhm_ps));
}

static void tell(struct cmd *c, const struct iso_tracked *found)
{
	if (found->outliers > 0)
		record_warn(&c->record,
		            "%" PRId64 " of %" PRId64
		            " frames fit the reference badly or lie more than 30 mm from their neighbours: "
		            "their rows are nan",
		            found->outliers, found->n);
	if (found->empty > 0)
		record_warn(&c->record,
		            "%" PRId64 " of %" PRId64 " frames have no events: their rows are nan",
		            found->empty, found->n);
	term_say(&c->term, "%" PRId64 " frames, %" PRId64 " with a pose", found->n,
	         found->n - found->outliers - found->empty);
}

static int write_table(struct cmd *c, const char *path, const struct iso_tracked *found)
{
	iso_poses *p = NULL;
	int st = iso_tracked_poses(&p, found);

	if (!st && !(st = cmd_text(c))) st = iso_poses_write_with(path, p, c->force, c->text);
	iso_poses_free(p);
	return st;
}

/* ---- the run ---- */

static int read_reference(struct cmd *c, struct iso_array *a, const char *path)
{
	int st = record_read(&c->record, a, path, ISO_FINITE);

	if (!st) st = record_input(&c->record, path);
	if (!st && !a->has_grid)
		st = iso_fail(ISO_EINPUT, "%s: has no voxel sizes; the reference must be an image in mm",
		              path);
	return st;
}

static int read_mu(struct cmd *c, struct iso_array *a, const char *path)
{
	int st = record_read_mu(&c->record, a, path, NULL);

	if (!st) record_warn_mu(&c->record, a, path);
	return st;
}

static int track(struct cmd *c, const struct motion *m, const iso_event_file *f, const struct iso_track *p)
{
	struct iso_tracked found = { .size = sizeof found };
	struct iso_plan plan = cmd_plan_begin(c);
	int st = iso_track_plan(&plan, c->ctx, f, p);

	if (st) iso_plan_free(&plan);
	if (st || (st = cmd_plan(c, &plan))) return st;
	record_stage(&c->record, "motion");
	st = iso_track_events(&found, c->ctx, f, p);
	record_stage(&c->record, NULL);
	if (!st) tell(c, &found);
	if (!st) st = record_frames(c, &found);
	if (!st) st = write_table(c, m->out, &found);
	if (!st && m->picture) st = write_picture(c, m->picture, &found);
	iso_tracked_free(&found);
	return st;
}

static int run(struct cmd *c, const struct motion *m)
{
	struct iso_events_options how = { .size = sizeof how, .ctx = c->ctx };
	struct iso_track p = { .size = sizeof p,
		               .frame_s = m->frame_s,
		               .events = m->least > 0 ? m->least : -1,
		               .reference_frames = (int)m->reference_frames,
		               .rounds = (int)m->rounds,
		               .iterations = (int)m->iterations,
		               .smooth_mm = m->smooth,
		               .tof_fwhm_ps = cmd_given(c, "tof-fwhm-ps") && m->tof == 0 ? -1 : m->tof };
	struct iso_array reference = { 0 }, mu = { 0 };
	iso_scanner *scanner = NULL;
	iso_event_file *f = NULL;
	int st = ISO_OK;

	memcpy(p.grid.n, m->grid, sizeof p.grid.n);
	memcpy(p.grid.voxel, m->voxel, sizeof p.grid.voxel);
	record_stage(&c->record, "read");
	if (m->scanner && (st = cmd_scanner(c, &scanner, m->scanner))) return st;
	how.scanner = scanner;
	if ((st = iso_event_file_open(&f, m->events, &how)) || (st = record_input(&c->record, m->events)) ||
	    (m->reference && (st = read_reference(c, &reference, m->reference))) ||
	    (m->mu && (st = read_mu(c, &mu, m->mu))))
		goto done;
	p.scanner = scanner;
	if (m->reference) p.reference = &reference;
	if (m->mu) p.mu = &mu;
	st = track(c, m, f, &p);
done:
	iso_event_file_close(f);
	iso_scanner_free(scanner);
	iso_array_free(&reference);
	iso_array_free(&mu);
	return st;
}

static int check(const struct cmd *c, const struct motion *m)
{
	int st;

	if (iso_has_suffix(m->out, ".yrt.csv"))
		return iso_fail(
			ISO_EARG,
			"%s: YRT-PET's tables have no place for frames without a pose; 'isotome convert' "
			"makes them of a .csv that has none",
			m->out);
	if (m->picture && !iso_has_suffix(m->picture, ".svg"))
		return iso_fail(ISO_EARG, "%s: the picture must be a .svg", m->picture);
	if (m->reference && cmd_given(c, "reference-frames"))
		return iso_fail(ISO_EARG,
		                "--reference is an image in place of the mean of --reference-frames");
	st = cmd_check(c, m->out, iso_poses_write_check);
	return st ? st : cmd_check(c, m->picture, iso_target_check);
}

int main_motion(int argc, char **argv)
{
	struct motion m = { .frame_s = 1,
		            .least = 400000,
		            .reference_frames = 2,
		            .rounds = 2,
		            .iterations = 4,
		            .smooth = 6,
		            .voxel = { 4, 4, 4 } };
	struct opt own[] = {
		CMD_ARGUMENT("events", m.events, OPT_READS, "EVENTS",
		             "list-mode events with times (.Cdh, .petsird, .l.hdr, .root)"),
		CMD_OUTPUT(m.out, "table of poses, a row at the middle of each frame (.csv, .npy)"),
		{ 0, "scanner", .text = &m.scanner, .file = OPT_READS, .value = "FILE",
		  .absent = "that of the events", .help = "scanner description" },
		{ 0, "frame-s", .real = &m.frame_s, .unit = "s", .value = "S", .min = .01, .max = 1e6,
		  .help = "least length of a frame" },
		{ 0, "events-per-frame", .integer = &m.least, .value = "N", .min = 0, .max = 1e12,
		  .help = "least number of events of a frame, which lasts until both are reached" },
		{ 0, "reference-frames", .integer = &m.reference_frames, .value = "N", .min = 1, .max = 1e6,
		  .help = "the reference is the mean of the first N frames" },
		{ 0, "reference", .text = &m.reference, .file = OPT_READS, .value = "IMAGE",
		  .help = "register to this image instead, which shows the head without motion" },
		{ 0, "mu", .text = &m.mu, .file = OPT_READS, .value = "FILE",
		  .help = "attenuation, 1/mm, as the head lies in the first frames (or in --reference); it "
		          "moves "
		          "with the head. Without it rotations come out up to a tenth too small" },
		{ 0, "rounds", .integer = &m.rounds, .value = "N", .min = 1, .max = 20,
		  .help = "times that all frames are registered; from the second round on, to the mean of "
		          "all frames" },
		{ 0, "iterations", .integer = &m.iterations, .value = "N", .min = 1, .max = 1000,
		  .help = "iterations of MLEM for a frame" },
		{ 0, "smooth", .real = &m.smooth, .unit = "mm", .value = "MM", .min = .1, .max = 100,
		  .help = "full width at half maximum of the filter of a frame" },
		{ 0, "voxel", .real = m.voxel, .count = 3, .spread = true, .unit = "mm", .value = "MM",
		  .min = .1, .max = 100, .help = "size of voxels" },
		{ 0, "grid", .integer = m.grid, .count = 3, .value = "NX,NY,NZ", .min = 1, .max = 4096,
		  .absent = "the field of view", .help = "number of voxels" },
		{ 0, "tof-fwhm-ps", .real = &m.tof, .unit = "ps", .value = "PS", .min = 0, .max = 1e5,
		  .absent = "that of the events or the scanner",
		  .help = "time of flight resolution; 0: do not use it" },
		{ 0, "picture", .text = &m.picture, .file = OPT_WRITES, .value = "FILE",
		  .help = "also draw the poses and the correlations over time (.svg)" },
		{ 0 },
	};
	struct cmd c = { 0 };
	struct opt_set sets[] = { { NULL, own }, cmd_common(&c, CMD_COMPUTES | CMD_WRITES), { 0 } };
	int st = cmd_parse(&c, &usage, sets, argc, argv);

	if (!st && !(st = check(&c, &m)) && !(st = cmd_begin(&c))) st = run(&c, &m);
	return cmd_end(&c, st);
}
