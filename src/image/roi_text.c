/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions as users write them. */
#include "core/status.h"

#include <stdio.h>
#include <string.h>

static const struct form {
	const char *name, *numbers;
	int n;
} forms[] = {
	[ISO_ROI_SPHERE] = { "sphere:", "X,Y,Z,R", 4 },
	[ISO_ROI_CYLINDER] = { "cylinder:", "X,Y,Z,R,LENGTH[,AXIS]", 5 },
	[ISO_ROI_BOX] = { "box:", "X0,X1,Y0,Y1,Z0,Z1", 6 },
};

/* ",x", ",y" or ",z" at the end of a cylinder, which is cut off; z if there is none. */
static int take_axis(char *text)
{
	size_t length = strlen(text);
	const char *axes = "xyz", *axis;

	if (length < 2 || text[length - 2] != ',' || !(axis = strchr(axes, text[length - 1]))) return 2;
	text[length - 2] = '\0';
	return (int)(axis - axes);
}

int iso_roi_parse(struct iso_roi *r, const char *text)
{
	if (!r || !text) return iso_fail_null(__func__);
	struct iso_roi roi = { .kind = ISO_ROI_SPHERE };
	char numbers[256];
	double v[6] = { 0 };

	while (roi.kind <= ISO_ROI_BOX &&
	       strncmp(text, forms[roi.kind].name, strlen(forms[roi.kind].name)) != 0)
		roi.kind++;
	if (roi.kind > ISO_ROI_BOX)
		return iso_fail(ISO_EARG, "region '%.100s': must be sphere:%s, cylinder:%s or box:%s, in mm",
		                text, forms[0].numbers, forms[1].numbers, forms[2].numbers);
	const struct form *f = &forms[roi.kind];

	if (snprintf(numbers, sizeof numbers, "%s", text + strlen(f->name)) >= (int)sizeof numbers)
		return iso_fail(ISO_EARG, "region '%.40s...' is too long", text);
	if (roi.kind == ISO_ROI_CYLINDER) roi.axis = take_axis(numbers);
	if (iso_numbers(v, f->n, numbers) != f->n)
		return iso_fail(ISO_EARG, "region '%.100s': must be %s%s, in mm", text, f->name, f->numbers);
	for (int a = 0; a < 3; a++) {
		roi.centre[a] = v[a];
		roi.low[a] = v[2 * a];
		roi.high[a] = v[2 * a + 1];
	}
	roi.radius = v[3];
	roi.length = v[4];
	*r = roi;
	return ISO_OK;
}
