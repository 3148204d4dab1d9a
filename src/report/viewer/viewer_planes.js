// SPDX-License-Identifier: BSD-3-Clause
// Planes of images on canvases: colours, slices, differences, the maximum projection, marks above them.

const AXES = { z: { across: 2, right: 0, up: 1 }, y: { across: 1, right: 0, up: 2 }, x: { across: 0, right: 1, up: 2 } };
const NO_NUMBER = 0xffff00ff; // magenta, as bytes A B G R
const HIGHEST_REM = 34, HIGHEST_ALONE_REM = 38;
const LETTERS = { anatomy: ['LR', 'PA', 'IS'], axes: [['', '+x'], ['', '+y'], ['', '+z']], none: [['', ''], ['', ''], ['', '']] }; // ends of x, y, z
const PLANES = { x: 'Sagittal', y: 'Coronal', z: 'Transverse' };

// Colours as words of a canvas: red is the lowest byte.
const paletteOf = base64 => {
	const rgb = bytesOf(base64), words = new Uint32Array(256);
	for (let i = 0; i < 256; i++)
		words[i] = (255 << 24 | rgb[3 * i + 2] << 16 | rgb[3 * i + 1] << 8 | rgb[3 * i]) >>> 0;
	return words;
};

const wordOf = (palette, window, value) => {
	if (!Number.isFinite(value)) return NO_NUMBER;
	const share = (value - window[0]) / (window[1] - window[0]);
	return palette[Math.round(255 * Math.min(Math.max(share, 0), 1))];
};

const rgbOf = word => [word & 255, word >>> 8 & 255, word >>> 16 & 255];

// The colour of every code of a frame; the last table is kept, as most redraws change the slice alone.
class Colours {
	constructor() {
		this.key = '';
	}

	table(volume, t, palette, window) {
		const key = [volume.number, t, palette[100], palette[200], ...window].join();
		if (key === this.key) return this.words;
		this.key = key;
		this.words = new Uint32Array(volume.codesUsed);
		for (let code = 0; code < volume.codesUsed; code++)
			this.words[code] = wordOf(palette, window, volume.value(code, t));
		return this.words;
	}
}

// A picture with a pixel a voxel, drawn on later at any size.
class Sheet {
	constructor() {
		this.canvas = document.createElement('canvas');
		this.context = this.canvas.getContext('2d');
	}

	// word(i, j): the colour of column i and row j, rows upwards.
	paint(width, height, fill) {
		if (this.canvas.width !== width || this.canvas.height !== height || !this.pixels) {
			this.canvas.width = width;
			this.canvas.height = height;
			this.pixels = this.context.createImageData(width, height);
			this.words = new Uint32Array(this.pixels.data.buffer);
		}
		fill(this.words);
		this.context.putImageData(this.pixels, 0, 0);
	}

	slice(volume, t, axes, index, table) {
		const { across, right, up } = axes, [w, h] = [volume.n[right], volume.n[up]];
		const codes = volume.codes[t], { step } = volume;
		this.paint(w, h, words => {
			for (let j = 0, k = 0; j < h; j++) {
				let from = index * step[across] + (h - 1 - j) * step[up];
				for (let i = 0; i < w; i++, k++, from += step[right]) words[k] = table[codes[from]];
			}
		});
	}

	// factor times the first less the second, at the first one's voxels.
	difference(shown, axes, index, palette, window) {
		const { first, second, frame, factor } = shown, { across, right, up } = axes;
		const [w, h] = [first.n[right], first.n[up]], at = [0, 0, 0];
		this.paint(w, h, words => {
			at[across] = first.place(across, index);
			for (let j = 0, k = 0; j < h; j++) {
				at[up] = first.place(up, h - 1 - j);
				for (let i = 0; i < w; i++, k++) {
					at[right] = first.place(right, i);
					words[k] = wordOf(palette, window, differenceAt(first, second, frame, factor, at));
				}
			}
		});
	}

	// Along lines in planes across z, turned by an angle about z; pixels as wide as voxels are apart there.
	maximum(volume, t, degrees, table) {
		const angle = degrees * Math.PI / 180, c = Math.cos(angle), s = Math.sin(angle);
		const [nx, ny, nz] = volume.n, [dx, dy] = volume.voxel, codes = volume.codes[t], { noNumber } = volume;
		const wide = Math.max(Math.abs(c) * dx, Math.abs(s) * dy);
		const width = Math.ceil((Math.abs(c) * (nx - 1) * dx + Math.abs(s) * (ny - 1) * dy) / wide - 1e-9) + 1;
		const to = new Int32Array(nx * ny), most = new Int32Array(width * nz).fill(-1);
		for (let y = 0, k = 0; y < ny; y++)
			for (let x = 0; x < nx; x++, k++)
				to[k] = Math.round(((x - (nx - 1) / 2) * dx * c + (y - (ny - 1) / 2) * dy * s) / wide + (width - 1) / 2);
		for (let z = 0, i = 0; z < nz; z++) {
			const row = (nz - 1 - z) * width;
			for (let k = 0; k < to.length; k++, i++)
				if (codes[i] > most[row + to[k]] && codes[i] !== noNumber) most[row + to[k]] = codes[i];
		}
		this.paint(width, nz, words => {
			for (let k = 0; k < words.length; k++) words[k] = most[k] < 0 ? 0xff000000 : table[most[k]];
		});
		return width * wide;
	}
}

const differenceAt = (first, second, frame, factor, at) => {
	const t = first.frameAt(frame), u = second.frameAt(frame);
	if (!second.holds(at)) return NaN;
	return factor * first.valueAt(at, t) - second.between(at, u);
};

// A canvas that shows a rectangle of mm, and one above it for marks.
class Panel {
	constructor(canvas, name) {
		this.canvas = canvas;
		this.axes = AXES[name];
		this.name = name;
		this.box = canvas.parentElement;
		this.context = canvas.getContext('2d', { willReadFrequently: true });
		this.marks = document.createElement('canvas');
		this.marks.setAttribute('aria-hidden', 'true');
		canvas.after(this.marks);
		this.marker = this.marks.getContext('2d');
		this.sheets = [new Sheet(), new Sheet()];
		this.colours = [new Colours(), new Colours()];
		this.low = [0, 0];
		this.size = [1, 1];
	}

	// What is shown: from the low edge, so many mm, on a canvas of at most this height.
	frame(low, size, highest = HIGHEST_REM) {
		this.low = low;
		this.size = size;
		const aspect = size[0] / size[1];
		this.box.style.aspectRatio = aspect;
		this.box.style.width = `min(100%, ${highest * aspect}rem)`;
	}

	fit() {
		const ratio = devicePixelRatio || 1;
		const w = Math.max(Math.round(this.box.clientWidth * ratio), 1), h = Math.max(Math.round(this.box.clientHeight * ratio), 1);
		for (const canvas of [this.canvas, this.marks])
			if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
		this.pixels = [w, h];
	}

	begin(smooth) {
		this.fit();
		this.context.globalAlpha = 1;
		this.context.fillStyle = '#000';
		this.context.fillRect(0, 0, ...this.pixels);
		this.context.imageSmoothingEnabled = smooth;
	}

	// A sheet that covers such a rectangle of mm.
	put(sheet, low, size, alpha) {
		const [left, bottom] = this.pixelOf(low), [right, top] = this.pixelOf([low[0] + size[0], low[1] + size[1]]);
		this.context.globalAlpha = alpha;
		this.context.drawImage(sheet.canvas, left, top, right - left, bottom - top);
	}

	// Of mm to the right and up, on the canvas; and back.
	pixelOf([right, up]) {
		return [(right - this.low[0]) / this.size[0] * this.pixels[0], (1 - (up - this.low[1]) / this.size[1]) * this.pixels[1]];
	}

	placeOf(clientX, clientY, at) {
		const box = this.canvas.getBoundingClientRect(), x = (clientX - box.left) / box.width, y = (clientY - box.top) / box.height;
		if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) return null;
		const place = [...at];
		place[this.axes.right] = this.low[0] + x * this.size[0];
		place[this.axes.up] = this.low[1] + (1 - y) * this.size[1];
		return place;
	}

	clientOf(at) {
		const box = this.canvas.getBoundingClientRect();
		const [x, y] = this.pixelOf([at[this.axes.right], at[this.axes.up]]);
		return [box.left + x / this.pixels[0] * box.width, box.top + y / this.pixels[1] * box.height];
	}

	pixelAt(at) {
		const [x, y] = this.pixelOf([at[this.axes.right], at[this.axes.up]]).map(Math.floor);
		return [...this.context.getImageData(x, y, 1, 1).data.slice(0, 3)];
	}

	// One image as a layer: its slice nearest to the place, where it lies.
	layer(k, volume, t, at, palette, window, alpha) {
		const { across, right, up } = this.axes;
		const i = volume.index(across, at[across]);
		if (i < -.5 - 1e-4 || i > volume.n[across] - .5 + 1e-4) return;
		const table = this.colours[k].table(volume, t, palette, window);
		this.sheets[k].slice(volume, t, this.axes, volume.nearest(across, at[across]), table);
		this.put(this.sheets[k], [volume.lowEdge(right), volume.lowEdge(up)], [volume.extent(right), volume.extent(up)], alpha);
	}

	// At the edges: [left, right, bottom, top], '' for none.
	letter(letters) {
		const m = this.marker, [w, h] = this.pixels, unit = devicePixelRatio || 1, edge = 9 * unit;
		m.fillStyle = '#fff';
		m.strokeStyle = '#000';
		m.lineWidth = 3 * unit;
		m.lineJoin = 'round';
		m.font = `600 ${12 * unit}px sans-serif`;
		m.textBaseline = 'middle';
		[[edge, h / 2, 'left'], [w - edge, h / 2, 'right'], [w / 2, h - edge, 'center'], [w / 2, edge, 'center']].forEach(([x, y, align], side) => {
			m.textAlign = align;
			m.strokeText(letters[side], x, y);
			m.fillText(letters[side], x, y);
		});
	}

	mark(at, line, region) {
		const m = this.marker, [w, h] = this.pixels, { across, right, up } = this.axes, unit = devicePixelRatio || 1;
		const [x, y] = this.pixelOf([at[right], at[up]]), gap = 7 * unit;
		m.clearRect(0, 0, w, h);
		const stroke = path => {
			for (const [colour, width] of [['#0009', 3], ['#fff', 1]]) {
				m.strokeStyle = colour;
				m.lineWidth = width * unit;
				m.stroke(path);
			}
		};
		const cross = new Path2D();
		for (const [a, b, c, d] of [[0, y, x - gap, y], [x + gap, y, w, y], [x, 0, x, y - gap], [x, y + gap, x, h]]) {
			cross.moveTo(a, b);
			cross.lineTo(c, d);
		}
		m.globalAlpha = .6;
		stroke(cross);
		m.globalAlpha = 1;
		if (line) {
			const path = new Path2D();
			path.moveTo(...this.pixelOf([line.from[right], line.from[up]]));
			path.lineTo(...this.pixelOf([line.to[right], line.to[up]]));
			stroke(path);
		}
		if (region) this.ring(stroke, region, at[across] - region.centre[across]);
	}

	// Where a ball is cut by the plane, so far from its centre.
	ring(stroke, { centre, radius }, away) {
		if (Math.abs(away) > radius) return;
		const r = Math.sqrt(radius ** 2 - away ** 2), path = new Path2D();
		const [x, y] = this.pixelOf([centre[this.axes.right], centre[this.axes.up]]);
		path.ellipse(x, y, r / this.size[0] * this.pixels[0], r / this.size[1] * this.pixels[1], 0, 0, 2 * Math.PI);
		stroke(path);
	}
}
