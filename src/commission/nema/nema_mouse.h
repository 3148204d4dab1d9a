/* SPDX-License-Identifier: BSD-3-Clause */
/* Image quality after NEMA NU 4: a uniform cylinder, rods, and cold chambers. */
#ifndef ISO_NEMA_MOUSE_H
#define ISO_NEMA_MOUSE_H

#include "core/status.h"

enum { NEMA_RODS = 16, NEMA_COLD = 8 };

struct nema_mouse {
	double uniform[3];                         /* centre */
	double uniform_mm[2], rods_mm, cold_mm[2]; /* diameter, length of the regions; length of the rods' */
	int n_rods, n_cold;
	double rods_z, cold_z;
	double rod[NEMA_RODS][3]; /* x, y, diameter of the rod */
	double cold[NEMA_COLD][2];
	char cold_name[NEMA_COLD][32];
};

struct nema_mouse_result {
	double mean, most, least, std_percent;              /* uniform */
	double rc[NEMA_RODS], rod_std_percent[NEMA_RODS];   /* recovery */
	double rc_middle[NEMA_RODS];                        /* of the line in the rod's own middle */
	double sor[NEMA_COLD], cold_std_percent[NEMA_COLD]; /* spill-over ratio; std: NaN where SOR is 0 */
};

int iso_nema_mouse(struct nema_mouse_result *r, const struct iso_array *x, const struct nema_mouse *q);

#endif
