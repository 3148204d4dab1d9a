/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome recon: an image from measured data. */
#include "problem/follow.h"
#include "problem/recon_cg.h"

#include "core/progress.h"
#include "core/status.h"
#include "io/format.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const methods[] = { "mlem", "osem", "cg", "direct", "fbp", NULL };
static const char *const rules[] = {
	"interleaved", "blocks", "random", "mod", "groups", NULL
}; /* as the enum */

static const struct opt_usage usage = {
	"recon",
	"Reconstruct an image from measured data: by MLEM or OSEM (ray, strip, srm), filtered "
	"back-projection (ubp) or penalised least squares (svoxel, sradon). The sensitivity of PET comes "
	"from "
	"the scanner (also for a histogram), or from a file. Events that do not fit memory are read in "
	"blocks. An interrupted run of iterations leaves a checkpoint beside the output. 'isotome recon "
	"MODEL "
	"--help' has the options of a model.",
	"  isotome recon ray --events e.lmdT --scanner examples/scanners/clinical-ring.yaml \\\n"
	"      --grid 128,128,50 --voxel 4 --method osem --subsets 8 --iterations 4 -o x.nii\n"
	"  isotome recon ray --events e.lmdT --sens s.nii --grid 128 --voxel 4 -o x.nii --resume\n"
	"  isotome recon ray --events e.Cdh --scanner s.yaml --grid 128 --voxel 4 --psf 4.5 \\\n"
	"      --delayed d.Cdh --frames 0:10:120,180,300 --isotope F-18 --filter gaussian:5 -o x.nii\n"
	"  isotome recon ray --events large.lmdT --sens s.nii --grid 256 --voxel 2 --method osem \\\n"
	"      --memory-limit 16 --scratch /data/tmp -o x.nii\n"
	"  isotome recon strip --events e.f32 --scanner examples/scanners/bialas2015.yaml \\\n"
	"      --kernel tan --iterations 10 -o x.nii\n"
	"  isotome recon srm --srm m.srm --data counts.npy --method osem --subsets 10 -o x.nii\n"
	"  isotome recon ubp --data y.npy --scanner examples/scanners/wang2013.yaml \\\n"
	"      --grid 105,105,220 --voxel 0.28 -o x.nii\n"
	"  isotome recon ubp --data Scan_9.msot --band-mhz 0.1,4 -o slice.nii\n"
	"  isotome recon svoxel --scanner array.yaml --data traces.npy --grid 64 --voxel 0.28 \\\n"
	"      --method cg --penalty quadratic:1e4 --iterations 20 --curve cost.csv -o x.nii\n"
	"  daq | isotome recon strip --events - --follow --scanner strips.yaml -o x.npy\n"
	"  isotome recon --like x.json --iterations 8 -o y.nii\n",
};

const char *const recon_not_in_key[] = {
	"output",     "device",     "threads", "memory-limit", "checkpoint-minutes",
	"stop-after", "save-every", "stream",  "block",        "scratch",
	"curve",      NULL,
};

/* ---- what the run will write besides its output ---- */

static int beside_output(char *path, size_t size, const struct settings *s, const char *suffix)
{
	return snprintf(path, size, "%s%s", s->out, suffix) < (int)size
	               ? ISO_OK
	               : iso_fail(ISO_EARG, "%s: name too long", s->out);
}

int recon_checkpoint(char *path, size_t size, const struct settings *s)
{
	return beside_output(path, size, s, ".ckpt");
}

int recon_frames_path(char *path, size_t size, const struct settings *s)
{
	return beside_output(path, size, s, ".frames");
}

int recon_iteration_path(char *path, size_t size, const struct settings *s, int k, int iteration)
{
	const char *base = strrchr(s->out, '/') ? strrchr(s->out, '/') + 1 : s->out;
	const char *dot = strchr(base, '.');
	char frame[16] = "";

	if (s->frames.series) snprintf(frame, sizeof frame, s->frames.n < 100 ? "_f%02d" : "_f%06d", k + 1);
	int n = snprintf(path, size, "%.*s%s_it%03d%s", (int)(dot ? dot - s->out : (long)strlen(s->out)),
	                 s->out, frame, iteration, dot ? dot : "");

	return n < (int)size ? ISO_OK : iso_fail(ISO_EARG, "%s: name too long", s->out);
}

/* ---- what no user should take for an image ---- */

int recon_check_image(struct cmd *c, const struct iso_array *x, int64_t k)
{
	int64_t bad = 0, zero = 0;
	char name[40] = "the image";

	for (int64_t i = 0; i < x->n; i++) {
		bad += !isfinite(x->v[i]);
		zero += x->v[i] == 0;
	}
	if (k > 0) snprintf(name, sizeof name, "image %" PRId64, k);
	if (bad > 0)
		return iso_fail(ISO_EINPUT,
		                "%s: %" PRId64 " of %" PRId64 " voxels are not finite: the data are too "
		                "large for this arithmetic",
		                name, bad, x->n);
	if (zero == x->n)
		record_warn(&c->record, "%s is 0 in every voxel: nothing of the data has come into it", name);
	return ISO_OK;
}

/* ---- checks before the work ---- */

/* A record has the defaults too: those are not asked for. */
int recon_refuse(const struct cmd *c, const struct opt_set *sets, const char *const *names, const char *with)
{
	for (int i = 0; names[i] && !c->like; i++)
		if (opt_find(sets, names[i])->given)
			return iso_fail(ISO_EARG, "--%s does not go with %s", names[i], with);
	return ISO_OK;
}

bool recon_is_direct(const struct settings *s)
{
	return strcmp(s->method, "direct") == 0 || strcmp(s->method, "fbp") == 0;
}

/* Filtered back-projection is a model's only method, or none of its. */
static int check_fbp(const struct settings *s, const struct model *m)
{
	bool only = m->method && strcmp(m->method, "fbp") == 0;

	if (only == (strcmp(s->method, "fbp") == 0)) return ISO_OK;
	return iso_fail(ISO_EARG, "--method %s: model %s %s", s->method, m->name,
	                only ? "has fbp alone" : "has none");
}

/* What an image without iterations has no use for is not taken in silence. */
static int check_direct(const struct settings *s, const struct cmd *c, const struct opt_set *sets,
                        const struct model *m)
{
	static const char *const iterating[] = {
		"iterations",  "subsets", "subset-rule",  "seed",       "sens",   "start",
		"psf",         "filter",  "filter-every", "save-every", "resume", "checkpoint-minutes",
		"stop-after",  "frames",  "from-s",       "to-s",       "live",   "isotope",
		"half-life-s", NULL,
	};

	int st = check_fbp(s, m);

	if (st || !recon_is_direct(s)) return st;
	if (!m->direct) return iso_fail(ISO_EARG, "--method direct: model %s has none", m->name);
	return recon_refuse(c, sets, iterating,
	                    strcmp(s->method, "fbp") == 0 ? "--method fbp" : "--method direct");
}

static int check_method(struct settings *s, const struct opt_set *sets)
{
	bool osem = strcmp(s->method, "osem") == 0;

	if (!opt_find(sets, "subsets")->given) s->subsets = osem ? 8 : 1;
	if (!osem && s->subsets > 1)
		return iso_fail(ISO_EARG,
		                "--subsets is %" PRId64 ": mlem has one; --method osem takes "
		                "more",
		                s->subsets);
	s->by = (struct model_subsets){ .n = (int)s->subsets, .seed = (uint64_t)s->seed };
	s->by.rule = (enum iso_subset_rule)opt_place(rules, s->rule);
	return ISO_OK;
}

/* Without --filter-every there is one filter, after the last iteration. */
static int check_filter(struct settings *s, const struct opt_set *sets)
{
	int st;

	if (!opt_find(sets, "filter-every")->given)
		s->filter_every = s->iterations;
	else if (!s->filter_text)
		return iso_fail(ISO_EARG, "--filter-every needs --filter");
	if (s->filter_every > s->iterations)
		return iso_fail(ISO_EARG,
		                "--filter-every is %" PRId64 ", more than the %" PRId64 " iterations",
		                s->filter_every, s->iterations);
	if (s->filter_text && (st = iso_filter_parse(&s->filter, s->filter_text))) return st;
	return ISO_OK;
}

/* A checkpoint that nobody asked to continue is somebody's work. */
static int check_checkpoint(const struct settings *s, struct cmd *c)
{
	static const char *const what[] = { "the frames of --output", "the checkpoint of --output" };
	char path[2][PATH_MAX];
	int st;

	if ((st = recon_frames_path(path[0], sizeof path[0], s)) ||
	    (st = recon_checkpoint(path[1], sizeof path[1], s)))
		return st;
	for (int i = s->frames.series ? 0 : 1; i < 2; i++) {
		if ((st = iso_names_add(&c->names, true, path[i], what[i])) ||
		    (!recon_is_direct(s) && (st = iso_target_try(path[i]))))
			return st;
		if (!s->resume && !c->force && access(path[i], F_OK) == 0)
			return iso_fail(ISO_EARG, "%s exists: --resume continues it, --force begins anew",
			                path[i]);
	}
	return iso_names_check(&c->names);
}

/* A run that continues finds those that it wrote before. */
static int check_iterations(const struct settings *s, struct cmd *c, int k)
{
	char path[PATH_MAX];
	int st = ISO_OK;

	for (int64_t i = s->save_every; s->save_every > 0 && i < s->iterations && !st; i += s->save_every) {
		if ((st = recon_iteration_path(path, sizeof path, s, k, (int)i)) ||
		    (st = iso_target_names(&c->names, path, "an image of --save-every")))
			break;
		if (!s->resume || !cmd_has_record(path)) st = cmd_check_array(c, path);
	}
	return st;
}

static int check(struct settings *s, struct cmd *c, const struct opt_set *sets, const struct model *m)
{
	int st;

	if ((st = recon_cg_check(s, c, sets, m))) return st;
	if ((st = check_direct(s, c, sets, m))) return st;
	if ((st = check_method(s, sets))) return st;
	if (m->sens_of_subsets && s->sens && s->subsets > 1)
		return iso_fail(ISO_EARG,
		                "--sens is one image; the subsets of model %s see voxels "
		                "differently, and their own are made without it",
		                m->name);
	if ((st = check_filter(s, sets))) return st;
	if ((st = frames_check(&s->frames, sets))) return st;
	if ((st = cmd_check_array(c, s->out))) return st;
	for (int k = 0; k < s->frames.n; k++)
		if ((st = check_iterations(s, c, k))) return st;
	return check_checkpoint(s, c);
}

int main_recon(int argc, char **argv)
{
	struct settings s = { .method = "mlem",
		              .iterations = 10,
		              .subsets = 1,
		              .seed = 1,
		              .rule = "interleaved",
		              .frames = { .to_s = INFINITY },
		              .checkpoint_minutes = 10,
		              .began_s = iso_now_s(),
		              .follow = { .block = 100000, .every_s = 5 } };
	const struct model *m = NULL;
	struct cmd c = { 0 };
	int st = model_pick(&m, argc, argv);

	if (st) return st;
	s.rule = m->rule ? m->rule : s.rule;
	s.method = m->method ? m->method : s.method;
	struct opt own[] = {
		model_positional(&s.model),
		{ 'o', "output", .text = &s.out, .file = OPT_WRITES, .value = "FILE", .required = true,
		  .help = "image (.nii, .nii.gz, .npy, .raw)" },
		{ 0, "method", .text = &s.method, .words = methods, .value = "M",
		  .help = "mlem, osem with --subsets, cg (least squares: svoxel, sradon), (strip) direct: "
		          "each event where it most likely came from, or (ubp) fbp" },
		{ 0, "iterations", .integer = &s.iterations, .value = "N", .min = 1, .max = 1e6,
		  .help = "passes over all data" },
		{ 0, "subsets", .integer = &s.subsets, .value = "K", .min = 1, .max = 1e6,
		  .absent = "1 for mlem, 8 for osem", .help = "parts of the data, taken in turn" },
		{ 0, "subset-rule", .text = &s.rule, .words = rules, .value = "RULE",
		  .help = "interleaved: subset b holds events b, b+K, b+2K, ...; blocks: consecutive "
		          "events; random: dealt at random; of srm, for directions: mod, groups (4 x 4 "
		          "neighbours together), random" },
		{ 0, "seed", .integer = &s.seed, .value = "N", .min = 0, .max = 9e15,
		  .help = "of --subset-rule random" },
		{ 0, "sens", .text = &s.sens, .file = OPT_READS, .value = "FILE|none",
		  .absent = "from --scanner",
		  .help = "sensitivity image, without --psf; none: 1 everywhere" },
		{ 0, "start", .text = &s.start, .file = OPT_READS, .value = "FILE",
		  .absent = "1 everywhere; for cg, 0", .help = "start image" },
		model_psf_option(s.psf),
		{ 0, "filter", .text = &s.filter_text, .value = "FILTER",
		  .help = "gaussian:MM, gaussian:X,Y,Z or median:N, after the last iteration" },
		{ 0, "filter-every", .integer = &s.filter_every, .value = "N", .min = 1, .max = 1e6,
		  .absent = "once, at the end",
		  .help = "filter after every N iterations instead, also what goes on into the next" },
		{ 0, "save-every", .integer = &s.save_every, .value = "N", .min = 0, .max = 1e6,
		  .help = "also write the image after every N iterations (x_it005.nii)" },
		{ 0, "deterministic", .flag = &s.deterministic, .transient = true,
		  .help = "the same bits on every run, for every number of threads: always so, because "
		          "sums are of integers on both devices" },
		{ 0 },
	};
	struct model_stream none = { 0 }, *stream_at = m->stream ? m->stream : &none;
	struct opt stream[] = {
		{ 0, "stream", .flag = &stream_at->on,
		  .help = "leave the events on disk, also if they fit memory, and read them in blocks" },
		{ 0, "block", .integer = &stream_at->block, .value = "N", .min = 1, .max = 1e12,
		  .absent = "what suits the memory", .help = "the same, N events at a time" },
		{ 0, "scratch", .text = &stream_at->scratch, .file = OPT_PLACE, .value = "FOLDER",
		  .help = "the same, from a copy there, subset by subset and with all factors made once; "
		          "at most 40 bytes an event, gone with the run" },
		{ 0 },
	};
	struct opt stop[] = {
		{ 0, "resume", .flag = &s.resume, .transient = true,
		  .help = "continue from OUTPUT.ckpt; begin at the start where there is none" },
		{ 0, "checkpoint-minutes", .real = &s.checkpoint_minutes, .value = "M", .min = 0, .max = 1e6,
		  .help = "least time between two checkpoints; 0: after every update" },
		{ 0, "stop-after", .real = &s.stop_after, .value = "M", .min = 0, .max = 1e6,
		  .help = "write a checkpoint and stop (exit code 143) after M minutes; 0: never" },
		{ 0 },
	};
	struct opt_set sets[] = { { NULL, own },
		                  { m->title, m->opts },
		                  frames_options(&s.frames),
		                  recon_cg_options(&s.squares),
		                  { "Interruption", stop },
		                  cmd_common(&c, CMD_COMPUTES | CMD_WRITES),
		                  m->follows ? follow_options(&s.follow)
		                             : (struct opt_set){ "Events that do not fit memory", stream },
		                  { 0 } };

	if ((st = cmd_parse(&c, &usage, sets, argc, argv))) goto done;
	if (m->follows && (st = follow_check(&s, &c, sets))) goto done;
	if (!s.follow.on && (st = check(&s, &c, sets, m))) goto done;
	if ((st = cmd_begin(&c))) goto done;
	st = s.follow.on       ? follow_run(&c, sets, m, &s)
	     : recon_is_cg(&s) ? recon_cg_run(&c, sets, m, &s)
	                       : recon_run(&c, sets, m, &s);
done:
	m->unload();
	frames_free(&s.frames);
	cmd_end(&c);
	return st;
}
