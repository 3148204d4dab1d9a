/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of scanners that are known by name. Sizes are those that STIR takes for these names, so that a header means
   the same scanner in both programs. */
#include "known.h"

#include <stdbool.h>
#include <stddef.h>

/* names; rings, detectors a ring; inner radius, depth, pitch of rings, arc-corrected bin, mm; TOF bin and FWHM, ps */
static const struct iso_known known[] = {
	{ { "ECAT 931" }, 8, 512, 510, 7, 13.5, 3.129, 0, 0 },
	{ { "ECAT 951" }, 16, 512, 510, 7, 6.75, 3.12932, 0, 0 },
	{ { "ECAT 953" }, 16, 384, 382.5, 7, 6.75, 3.12932, 0, 0 },
	{ { "ECAT 921", "ECAT EXACT", "EXACT" }, 24, 384, 412.5, 7, 6.75, 3.375, 0, 0 },
	{ { "ECAT 925", "ECAT ART" }, 24, 384, 412.5, 7, 6.75, 3.375, 0, 0 },
	{ { "ECAT 961", "ECAT HR" }, 24, 784, 412, 7, 6.25, 1.65, 0, 0 },
	{ { "ECAT 962", "ECAT HR+" }, 32, 576, 412, 7, 4.85, 2.25, 0, 0 },
	{ { "ECAT EXACT 3D", "EXACT 3D", "ECAT HR++", "ECAT 966" }, 48, 576, 412, 7, 4.85, 2.25, 0, 0 },
	{ { "ECAT 1080", "Biograph 16", "1080" }, 41, 672, 412, 7, 4, 2, 0, 0 },
	{ { "Siemens mMR", "mMR", "2008" }, 64, 504, 328, 7, 4.0625, 2.08626, 0, 0 },
	{ { "Siemens mCT", "mCT", "2011", "1104", "1094" }, 55, 672, 421, 7, 4.054, 2.005, 312, 555 },
	{ { "Siemens Vision 600", "Vision 600", "1208" }, 80, 798, 410, 7, 3.29114, 1.6, 17.90387, 214 },
	{ { "Siemens Quadra", "Quadra", "1232" }, 323, 798, 410, 7, 3.29114, 1.6, 17.90387, 214 },
	{ { "PRT-1", "RPT" }, 16, 384, 373, 7, 6.75, 3.1088, 0, 0 },
	{ { "RATPET" }, 8, 112, 57.5, 7, 6.25, 1.65, 0, 0 },
	{ { "nanoPET" }, 81, 468, 174, 5, 1.17, 1.17, 0, 0 },
	{ { "HYPERimage" }, 22, 490, 103.97, 3, 1.4, 1.4, 0, 0 },
	{ { "GE Advance", "Advance" }, 18, 672, 463.475, 8.4, 8.5, 1.970177, 0, 0 },
	{ { "GE Discovery LS", "Discovery LS" }, 18, 672, 463.475, 8.4, 8.5, 1.970177, 0, 0 },
	{ { "GE Discovery ST", "Discovery ST" }, 24, 420, 443.1, 8.4, 6.54, 3.195, 0, 0 },
	{ { "GE Discovery STE", "Discovery STE" }, 24, 560, 443.1, 8.4, 6.54, 2.397, 0, 0 },
	{ { "GE Discovery RX", "Discovery RX" }, 24, 630, 443.1, 9.4, 6.54, 2.13, 0, 0 },
	{ { "GE Discovery 600", "Discovery 600" }, 24, 512, 404.95, 8.4, 6.54, 2.3974, 0, 0 },
	{ { "GE Signa PET/MR", "PET/MR Signa", "Signa PET/MR" },
	  45,
	  448,
	  311.8,
	  8.5,
	  5.56,
	  2.01565,
	  13.02,
	  390 },
	{ { "GE Discovery 690", "Discovery 690", "GE Discovery 710", "Discovery 710" },
	  24,
	  576,
	  405.1,
	  9.4,
	  6.54,
	  2.1306,
	  89,
	  550 },
	{ { "GE Discovery MI 3 rings", "Discovery MI3" }, 27, 544, 371.1, 9.4, 5.52296, 2.206, 13, 375.4 },
	{ { "GE Discovery MI 4 rings", "Discovery MI4" }, 36, 544, 371.1, 9.4, 5.52296, 2.206, 13, 375.4 },
	{ { "GE Discovery MI 5 rings", "Discovery MI5" }, 45, 544, 371.1, 9.4, 5.52296, 2.206, 13, 375.4 },
	{ { "GE Discovery MI 6 rings", "Discovery MI6" }, 54, 544, 371.1, 9.4, 5.52296, 2.206, 13, 375.4 },
	{ { "HRRT" }, 104, 576, 234.765, 7, 2.4375, 1.21875, 0, 0 },
	{ { "Allegro", "Philips Allegro" }, 29, 644, 430.05, 12, 6.3, 4.3, 0, 0 },
	{ { "Philips Vereos", "Vereos" }, 40, 612, 382, 11, 4.1026, 2.2876, 0, 0 },
	{ { "GeminiTF", "Philips GeminiTF" }, 44, 644, 450.17, 8, 4, 4, 0, 0 },
	{ { "SAFIRDualRingPrototype" }, 16, 180, 64.05, 5, 2.2, 1.1, 0, 0 },
	{ { "UPENN_5rings" }, 280, 594, 382, 7, 3.9655, 2, 19.53125, 272.55 },
	{ { "UPENN_6rings" }, 336, 594, 382, 7, 3.9655, 2.02035, 19.53125, 272.55 },
	{ { "UPENN_5rings_no_gaps" }, 200, 576, 382, 7, 3.9655, 2.08349, 19.53125, 272.55 },
	{ { "UPENN_6rings_no_gaps" }, 240, 576, 382, 7, 3.9655, 2.08, 19.53125, 272.55 },
	{ { "GE Discovery MI", "Discovery MI" }, 0, 544, 371.1, 9.4, 5.52296, 2.206, 13, 375.4 },
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '_' || c == '!';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static bool same(const char *a, const char *b)
{
	while (true) {
		while (is_blank(*a)) a++;
		while (is_blank(*b)) b++;
		if (lower(*a) != lower(*b)) return false;
		if (!*a) return true;
		a++;
		b++;
	}
}

const struct iso_known *iso_known_scanner(const char *name)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		for (int k = 0; k < KNOWN_NAMES && known[i].name[k]; k++)
			if (same(name, known[i].name[k])) return &known[i];
	return NULL;
}
