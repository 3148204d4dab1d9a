/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library's own code sees of a scanner. */
#ifndef ISO_SCANNER_H
#define ISO_SCANNER_H

#include "isotome/barrel.h"
#include "text/conf.h"
#include "cylinder_kern.h"
#include "efficiency_kern.h"
#include "modules.h"
#include "pairs_kern.h"
#include "tissue_read.h"

/* The inner face of a crystal of a CASToR scanner. */
struct iso_face {
	float outward[3]; /* unit vector */
	float depth;      /* of pos below the face, mm */
};

struct iso_scanner {
	enum iso_scanner_kind kind;
	char name[64];  /* the key `name`, else the file name alone */
	char note[300]; /* what was taken otherwise than its file says; "": nothing */
	int64_t n;      /* crystals */
	double *pos;    /* (n, 3), ends of LORs */
	struct iso_pairs pairs;
	double tof_fwhm_ps, tof_bin_ps; /* 0: none */
	double coincidence_ns;          /* 0: not said */
	double crystal_mm[3];           /* tangential, axial, depth; 0: not said */
	double energy_kev[2];           /* window; 0, 0: not said */
	double energy_resolution;       /* FWHM at 511 keV, as a share of it; 0: not said */
	double *efficiency; /* (efficiencies_kev, 2): keV, efficiency; NULL: as window and resolution say */
	int64_t efficiencies_kev;
	/* what electronics add, where the description says it: 0: not said */
	double single_fwhm_ps, dead_ns, pileup_ns, delay_ns, trigger_kev, prompt_kev[2];
	bool paralysable;
	struct iso_modules *modules; /* of crystals, modules_kern.h; NULL: no `detector` */
	bool solid_angle;            /* pair_weight: solid-angle */
	/* Weight of a pair as its crystals respond to its line; NULL: as solid_angle says. */
	double (*weigh)(const void *response, const double p1[3], const double p2[3]);
	const void *response;
	bool assumed;    /* by iso_scanner_around; `name` says what */
	double plane_mm; /* of projection data: planes of lines lie this far apart along z; 0: not in planes */
	/* cylinder */
	double radius; /* of the ends of LORs: radius_mm + interaction_depth_mm */
	double depth;  /* interaction_depth_mm */
	double ring_pitch;
	int64_t block;       /* crystals of a block; per_ring: no blocks */
	double block_gap;    /* mm between two blocks, on that radius */
	int64_t block_rings; /* rings of a block; pairs.rings: no blocks along z */
	double ring_gap;     /* mm between two blocks, along z */
	/* free detectors */
	int64_t *tree;         /* their numbers as a k-d tree, see detectors.c */
	struct iso_face *face; /* (n); NULL: not said */
	bool radial; /* the file's directions were of no use: those of face are away from the axis */
	struct iso_efficiencies *efficiencies; /* of pairs, with its arrays; NULL: not said */
	/* two strips: no crystals */
	struct iso_strips strips;
	/* two heads of crystals */
	struct iso_panels panels;
	/* transducers: no crystals */
	struct iso_transducers transducers;
	struct iso_faces faces; /* of size 0: flat */
	struct scanner_tissue tissue;
	/* barrels of strips: no crystals */
	struct iso_barrel barrel;
};

/* Crystal of a cylinder that a photon meets; -1: past the axial end, or in a gap between blocks. */
int64_t iso_scanner_hit(const iso_scanner *s, const double origin[3], const double dir[3]);

/* scanner_same.c: whether `given` describes the scanner `own` that a file of events brings: as many crystals, and, with
   `numbers`, each where that of its number is, up to a quarter of a crystal across the radius (at most 1 mm) and up to the
   depth of a crystal, where one of the two says it, along the radius: lines may end at another depth. Without, radius
   and ends along z alone are compared, up to the same. */
struct iso_scanner_apart {
	int64_t crystal;          /* that is the farthest off, in units of what is allowed; -1: none */
	double mm, across, along; /* how far, and what is allowed */
};
bool iso_scanner_same(struct iso_scanner_apart *a, const iso_scanner *own, const iso_scanner *given,
                      bool numbers);
void iso_scanner_figures(char *to, size_t size,
                         const iso_scanner *s); /* crystals, rings, radius, z, in words */

/* scanner_grid.c: the round length nearest to `mm` in ratio; up: not below it. And the width of a crystal, mm, or, where it
   is not said, how far apart crystals are; of an assumed scanner, as assumed; 0: not known. */
double iso_scanner_round_mm(double mm, bool up);
double iso_scanner_crystal_width(const iso_scanner *s);

/* Least angle between crystals in coincidence, seen from the z axis, rad; 0: any. */
double iso_scanner_min_angle(const iso_scanner *s);

/* From now on no two crystals of free detectors farther apart along the axis than this, mm, are a pair. */
void iso_scanner_limit_axial(iso_scanner *s, double mm);

/* ISO_EARG unless all lengths are positive and the inverse covariance is positive definite. */
int iso_strips_check(const struct iso_strips *s);

/* Of two crystals: the pairs of energy windows that efficiencies are told for; 1 where none are. */
int64_t iso_scanner_windows(const iso_scanner *s, int64_t a, int64_t b);

/* Frees the arrays too; NULL does nothing. */
void iso_efficiencies_free(struct iso_efficiencies *e);

/* Whether two crystals form a pair in coincidence. */
bool iso_scanner_in_coincidence(const iso_scanner *s, int64_t a, int64_t b);

enum { TRANSDUCERS_MAX = 1000000 }; /* a hundred times the paper's array */
enum { BARREL_MOST = 20000 };       /* strips */

/* After pos, and normal unless NULL, are there: the missing normals (towards the centre), axes,
   radius (unless above 0) and spread. Frees nothing on failure. */
int iso_transducers_finish(struct iso_transducers *t, const char *who);

/* As iso_transducers_check, but the speed may be 0: a file need not say it. */
int iso_transducers_check_file(const struct iso_transducers *t);

/* ---- what each kind of scanner does in its own way ---- */

enum { SCANNER_MAX = 10000000 }; /* crystals: 240 MB of positions; every pair number fits 64 bits */

/* Keys of every kind, read in scanner.c; a kind's own table begins with them. */
#define SCANNER_KEY(word) ((struct conf_key){ .name = word, .kind = CONF_NODE })
#define SCANNER_KEYS SCANNER_KEY("kind"), SCANNER_KEY("name"), SCANNER_KEY("tof"), SCANNER_KEY("time")

struct iso_scanner_fn {
	/* Fills n, pos, pairs and the kind's own fields. */
	int (*read)(iso_scanner *s, const struct conf_node *root);
	/* Of a kind with crystals; NULL: n is 0. */
	int64_t (*nearest)(const iso_scanner *s, const double p[3]);        /* p is finite */
	bool (*in_coincidence)(const iso_scanner *s, int64_t a, int64_t b); /* both in range */
};

extern const struct iso_scanner_fn iso_cylinder_fn, iso_detectors_fn, iso_strips_fn, iso_panels_fn,
	iso_transducers_fn, iso_barrel_fn, iso_modules_fn;

/* A CASToR table of crystals, or its geometry: fill a scanner of kind detectors. */
int iso_scanner_read_hscan(iso_scanner *s, const char *path);
int iso_hscan_partner(char *out, size_t size, const char *path); /* x.hscan -> x.lut, x.ghscan -> x.glut */
int iso_scanner_read_geom(iso_scanner *s, const char *path);

/* Whether a name is that of a file of CASToR's, no description. */
bool iso_scanner_is_castor(const char *path);

/* After radius, ring_pitch, rings, per_ring, min_distance, max_ring_difference and block of a cylinder are filled:
   its crystals and pairs. A block_rings of 0: no blocks along z. */
int iso_cylinder_finish(iso_scanner *s);

/* Its crystals as photons meet them. */
struct cylinder iso_cylinder_of(const iso_scanner *s);

/* mm from the lower border of its first ring to the upper one of its last. */
double iso_cylinder_length(const iso_scanner *s);

/* A scanner for events of a file that names none: a cylinder around z, centred on 0, of the median radius of their ends,
   as long as these, in crystals of a few mm; its name says so, for a warning. ISO_EINPUT where the ends lie on no such
   cylinder: not all round z, near and far from it, or to one side of z = 0. */
struct iso_events;
int iso_scanner_around(iso_scanner **s, const struct iso_events *e);

/* Whether pairs weigh by how photons meet them: by solid angle, or as crystals respond. And that weight, also of a scanner whose pairs
   count alike. */
bool iso_scanner_weighs(const iso_scanner *s);
double iso_scanner_met(const iso_scanner *s, const double p1[3], const double p2[3]);

/* iso_scanner_pair_weight of n events, times unit. */
struct iso_event;
void scanner_pair_weights(iso_real *w, const iso_scanner *s, const struct iso_event *e, int64_t n,
                          double unit);

/* The map `energy` of a ring's description; NULL: not said. */
int iso_scanner_read_energy(iso_scanner *s, const struct conf_node *root, const struct conf_node *energy);

/* After n and pos of free detectors are filled: the tree, and all pairs. */
int iso_detectors_finish(iso_scanner *s);

/* Free detectors at these places, (n, 3) in mm, which are copied; every two in coincidence. */
int iso_detectors_create(iso_scanner **s, const char *name, int64_t n, const double *pos);

/* One line that may go to a terminal, cut to fit. */
void iso_scanner_set_name(iso_scanner *s, const char *text, size_t length);

#endif
