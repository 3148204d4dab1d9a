/* SPDX-License-Identifier: BSD-3-Clause */
/* The window of a picture and the place that it shows, where nobody named them. docs/viewer.md tells the rule. */
#ifndef ISO_WINDOW_H
#define ISO_WINDOW_H

#include "places.h"

/* What counts in a voxel of value v. */
enum iso_window_kind {
	ISO_WINDOW_PLAIN,  /* v, and 0 where v is below 0; the window begins at 0 */
	ISO_WINDOW_SIGNED, /* |v|; the window is symmetric about 0 */
	ISO_WINDOW_LEAST,  /* v less the least value, where the window begins */
};

/* Whether a quantity of this unit is never below 0, such as an activity or an absorbed energy: a reconstruction that
   goes below 0 does so in error, and its window begins at 0. */
bool iso_window_never_negative(const char *unit);

/* The kind that suits values and unit, for a colour map of this name (NULL: whichever suits). */
enum iso_window_kind iso_window_kind(const struct iso_range *r, const char *unit, const char *map);

/* Whether no voxel counts; the window is then 1 wide, whatever other images have. */
bool iso_window_empty(const struct iso_range *r, enum iso_window_kind kind);

/* window: values of the first and the last colour, rising. voxel: the middle of what is seen in that window, the
   centre of mass of the upper half of the image smoothed. Either may be NULL. */
int iso_window_choose(double window[2], int64_t voxel[3], const struct iso_shown *vol,
                      enum iso_window_kind kind);

/* The window of the greatest values along an axis, as a projection shows them. */
int iso_window_projection(double window[2], const struct iso_shown *vol, enum iso_window_kind kind, int axis);

#endif
