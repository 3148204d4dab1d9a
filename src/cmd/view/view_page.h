/* SPDX-License-Identifier: BSD-3-Clause */
/* isotome view -o FILE.html: a page to look around in an image. */
#ifndef ISO_VIEW_PAGE_H
#define ISO_VIEW_PAGE_H

#include "cmd/cmd.h"

struct view_page {
	const char *image, *out;
	const char *overlay;     /* NULL: none */
	const char *overlay_map; /* its colours; NULL: grey */
	double opacity;          /* of the overlay; 0: as the page chooses */
	bool at_given, window_given, percent_given, frame_given;
};

bool view_is_page(const char *path);

/* `look`: title, frame, window, colours and place that the page shows first. */
int view_page(struct cmd *c, const struct view_page *page, const struct iso_picture *look);

/* Warns where the image is oblique, and says what is then drawn. */
int view_tell_tilt(struct cmd *c, const char *path);

#endif
