/* SPDX-License-Identifier: BSD-3-Clause */
/* Image quality after NEMA NU 2 with scatter: the phantom `spheres` and a uniform cylinder in the clinical ring, scanned
   photon by photon, reconstructed from the trues alone, from all events as if none were scattered, with scatter
   estimated from the events, and with the scatter expected of the true activity. */
#ifndef ISO_NEMA_STUDY_H
#define ISO_NEMA_STUDY_H

#include "papers/study/study.h"

/* How much is run. */
struct nema_scale {
	double events, noise_events; /* of a scan, expected; of each scan of the noise study */
	int64_t seeds;               /* of the noise study */
	double voxel,
		map_voxel; /* mm: of images; of the attenuation map, whose blocks are the scatter points */
	double length;     /* mm: of the objects along z, at most */
	double error;      /* of the Monte Carlo, as a share of the scatter */
	double pairs;      /* of crystals, drawn for distances */
	int iterations, subsets;
	const char *scanner; /* its description */
};

struct nema {
	struct study s;
	struct nema_scale scale;
	iso_scanner *scanner;
};

/* What is scanned. */
struct nema_object {
	const char *phantom;
	struct iso_array truth, mu; /* truth: 1 in the background */
	struct iso_array sens;
	double seen; /* sum of truth times sens: trues of a scan whose image is the truth */
};

/* One scan of it. */
struct nema_scan {
	const struct nema_object *o;
	struct iso_events e, trues; /* trues: a list of their own */
	uint8_t *order;             /* of each event: how often its photons were scattered */
	int64_t single, multiple;
	double unit; /* image value of the background, counts/mm: trues over o->seen */
};

enum nema_form { NEMA_TRUES, NEMA_NONE, NEMA_ESTIMATED, NEMA_KNOWN, NEMA_FORMS };

extern const char *const nema_files[NEMA_FORMS], *const nema_names[NEMA_FORMS];

/* ---- nema_scan.c ---- */

int nema_object_open(struct nema_object *o, const struct nema *n, const char *phantom);
void nema_object_close(struct nema_object *o);

int nema_scan_open(struct nema_scan *s, struct nema *n, const struct nema_object *o, double events,
                   uint64_t seed);
void nema_scan_close(struct nema_scan *s);

/* The table of the scatter that the true activity makes, in the counts of this scan. */
int nema_expected(iso_scatter_table **t, const struct nema *n, const struct nema_scan *s, bool tof);

enum { NEMA_BINS = 15 };

#define NEMA_BIN_MM 20.

/* Scattered events by the distance of their line from the axis, in bins of NEMA_BIN_MM: as scanned, and as the table
   without time of flight expects them, from some of the pairs. */
int nema_distances(double scanned[NEMA_BINS], double expected[NEMA_BINS], const struct nema *n,
                   const struct nema_scan *s, const iso_scatter_table *t);

/* ---- nema_recon.c ---- */

/* x is made. t: of NEMA_KNOWN, the table that tof is of, for a scan of `times` as many counts as this one. *told, unless
   NULL: what the record says of the scatter, to be given back by json_decref; NULL: nothing. */
struct nema_recon {
	enum nema_form form;
	bool tof;
	const iso_scatter_table *t;
	double times;
};

int nema_recon(struct iso_array *x, json_t **told, const struct nema *n, const struct nema_scan *s,
               const struct nema_recon *r);

/* ---- nema_noise.c ---- */

/* Variance over seeds of images with estimated scatter and with the expected one. */
int nema_noise(struct nema *n, const struct nema_object *o);

#endif
