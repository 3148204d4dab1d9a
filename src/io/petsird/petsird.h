/* SPDX-License-Identifier: BSD-3-Clause */
/* What the header of a PETSIRD file (ETSI's raw data of PET, 0.7 to 0.12) tells of its scanner. */
#ifndef ISO_PETSIRD_H
#define ISO_PETSIRD_H

#include "scanner/scanner.h"
#include "yardl.h"

/* TOF bins of two kinds of modules. */
struct petsird_tof {
	int64_t bins;      /* 0: not said */
	float *dt_ps;      /* their middles */
	double edge_ps[2]; /* first and last edge */
	bool even;         /* all are equally wide */
	double fwhm_ps;
};

struct petsird {
	struct yardl y;
	char name[64];
	int kinds;
	struct iso_module_kind kind[ISO_MODULE_KINDS];
	int64_t windows[ISO_MODULE_KINDS]; /* of energy, as read; 0: not said */
	double energy_kev[2];     /* of the first kind: its least and greatest edge; 0, 0: not said */
	double energy_resolution; /* of the first kind, FWHM at 511 keV as a share; 0: not said */
	struct petsird_tof tof[ISO_MODULE_KINDS][ISO_MODULE_KINDS];
	int64_t crystals;
	double *place; /* (crystals, 3) mm */
	bool aligned;  /* gantryAlignment is there and not the identity */
	struct petsird_raw *raw;
	struct iso_efficiencies *efficiencies;
	bool normalised; /* the file has some, */
	bool factors;    /* and not only 1 for pairs in coincidence and 0 for others */
};

/* The header; y stands behind it. */
int petsird_read_header(struct petsird *p);
void petsird_free(struct petsird *p);

/* ---- parts of the header ---- */

/* The message ends with the value. After the first error they do nothing. */
void petsird_refuse(struct yardl *y, const char *what, double v);
void *petsird_make(struct yardl *y, int64_t n, int64_t item); /* zeroed; an error leaves NULL */

/* Rows of numbers, of any lengths: row i is v[first[i]] ... v[first[i + 1] - 1]. */
struct petsird_table {
	int64_t rows;
	int64_t *first;
	float *v;
};

/* A matrix: an array of two axes, or, since 0.10, a vector of vectors. */
void petsird_read_table(struct yardl *y, int type, struct petsird_table *t);
/* A vector, or an array of one axis, as a table of one row. */
void petsird_read_list(struct yardl *y, int type, struct petsird_table *t);
void petsird_free_table(struct petsird_table *t);

void petsird_each_pair(struct yardl *y, int type,
                       void (*read)(struct yardl *y, int type, void *arg, int k, int l), void *arg);

/* petsird_efficiency.c: read into p->raw; once all of the header is known, made p->efficiencies. */
void petsird_read_efficiencies(struct yardl *y, int type, void *arg);
void petsird_take_efficiencies(struct petsird *p);
void petsird_free_raw(struct petsird_raw *r);

void petsird_read_transform(struct yardl *y, int type, double m[3][4]);

/* ---- petsird_moves.c ---- */

/* Of a bed or a gantry: rows of ms and a matrix of 3 x 4. */
struct petsird_moves {
	int64_t n, room;
	double *v;
	bool move;           /* one is not the identity */
	double start_ms;     /* of the block that is read, */
	double matrix[3][4]; /* its matrix, */
	int64_t matrices;    /* and how many it had */
};

/* A block of type BedMovementTimeBlock or GantryMovementTimeBlock. */
void petsird_read_moves(struct petsird_moves *m, struct yardl *y, int type);

/* As a table, times from first_ms on; NULL: nothing moves. */
int petsird_poses(iso_poses **p, const struct petsird_moves *m, double first_ms,
                  const struct iso_poses_options *o, const char *path);

/* ---- writing ---- */

/* petsird_schema.c: the schema of 0.12, for the caller to free. */
int petsird_schema(char **text);

struct iso_event_writer;
struct iso_events;
int petsird_create(struct iso_event_writer *w, const char *path, int64_t bytes);
void petsird_set_factors(struct iso_event_writer *w, const struct iso_pair_factors *f);
int petsird_begin(struct iso_event_writer *w, const struct iso_events *e);
int petsird_append(struct iso_event_writer *w, const struct iso_events *e);
int petsird_finish(struct iso_event_writer *w, const char *sidecar);

#endif
