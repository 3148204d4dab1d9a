/* SPDX-License-Identifier: BSD-3-Clause */
/* Model ray on the command line, as its parts see it: events in ray_events.c, factors and
   additive term in ray_factors.c, options and operator in model_ray.c. */
#ifndef ISO_MODEL_RAY_H
#define ISO_MODEL_RAY_H

#include "model.h"

struct ray {
	/* options */
	const char *events, *scanner, *mu, *norm, *additive, *delayed, *singles, *projector;
	int64_t size[3], rays, sens_seed;
	double voxel[3], centre[3];
	double tof_fwhm_ps, tof_bin_ps, tof_truncate, share, duration_s, coincidence_ns;
	bool precorrected;
	struct iso_events_options read;		/* how to read events */
	/* what they name */
	struct iso_grid grid;
	struct iso_events e;			/* the file */
	iso_scanner *s;
	struct iso_array mu_map, factors, add;	/* factors: --norm; add: --additive FILE */
	double add_constant;			/* --additive R */
	struct iso_events late;			/* --delayed */
	double *rate;				/* --singles, --delayed without times: per crystal */
	double tof, bin;			/* in force, ps */
	bool needs_add;				/* the additive term is asked for */
	/* the frame in force: `now` are its events; number[j] is that of event j in the file,
	   number is NULL and `now` is `e` where all are taken */
	struct model_frame frame;
	struct iso_events now;
	int64_t *number;
};

extern struct ray ray;

/* ray_events.c */
int ray_load_events(struct cmd *c, const struct opt_set *sets);
int ray_load_tof(struct cmd *c, const struct opt_set *sets);
int ray_select(const struct model_frame *f);
void ray_unselect(void);
/* The events of `e` between two times; free both. */
int ray_between(struct iso_events *part, int64_t **number, const struct iso_events *e,
		const struct model_frame *f);

/* ray_factors.c */
int ray_load_factors(struct cmd *c);
int ray_load_additive(struct cmd *c);
int ray_data(struct model_data *d, struct cmd *c);
bool ray_norm_per_crystal(void);
bool ray_factors_per_event(void);	/* of --norm or the events' file: not in the sensitivity */

#endif
