/* SPDX-License-Identifier: BSD-3-Clause */
/* The motion of a head from its events: frames of the events, and images of frames. */
#ifndef ISO_TRACK_H
#define ISO_TRACK_H

#include "isotome.h"

/* Where frames begin and end. The events' times do not fall, and those of one ms stay together. */
struct track_cutter {
	const iso_event_file *file;
	int64_t least_ms, least_events; /* of a frame */
	struct iso_events scan;         /* events whose times are looked at */
	int64_t scanned;                /* number of the first of them */
	int64_t next, from_ms;          /* of the next frame */
};

struct track_frame {
	int64_t first, n; /* events */
	int64_t from_ms, to_ms;
};

int track_cutter_begin(struct track_cutter *c, const iso_event_file *f, double frame_s, int64_t events);
bool track_cutter_more(const struct track_cutter *c);
int track_cutter_next(struct track_frame *f, struct track_cutter *c);
void track_cutter_end(struct track_cutter *c);

/* Images of frames: the operator's parameters and what all frames share. */
struct track_images {
	iso_ctx *ctx;
	const iso_event_file *file;
	struct iso_ray ray;
	struct iso_filter filter;
	int iterations;
	iso_real *sens, *start;
	struct iso_events events; /* of one frame; it grows */
	int64_t room;             /* events that it has room for */
};

/* Of all pairs, or of a share of them. */
struct iso_ray_sens track_sens(const iso_scanner *s, const struct iso_grid *g);
int track_images_begin(struct track_images *t, const struct iso_track *p, const iso_scanner *s);
/* x: the image of a frame; zeros if it has no events. sens: of its pairs, with or without attenuation. */
int track_image(iso_real *x, struct track_images *t, const struct track_frame *f, const iso_real *sens);
void track_images_end(struct track_images *t);

#define TRACK_POSES 32 /* of a map; that many sensitivities are kept at most */

/* Sensitivities with attenuation, where the head has a map. */
struct track_mu {
	int64_t n;             /* poses */
	struct iso_pose *pose; /* that stand for those of the frames */
	int64_t *of;           /* number of the pose of each frame */
	iso_real *sens;        /* an image a pose; NULL: no attenuation */
	iso_real *bare;        /* on coarse voxels, blurred, without attenuation */
	iso_real *share;       /* work: what attenuation leaves of it */
};

/* For the poses found so far, which for a first round are the identity. */
int track_mu_find(struct track_mu *m, const struct track_images *t, const struct iso_track *p,
                  const struct iso_tracked *found);
const iso_real *track_mu_sens(const struct track_mu *m, const struct track_images *t, int64_t frame);
void track_mu_forget(struct track_mu *m); /* the poses and all that is of them */
void track_mu_free(struct track_mu *m);

#endif
