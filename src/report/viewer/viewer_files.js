// SPDX-License-Identifier: BSD-3-Clause
// What can be saved: the stored image with its scale, the record, curves, pictures.

const csv = (head, columns) =>
	[head, ...columns[0].map((_, i) => columns.map(c => +c[i].toPrecision(9)).join())].join('\n') + '\n';

// All frames as float32; `from` is where they begin in the file.
const floatsOf = (volume, from) => {
	const bytes = new Uint8Array(from + 4 * volume.count * volume.frames), view = new DataView(bytes.buffer);
	for (let t = 0, at = from; t < volume.frames; t++)
		for (let i = 0; i < volume.count; i++, at += 4)
			view.setFloat32(at, volume.value(volume.codes[t][i], t), true);
	return bytes;
};

// NumPy's format 1.0: shape (nz, ny, nx), of several frames (nt, nz, ny, nx).
const npyOf = volume => {
	const shape = [...volume.frames > 1 ? [volume.frames] : [], ...[...volume.n].reverse()];
	const head = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(', ')}), }`;
	const text = head.padEnd(Math.ceil((head.length + 11) / 64) * 64 - 11) + '\n', from = 10 + text.length;
	const bytes = floatsOf(volume, from);
	bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, text.length & 255, text.length >> 8]);
	bytes.set(new TextEncoder().encode(text), 10);
	return bytes;
};

// NIfTI-1. One frame without gaps: the codes as they are stored, with slope and intercept; else float32.
const niftiOf = volume => {
	const codes = volume.frames === 1 && !volume.not_finite, size = codes ? volume.bits / 8 : 4, from = 352;
	let bytes;
	if (codes) {
		bytes = new Uint8Array(from + volume.count * size);
		const view = new DataView(bytes.buffer);
		volume.codes[0].forEach((c, i) => size === 1 ? view.setUint8(from + i, c) : view.setUint16(from + 2 * i, c, true));
	} else
		bytes = floatsOf(volume, from);
	const head = new DataView(bytes.buffer), several = volume.frames > 1;
	head.setInt32(0, 348, true);
	[several ? 4 : 3, ...volume.n, volume.frames, 1, 1, 1].forEach((n, i) => head.setInt16(40 + 2 * i, n, true));
	head.setInt16(70, codes ? volume.bits === 8 ? 2 : 512 : 16, true);
	head.setInt16(72, 8 * size, true);
	[1, ...volume.voxel, 1, 1, 1, 1].forEach((d, i) => head.setFloat32(76 + 4 * i, d, true));
	head.setFloat32(108, from, true);
	head.setFloat32(112, codes ? volume.scale[0] : 1, true);
	head.setFloat32(116, codes ? volume.offset[0] : 0, true);
	bytes[123] = volume.in_mm ? 2 : 0;
	new TextEncoder().encodeInto('Isotome: stored in a page', bytes.subarray(148, 228));
	head.setInt16(254, 1, true);
	for (let a = 0; a < 3; a++) {
		head.setFloat32(280 + 16 * a + 4 * a, volume.voxel[a], true);
		head.setFloat32(280 + 16 * a + 12, volume.place(a, 0), true);
	}
	bytes.set([0x6e, 0x2b, 0x31, 0], 344);
	return bytes;
};

// All curves of the page below each other, colours as they are now.
const chartsOf = () => {
	const style = getComputedStyle(document.documentElement), from = document.querySelectorAll('main svg');
	let y = 0, inner = '';
	for (const svg of from) {
		const [, , w, h] = svg.getAttribute('viewBox').split(' ').map(Number);
		const copy = svg.cloneNode(true);
		for (const [key, value] of Object.entries({ x: 0, y, width: w, height: h })) copy.setAttribute(key, value);
		inner += new XMLSerializer().serializeToString(copy);
		y += h + 20;
	}
	const colour = name => style.getPropertyValue(name).trim();
	return `<svg xmlns="http://www.w3.org/2000/svg" width="520" height="${y}"><style>text{font:13px sans-serif;fill:${colour('--soft')}}</style>` +
		`<rect width="100%" height="100%" fill="${colour('--paper')}"/>${inner.replace(/var\((--[a-z0-9]+)\)/g, (_, name) => colour(name))}</svg>\n`;
};

// Panels side by side on one canvas.
const pictureOf = panels => {
	const canvas = document.createElement('canvas'), context = canvas.getContext('2d'), gap = 8;
	canvas.width = panels.reduce((sum, p) => sum + p.canvas.width + gap, -gap);
	canvas.height = Math.max(...panels.map(p => p.canvas.height));
	let x = 0;
	for (const { canvas: picture, marks } of panels) {
		context.drawImage(picture, x, 0);
		context.drawImage(marks, x, 0);
		x += picture.width + gap;
	}
	return new Promise(resolve => canvas.toBlob(resolve, 'image/png'));
};

const save = ({ name, type, bytes }) => {
	const link = document.createElement('a'), address = URL.createObjectURL(new Blob([bytes], { type }));
	link.href = address;
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(address), 60000);
};
