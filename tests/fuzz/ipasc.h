/* SPDX-License-Identifier: BSD-3-Clause */
/* IPASC files whose fields are there or not, of any kind and size, as the input's bytes choose. */
#ifndef IPASC_H
#define IPASC_H

#include "fuzz.h"

#define H5_USE_110_API
#include <hdf5.h>

/* Bytes are taken from the front; then there are zeros. */
struct choice {
	const uint8_t *at, *end;
};

static inline int take(struct choice *c)
{
	return c->at < c->end ? *c->at++ : 0;
}

/* Some that are plain, some that are not. */
static inline double number(struct choice *c)
{
	static const double odd[] = { 0, -1, 1e300, 1e-300, NAN, INFINITY, 700e-9, 1e9 };
	int v = take(c);

	return v < 8 ? odd[v] : v < 128 ? v - 64 : (v - 128) * 1e-3;
}

static inline void put(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dim, const void *v)
{
	hid_t list = H5Pcreate(H5P_LINK_CREATE), space, set;

	H5Pset_create_intermediate_group(list, 1);
	space = rank < 0 ? H5Screate(H5S_NULL) : H5Screate_simple(rank, dim, NULL);
	set = H5Dcreate2(file, name, type, space, list, H5P_DEFAULT, H5P_DEFAULT);
	if (set >= 0 && v) H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
	if (set >= 0) H5Dclose(set);
	H5Sclose(space);
	H5Pclose(list);
}

static inline void put_text(hid_t file, const char *name, const char *text, bool fixed)
{
	hid_t type = H5Tcopy(H5T_C_S1);

	H5Tset_size(type, fixed ? strlen(text) + 1 : H5T_VARIABLE);
	put(file, name, type, 0, NULL, fixed ? (const void *)text : &text);
	H5Tclose(type);
}

/* Up to five axes of up to five values. */
static inline void put_numbers(hid_t file, const char *name, struct choice *c)
{
	hsize_t dim[5] = { 0 }, n = 1;
	int rank = take(c) % 7 - 1;
	static double v[3125];

	for (int i = 0; i < rank; i++) n *= dim[i] = (hsize_t)(take(c) % 6);
	for (hsize_t i = 0; i < n; i++) v[i] = number(c);
	put(file, name, H5T_NATIVE_DOUBLE, rank, dim, rank < 0 ? NULL : v);
}

static inline void put_bytes(hid_t file, const char *name, struct choice *c, bool fixed)
{
	char text[40] = "";
	int n = take(c) % (int)sizeof text;

	for (int i = 0; i < n; i++) text[i] = (char)take(c);
	put_text(file, name, text, fixed);
}

/* A number above 99: what a right file has. */
static inline bool put_odd(hid_t file, const char *name, struct choice *c)
{
	int kind = take(c);
	hsize_t two[1] = { 2 };

	if (kind > 99) return false;
	switch (kind % 8) {
	case 1:
		put_text(file, name, "None", kind > 50);
		break;
	case 2:
		put_bytes(file, name, c, kind > 50);
		break;
	case 3:
		put(file, name, H5T_NATIVE_INT, 1, two, (const int[]){ take(c), -take(c) });
		break;
	case 4:
		H5Gclose(H5Gcreate2(file, "/g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
		break;
	case 5:
		H5Lcreate_external("x.npy", "/x", file, "/e", H5P_DEFAULT, H5P_DEFAULT);
		break;
	case 6:
		H5Lcreate_soft("/meta_data/sizes", file, name, H5P_DEFAULT, H5P_DEFAULT);
		break;
	case 7:
		put_numbers(file, name, c);
		break;
	}
	return true;
}

static inline void put_reals(hid_t file, const char *name, struct choice *c, int n, const double *v)
{
	hsize_t dim[1] = { (hsize_t)n };

	if (!put_odd(file, name, c)) put(file, name, H5T_NATIVE_DOUBLE, n > 1, dim, v);
}

static inline void put_detector(hid_t file, struct choice *c, int k)
{
	static const char *const form[] = { "/meta_data_device/detectors/%010d",
		                            "/meta_data_device/detectors/e_%d",
		                            "/meta_data_device/detectors/%d_e" };
	char id[64], name[128];

	snprintf(id, sizeof id, form[take(c) % 3], k);
	snprintf(name, sizeof name, "%s/detector_position", id);
	put_reals(file, name, c, 3, (const double[]){ cos(k), sin(k), .01 });
	snprintf(name, sizeof name, "%s/detector_orientation", id);
	put_reals(file, name, c, 3, (const double[]){ -cos(k), -sin(k), 0 });
	snprintf(name, sizeof name, "%s/detector_geometry_type", id);
	if (!put_odd(file, name, c)) put_text(file, name, take(c) % 2 ? "CUBOID" : "SPHERE", false);
	snprintf(name, sizeof name, "%s/detector_geometry", id);
	put_reals(file, name, c, 3, (const double[]){ .001, .002, .003 });
}

/* A group that knows in which order its members were made. */
static inline void put_tracked(hid_t file, const char *name)
{
	hid_t make = H5Pcreate(H5P_GROUP_CREATE), link = H5Pcreate(H5P_LINK_CREATE);

	H5Pset_link_creation_order(make, H5P_CRT_ORDER_TRACKED);
	H5Pset_create_intermediate_group(link, 1);
	H5Gclose(H5Gcreate2(file, name, link, make, H5P_DEFAULT));
	H5Pclose(link);
	H5Pclose(make);
}

static inline void make_ipasc(const char *path, struct choice *c, bool tracked)
{
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hsize_t dim[4] = { 2, 3, 2, 1 };
	double y[12];

	MUST(file >= 0);
	for (int i = 0; i < 12; i++) y[i] = number(c);
	if (!put_odd(file, "/binary_time_series_data", c))
		put(file, "/binary_time_series_data", H5T_NATIVE_DOUBLE, 2 + take(c) % 3, dim, y);
	put_reals(file, "/meta_data/ad_sampling_rate", c, 1, (const double[]){ 20e6 });
	put_reals(file, "/meta_data/speed_of_sound", c, 1, (const double[]){ 1500 });
	put_reals(file, "/meta_data/acquisition_wavelengths", c, 2, (const double[]){ 7e-7, 8e-7 });
	put_reals(file, "/meta_data/time_gain_compensation", c, 3, y);
	put_reals(file, "/meta_data_device/general/field_of_view", c, 6,
	          (const double[]){ -.1, .1, -.1, .1, 0, 0 });
	if (tracked) put_tracked(file, "/meta_data_device/detectors");
	for (int k = 0, n = take(c) % 4; k <= n; k++) put_detector(file, c, k);
	H5Fclose(file);
}

#endif
