/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome simulate: options, and the kind of scanner that decides what they mean. */
#include "simulate.h"

#include "io/format.h"

#include <stdlib.h>
#include <string.h>

static const struct opt_usage usage = {
	"simulate",
	"Simulate list-mode events of a ring. Decays in the voxels of an image send out two photons in an "
	"isotropic direction. Crystals have efficiencies; attenuation, TOF blur and randoms are included. "
	"Isotome also writes delayed coincidences and singles if you ask. With --poses, --bed or --gantry "
	"the object moves during the scan. With --physics it follows photons "
	"through the object and counts them by energy, so scatter of all orders is included. With --crystals "
	"it follows them through the crystals, too. Events are in the order of time. Two "
	"strips (kind: strips) see a phantom of ellipses: exactly --counts events, as "
	".f32, .txt or .npy. Two panels (kind: panels) see the image or phantom by --physics, with photons "
	"followed through the crystals, in a histogram of LORs. Transducers (kind: transducers) hear a "
	"phantom of spheres in closed form, through their apertures and impulse response. Their traces are "
	".npy, or IPASC (.hdf5, .h5) with the transducers.",
	"  isotome phantom spheres -o x.nii --mu mu.nii\n"
	"  isotome simulate examples/scanners/clinical-ring.yaml x.nii --mu mu.nii --counts 2e6 -o e.lmdT\n"
	"  isotome simulate examples/scanners/clinical-ring.yaml x.nii --mu mu.nii --physics --counts 1e7 "
	"\\\n"
	"    --duration-s 600 --randoms-by-rate -o e.lmdT --truth order.npy\n"
	"  isotome simulate ring.yaml x.nii --counts 1e6 --randoms 0.2 --tof-fwhm-ps 0 -o e.lmdT\n"
	"  isotome simulate ring.yaml x.nii --counts 1e6 --randoms 0.3 --norm eff.npy -o e.lmdT \\\n"
	"    --delayed d.lmdT --singles s.npy --duration-s 600 --isotope F-18\n"
	"  isotome simulate examples/scanners/crystal-ring.yaml x.nii --mu mu.nii --crystals --activity-bq "
	"5e7 "
	"\\\n"
	"    --duration-s 10 --isotope F-18 -o e.Cdh --delayed late.Cdh\n"
	"  isotome simulate ring.yaml x.nii --mu mu.nii --poses head.csv --duration-s 60 -o e.Cdh\n"
	"  isotome simulate ring.yaml labels.nii --tacs curves.tsv --counts 1e7 --duration-s 3600 --isotope "
	"F-18 -o "
	"e.Cdh\n"
	"  isotome simulate examples/scanners/bialas2015.yaml ellipses --counts 1e6 -o e.f32\n"
	"  isotome simulate examples/scanners/meng2019.yaml x.nii --physics --counts 1e6 -o lors.npy\n"
	"  isotome simulate examples/scanners/wang2013.yaml nine-spheres --noise 0.01 -o traces.npy\n"
	"  isotome simulate array.yaml vessel-tree -o traces.hdf5\n"
	"  isotome simulate examples/scanners/wang2013-32x45.yaml nine-spheres --tissue sphere:0,0,0,30 "
	"--tissue-speed 1.6 \\\n"
	"    -o traces.npy\n"
	"  isotome simulate examples/scanners/meng2019.yaml --physics --point 0,0,0 --pairs 1e7 --json\n"
	"  isotome simulate examples/scanners/crystal-ring.yaml x.nii --mu mu.nii --crystals --decays 1e8 -o "
	"e.lmdT\n"
	"  isotome simulate examples/scanners/crystal-ring.yaml --crystals --beam 30,0 --pairs 1e6 --json\n",
};

enum { OWN_OPTIONS = 19, PHYSICS_OPTIONS = 9, MOTION_OPTIONS = 10, DETECTION_OPTIONS = 5, TACS_OPTIONS = 5 };

static void list_options(struct opt o[OWN_OPTIONS], struct simulate *s)
{
	const struct opt own[OWN_OPTIONS] = {
		CMD_ARGUMENT("scanner", s->scanner, OPT_READS, "SCANNER",
		             "scanner description (YAML or JSON); transducers also from a file of traces "
		             "that holds them"),
		CMD_ARGUMENT("image", s->image, OPT_MAY_READ, "IMAGE",
		             "activity, on any scale; for strips: ellipses, or a file of them (.txt); for "
		             "panels also a phantom; for transducers nine-spheres, vessel-tree, or a file of "
		             "spheres that do not overlap (.yaml; smooth_fwhm_mm smooths them)"),
		CMD_OUTPUT(s->out, "events (.lmdT, rows of .npy, PETSIRD .petsird, or CASToR .Cdh with its "
		                   ".Cdf, .hscan and .lut; strips: .f32; panels: histogram of LORs, .npy; "
		                   "transducers: traces, .npy, .hdf5 or .h5)"),
		{ 0, "counts", .real = &s->counts, .value = "N", .min = 1, .max = 1e12,
		  .help = "expected number of events, all kinds together" },
		{ 0, "exact", .flag = &s->exact, .help = "exactly --counts events, not a Poisson number" },
		{ 0, "seed", .integer = &s->seed, .value = "N", .min = 0, .max = 9e15,
		  .help = "seed: the same seed gives the same events or noise, with any number of threads" },
		{ 0, "mu", .text = &s->mu, .file = OPT_READS, .value = "FILE",
		  .help = "attenuation map, 1/mm" },
		{ 0, "norm", .text = &s->norm, .file = OPT_READS, .value = "FILE",
		  .help = "efficiency per crystal (.npy), or a .norm.json of isotome norm; it thins all "
		          "kinds of "
		          "events alike" },
		{ 0, "tof-fwhm-ps", .real = &s->tof_fwhm_ps, .value = "PS", .min = 0, .max = 1e6,
		  .absent = "the scanner's", .help = "time-of-flight resolution; 0: no times" },
		{ 0, "randoms", .real = &s->randoms, .value = "F", .min = 0, .max = 1,
		  .help = "share of the events that are randoms: any pair, any time" },
		{ 0, "bent", .real = &s->bent, .value = "F", .min = 0, .max = 1,
		  .help = "share of the events with one photon deflected, a simple stand-in for scatter" },
		{ 0, "delayed", .text = &s->delayed, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write delayed coincidences, as the randoms but drawn separately" },
		{ 0, "singles", .text = &s->singles, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write counts per crystal that correspond to the randoms" },
		{ 0, "truth", .text = &s->truth, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write what each event is, as .npy of bytes: 0 a true, 1, 2, ... the number "
		          "of scatters, 255 a random. With --crystals it has records with energies "
		          "and places. For panels use it with --list" },
		{ 0, "duration-s", .real = &s->duration_s, .value = "S", .min = 0, .max = 4e6,
		  .help = "length of the scan; 0: events have no times" },
		{ 0, "isotope", .text = &s->isotope, .value = "NAME",
		  .help = "isotope whose decay over the scan is simulated: F-18, C-11, ..." },
		{ 0, "half-life-s", .real = &s->half_life_s, .value = "S", .min = 0, .max = 1e12,
		  .help = "half-life of the decay over the scan; 0: no decay" },
		{ 0, "noise", .real = &s->noise, .value = "F", .min = 0, .max = 1e3,
		  .help = "transducers: width of Gaussian noise, as a share of the highest pressure" },
		{ 0 },
	};

	memcpy(o, own, sizeof own);
}

static void list_physics(struct opt o[PHYSICS_OPTIONS], struct simulate *s)
{
	const struct opt table[PHYSICS_OPTIONS] = {
		{ 0, "physics", .flag = &s->physics,
		  .help = "follow photons through the object (--mu), with Compton scatter, photoelectric "
		          "effect and energy window. For panels also through crystals, gaps and readout" },
		{ 0, "crystals", .flag = &s->crystals,
		  .help = "follow photons through the crystals, too, of any scanner with a detector in its "
		          "description; it includes --physics" },
		{ 0, "decays", .real = &s->decays, .value = "N", .min = 1, .max = 1e13,
		  .absent = "as many as --counts needs",
		  .help = "expected number of decays, instead of --counts" },
		{ 0, "randoms-by-rate", .flag = &s->by_rate,
		  .help = "compute randoms from the rates, --duration-s and the scanner's coincidence_ns" },
		{ 0, "energy-window", .real = s->window_kev, .count = 2, .value = "LOW,HIGH", .min = 0,
		  .max = 1e4, .absent = "the scanner's", .help = "rings: energies that are counted, keV" },
		{ 0, "energy-resolution", .real = &s->resolution, .value = "F", .min = 0, .max = 1,
		  .absent = "the scanner's", .help = "rings: FWHM at 511 keV, as a share of 511 keV" },
		{ 0, "object-rayleigh", .flag = &s->object_rayleigh,
		  .help = "also simulate Rayleigh scatter in the object" },
		{ 0, "acollinearity", .flag = &s->transport.acollinearity,
		  .help = "panels, and crystals at an activity: the two photons are not quite back to back, "
		          "0.5 degrees FWHM in each of two axes" },
		{ 0 },
	};

	memcpy(o, table, sizeof table);
}

static void list_motion(struct opt o[MOTION_OPTIONS], struct simulate *s)
{
	static const char *const axes[] = { "auto", "ras", "lps", NULL };
	const struct opt table[MOTION_OPTIONS] = {
		{ 0, "poses", .text = &s->poses, .file = OPT_READS, .value = "FILE",
		  .help = "where the object is over time: a table of poses (.csv or .npy). It needs "
		          "--duration-s, and of rings events in a format that holds times" },
		{ 0, "orbit", .real = s->orbit, .count = 2, .value = "MM,TURNS", .min = 0, .max = 1e4,
		  .help = "the object goes TURNS times round the axis on a circle of this radius, and does "
		          "not turn itself; not with --poses. It needs --duration-s" },
		{ 0, "bed", .text = &s->bed, .file = OPT_READS, .value = "FILE",
		  .help = "where the bed is over time; --poses are then relative to the bed" },
		{ 0, "gantry", .text = &s->gantry, .file = OPT_READS, .value = "FILE",
		  .help = "how the scanner turns over time; two panels get a histogram for each row" },
		{ 0, "mu-fixed", .text = &s->mu_fixed, .file = OPT_READS, .value = "FILE",
		  .help = "attenuation map of what stays in place while the object moves, 1/mm; not with "
		          "--physics" },
		{ 0, "gates", .text = &s->gates, .file = OPT_READS, .value = "FILE",
		  .help = "which state of its breathing or heartbeat the object is in: a table of times, "
		          "from isotome gate" },
		{ 0, "fields", .text = &s->fields, .file = OPT_MAY_READ, .with = "gates",
		  .value = "FILE,FILE,...",
		  .help = "displacement field of each gate (.nii, .nii.gz, .npy; none: the object as the "
		          "image has it)" },
		{ 0, "field-axes", .text = &s->field_axes, .words = axes, .with = "fields", .value = "AXES",
		  .absent = "as the files say", .help = "which way the components of --fields point" },
		{ 0, "warp-mass", .flag = &s->warp_mass, .with = "fields",
		  .help = "activity moves with the tissue, so that its sum is kept; else the concentration "
		          "does" },
		{ 0 },
	};

	memcpy(o, table, sizeof table);
}

static void list_detection(struct opt o[DETECTION_OPTIONS], struct simulate *s)
{
	const struct opt table[DETECTION_OPTIONS] = {
		{ 0, "pair-factors", .text = &s->pair_factors, .file = OPT_READS, .value = "FILE",
		  .help = "transaxial and axial factors of pairs (.norm.json), which thin all kinds of "
		          "events; "
		          "--norm takes those of its .norm.json by itself. --counts are those before" },
		{ 0, "time-offsets", .text = &s->time_offsets, .file = OPT_READS, .value = "FILE",
		  .help = "time offset of each crystal, ps (.npy, or the .json of isotome timing): o_1 - o_2 "
		          "is "
		          "added to t1 - t2 of every event" },
		{ 0, "fwhm-per-crystal", .text = &s->crystal_fwhm, .file = OPT_READS, .value = "FILE",
		  .help = "time resolution of each crystal (.npy): FWHM in ps of t1 - t2 of two crystals "
		          "like "
		          "this one. It takes the place of --tof-fwhm-ps" },
		{ 0, "dead-time", .text = &s->dead_time, .value = "MODEL:TAU_US",
		  .help = "non-paralysable:TAU or paralysable:TAU: events within TAU us of the last one that "
		          "was "
		          "counted (paralysable: of the last one) are lost. It needs --duration-s; --counts "
		          "are "
		          "those before the loss" },
		{ 0 },
	};

	memcpy(o, table, sizeof table);
}

static void list_tacs(struct opt o[TACS_OPTIONS], struct simulate *s)
{
	const struct opt table[TACS_OPTIONS] = {
		{ 0, "tacs", .text = &s->tacs, .file = OPT_READS, .value = "FILE",
		  .help = "activity over time: a table with the column time and one for each label of IMAGE, "
		          "headed "
		          "by "
		          "its number; corrected for decay. It needs --duration-s and a format that holds "
		          "times" },
		{ 0, "basis", .text = &s->basis, .file = OPT_READS, .value = "FILE",
		  .help = "the same from basis curves: IMAGE is 4-D, and has the coefficients of the "
		          "columns" },
		{ 0, "truth-tacs", .text = &s->truth_tacs, .file = OPT_WRITES, .value = "FILE",
		  .help = "also write a table of components and bins: mean of the curve, decays expected, "
		          "events "
		          "recorded" },
		{ 0, "truth-edges", .text = &s->truth_edges, .value = "T0,T1,...",
		  .help = "edges of these bins in s; FIRST:STEP:LAST stands for many" },
		{ 0 },
	};

	memcpy(o, table, sizeof table);
}

/* ---- what the kinds share ---- */

int simulate_refuse(const struct opt *o, const struct simulate *s, const char *whom)
{
	for (; o->name; o++) {
		bool usual = o->flag == &s->rayleigh || o->flag == &s->reentry;

		if (o->flag ? *o->flag != usual
		            : simulate_asks(o) && o->real != &s->pairs &&
		                      !simulate_lifetime_is_usual(o, &s->lifetime))
			return iso_fail(ISO_EARG, "--%s is for %s", o->name, whom);
	}
	return ISO_OK;
}

bool simulate_asks(const struct opt *o)
{
	return o->given && (!o->real || *o->real != 0) && (!o->flag || *o->flag);
}

int simulate_phantom(struct cmd *c, iso_phantom **p, const char *path)
{
	int st = iso_phantom_create(p, path, NULL);

	return st || !strpbrk(path, "./") ? st : record_input(&c->record, path);
}

json_t *simulate_orders(const int64_t by_order[ISO_ORDERS])
{
	json_t *orders = json_array();
	int last = ISO_ORDERS - 1;

	while (last > 0 && by_order[last] == 0) last--;
	for (int i = 0; i <= last; i++) json_array_append_new(orders, json_integer((json_int_t)by_order[i]));
	return orders;
}

bool simulate_moves(const struct simulate *s)
{
	return s->poses || s->orbit[1] > 0 || s->bed || s->gantry;
}

const char *simulate_mover(const struct simulate *s)
{
	return s->poses ? "poses" : s->orbit[1] > 0 ? "orbit" : s->bed ? "bed" : "gantry";
}

int simulate_check_orbit(const struct simulate *s)
{
	if (s->orbit[0] > 0 && !(s->orbit[1] > 0))
		return iso_fail(ISO_EARG, "--orbit %g,%g: TURNS must be above 0", s->orbit[0], s->orbit[1]);
	return s->orbit[1] > 0 && s->poses ? iso_fail(ISO_EARG, "--orbit and --poses: give one of them")
	                                   : ISO_OK;
}

int simulate_tables(iso_poses *table[3], struct iso_motion_parts *parts, struct cmd *c,
                    const struct simulate *s)
{
	const char *const path[] = { s->poses, s->bed, s->gantry };
	struct iso_poses_options o = { .size = sizeof o };
	int st = ISO_OK;

	for (int k = 0; k < 3 && !st; k++) {
		o.kind = (enum iso_pose_kind)k;
		if (path[k] && !(st = iso_poses_read(&table[k], path[k], &o)))
			st = record_input(&c->record, path[k]);
	}
	if (!st && s->orbit[1] > 0)
		st = iso_poses_orbit(&table[ISO_POSES_OBJECT], s->orbit[0], s->orbit[1], s->duration_s);
	*parts = (struct iso_motion_parts){ .size = sizeof *parts,
		                            .poses = table[ISO_POSES_OBJECT],
		                            .bed = table[ISO_POSES_BED],
		                            .gantry = table[ISO_POSES_GANTRY] };
	return st;
}

int simulate_half_life(double *half_life_s, const struct simulate *s)
{
	*half_life_s = s->half_life_s;
	return s->isotope ? iso_half_life(half_life_s, s->isotope) : ISO_OK;
}

int simulate_add_truth(void *truth, const uint8_t *order, int64_t n)
{
	struct simulate_truth *t = truth;

	if (t->n + n > t->room) {
		int64_t room = t->n + n + t->room / 2;
		uint8_t *more = realloc(t->order, (size_t)room);

		if (!more) return iso_fail_memory("truth", room);
		t->order = more;
		t->room = room;
	}
	memcpy(t->order + t->n, order, (size_t)n);
	t->n += n;
	return ISO_OK;
}

int simulate_append(void *writer, const struct iso_events *block)
{
	return iso_event_writer_append(writer, block);
}

/* ---- by kind ---- */

static const struct kind {
	const char *name;
	int (*run)(struct cmd *c, const struct simulate *s);
} kinds[] = {
	[ISO_CYLINDER] = { "cylinder", simulate_ring },
	[ISO_DETECTORS] = { "detectors", simulate_ring },
	[ISO_STRIPS] = { "strips", simulate_strips },
	[ISO_PANELS] = { "panels", simulate_panels },
	[ISO_TRANSDUCERS] = { "transducers", simulate_sound },
	[ISO_BARREL] = { "barrel", simulate_barrel },
};

#define OF(kind) (1u << (kind))
#define RINGS (OF(ISO_CYLINDER) | OF(ISO_DETECTORS))

/* Options that mean nothing to some kinds: those that take them. What is not listed is for all, or
   refused by the kind itself. */
static const struct {
	const char *option;
	unsigned kinds;
} takes[] = {
	{ "mu", RINGS | OF(ISO_PANELS) | OF(ISO_BARREL) },
	{ "norm", RINGS },
	{ "tof-fwhm-ps", RINGS },
	{ "randoms", RINGS | OF(ISO_PANELS) },
	{ "bent", RINGS },
	{ "acollinearity", OF(ISO_PANELS) },
	{ "delayed", RINGS | OF(ISO_PANELS) },
	{ "singles", RINGS },
	{ "truth", RINGS | OF(ISO_PANELS) },
	{ "energy-window", RINGS },
	{ "energy-resolution", RINGS },
	{ "duration-s", RINGS | OF(ISO_PANELS) },
	{ "isotope", RINGS | OF(ISO_PANELS) },
	{ "half-life-s", RINGS | OF(ISO_PANELS) },
	{ "mu-fixed", RINGS },
	{ "tacs", RINGS },
	{ "basis", RINGS },
	{ "truth-tacs", RINGS },
	{ "truth-edges", RINGS },
	{ "noise", RINGS | OF(ISO_TRANSDUCERS) },
	{ "counts", RINGS | OF(ISO_STRIPS) | OF(ISO_PANELS) | OF(ISO_BARREL) },
	{ "exact", RINGS | OF(ISO_STRIPS) | OF(ISO_PANELS) | OF(ISO_BARREL) },
	{ "tissue", OF(ISO_TRANSDUCERS) },
	{ "speed-map", OF(ISO_TRANSDUCERS) },
	{ "sound-path", OF(ISO_TRANSDUCERS) },
	{ "sound-amplitude", OF(ISO_TRANSDUCERS) },
	{ "table-mm", OF(ISO_TRANSDUCERS) },
};

/* More than the usual word, which a record may give. */
static bool asks_more(const struct opt *o)
{
	return simulate_asks(o) && !(o->words && *o->text && strcmp(*o->text, o->words[0]) == 0);
}

/* Nothing given is ignored; but the record of transducers has the defaults of counts, too. */
static int check_kind(const struct cmd *c, const struct simulate *s, enum iso_scanner_kind kind)
{
	if (s->crystals) return ISO_OK; /* any scanner; what it can't take is told there */
	if (kind == ISO_PANELS && !s->physics)
		return iso_fail(ISO_EARG, "%s: two panels are simulated by photon transport: add --physics",
		                s->scanner);
	if (kind == ISO_TRANSDUCERS && c->like) return ISO_OK;
	for (size_t i = 0; i < sizeof takes / sizeof *takes; i++)
		if (!(takes[i].kinds & OF(kind)) && asks_more(opt_find(c->sets, takes[i].option)))
			return iso_fail(ISO_EARG, "--%s is not for a scanner of kind %s", takes[i].option,
			                kinds[kind].name);
	return ISO_OK;
}

/* The kind decides what the options mean, so a description that is wrong is told before them. Files
   of traces are of transducers. */
static int read_kind(enum iso_scanner_kind *kind, const char *path)
{
	iso_scanner *s = NULL;
	int st;

	*kind = ISO_TRANSDUCERS;
	if (!path) return iso_fail(ISO_EARG, "simulate: SCANNER is missing; see isotome simulate --help");
	if (iso_is_recording(path)) return ISO_OK;
	if (!(st = iso_scanner_read(&s, path))) *kind = iso_scanner_kind(s);
	iso_scanner_free(s);
	return st;
}

int main_simulate(int argc, char **argv)
{
	struct simulate s = { .counts = 1e6, .seed = 1, .pairs = 1e7, .rayleigh = true, .reentry = true };
	struct opt own[OWN_OPTIONS], physics[PHYSICS_OPTIONS], motion[MOTION_OPTIONS];
	struct opt detection[DETECTION_OPTIONS], tacs[TACS_OPTIONS], tissue[TISSUE_PARAMS + 1] = { 0 };
	struct opt panels[SIMULATE_PANELS_OPTIONS], lifetimes[SIMULATE_LIFETIME_OPTIONS];
	struct opt rates[SIMULATE_RATES_OPTIONS];
	struct opt crystals[SIMULATE_CRYSTALS_OPTIONS];
	struct cmd c = { .cpu_only = true };
	struct opt_set sets[] = {
		{ NULL, own },
		{ "Rings and two panels, by photons", physics },
		{ "Crystals, decay by decay", crystals },
		{ "Rings and two panels, an object that moves", motion },
		{ "Rings, what the electronics do", detection },
		{ "Rings, activity that follows curves", tacs },
		{ "Crystals, at an activity", rates },
		{ "Two panels", panels },
		{ "Barrels, lifetimes of positronium", lifetimes },
		{ "Transducers", tissue },
		cmd_common(&c, CMD_COMPUTES | CMD_WRITES),
		{ 0 },
	};
	enum iso_scanner_kind kind;
	int st;

	list_options(own, &s);
	list_physics(physics, &s);
	simulate_crystals_options(crystals, &s);
	list_motion(motion, &s);
	list_detection(detection, &s);
	list_tacs(tacs, &s);
	simulate_rates_options(rates, &s.rates);
	simulate_panels_options(panels, &s);
	simulate_lifetime_options(lifetimes, &s.lifetime);
	tissue_params(tissue, &s.tissue);
	st = cmd_parse(&c, &usage, sets, argc, argv);
	s.transport.no_rayleigh = !s.rayleigh;
	s.transport.no_reentry = !s.reentry;
	s.transport.seed = (uint64_t)s.seed;
	if (!st && s.crystals && !(s.rates.activity_bq > 0)) return cmd_end(&c, simulate_crystals(&c, &s));
	if (!st && !s.crystals) st = simulate_refuse(crystals, &s, "--crystals");
	if (!st && !(st = read_kind(&kind, s.scanner)) &&
	    (kind == ISO_PANELS || !(st = simulate_refuse(panels, &s, "scanners of kind panels"))) &&
	    (kind == ISO_BARREL || !(st = simulate_refuse(lifetimes, &s, "barrels of strips"))) &&
	    (OF(kind) & (RINGS | OF(ISO_PANELS)) ||
	     !(st = simulate_refuse(physics, &s, "rings and scanners of kind panels"))) &&
	    (OF(kind) & (RINGS | OF(ISO_PANELS)) ||
	     !(st = simulate_refuse(motion, &s, "rings and scanners of kind panels"))) &&
	    (OF(kind) & RINGS || !(st = simulate_refuse(detection, &s, "rings"))) &&
	    (OF(kind) & RINGS || !(st = simulate_refuse(tacs, &s, "rings"))) &&
	    (s.crystals || !(st = simulate_refuse(rates, &s, "--crystals"))) &&
	    !(st = check_kind(&c, &s, kind)))
		st = s.crystals ? simulate_at_activity(&c, &s) : kinds[kind].run(&c, &s);
	return cmd_end(&c, st);
}
