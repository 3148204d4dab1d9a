// SPDX-License-Identifier: BSD-3-Clause
// Images of the page: unpacking, values by place, means of a ball. Places are mm, or voxels where there is no grid.

const bytesOf = base64 => {
	const text = atob(base64), bytes = new Uint8Array(text.length);
	for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
	return bytes;
};

const inflate = async bytes => {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
};

// Differences from the voxel before, folded to 0, -1, 1, -2, ...; of 16 bits all upper bytes come first.
const unfold = (raw, count, bits) => {
	const codes = bits === 8 ? new Uint8Array(count) : new Uint16Array(count);
	const mask = 2 ** bits - 1;
	let code = 0;
	for (let i = 0; i < count; i++) {
		const folded = bits === 8 ? raw[i] : raw[i] << 8 | raw[count + i];
		code = code + (folded >>> 1 ^ -(folded & 1)) & mask;
		codes[i] = code;
	}
	return codes;
};

// Without what turns or breaks the lines of the text around it.
const printable = text => text.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, '\ufffd');

class Volume {
	constructor(head, number) {
		Object.assign(this, head, { name: printable(head.name), unit: printable(head.unit) });
		this.number = number;
		this.step = [1, this.n[0], this.n[0] * this.n[1]];
		this.count = this.step[2] * this.n[2];
		this.codesUsed = 2 ** this.bits;
		this.noNumber = this.not_finite ? this.codesUsed - 1 : -1;
		this.codes = [];
		this.loading = [];
		this.flat = this.n[2] === 1;
		this.slide = [Math.min(Math.max(this.range[0], -4 * this.window[1]), this.window[0]), Math.max(this.window[1], Math.min(this.range[1], 4 * this.window[1]))]; // of the window's ends
	}

	// Frame t, unpacked when first asked for.
	load(t) {
		if (!this.loading[t]) this.loading[t] = this.unpack(t);
		return this.loading[t];
	}

	async unpack(t) {
		const element = document.getElementById(`volume-${this.number}-${t}`);
		const raw = await inflate(bytesOf(element.textContent));
		if (raw.length !== this.count * this.bits / 8) throw new Error(`frame ${t} of ${this.name} is damaged`);
		this.codes[t] = unfold(raw, this.count, this.bits);
	}

	async loadAll() {
		for (let t = 0; t < this.frames; t++) await this.load(t);
	}

	frameAt(t) {
		return Math.min(t, this.frames - 1);
	}

	value(code, t) {
		return code === this.noNumber ? NaN : this.offset[t] + this.scale[t] * code;
	}

	index(axis, place) {
		return (place - this.centre[axis]) / this.voxel[axis] + (this.n[axis] - 1) / 2;
	}

	place(axis, index) {
		return this.centre[axis] + (index - (this.n[axis] - 1) / 2) * this.voxel[axis];
	}

	lowEdge(axis) {
		return this.place(axis, -.5);
	}

	extent(axis) {
		return this.n[axis] * this.voxel[axis];
	}

	// The voxel that holds a place; beyond the image, the last one before.
	nearest(axis, place) {
		return Math.min(Math.max(Math.floor(this.index(axis, place) + .5), 0), this.n[axis] - 1);
	}

	holds(at) {
		return at.every((place, axis) => {
			const i = this.index(axis, place);
			return i >= -.5 - 1e-4 && i <= this.n[axis] - .5 + 1e-4;
		});
	}

	valueAt(at, t) {
		if (!this.holds(at) || !this.codes[t]) return NaN;
		const i = at.reduce((sum, place, axis) => sum + this.nearest(axis, place) * this.step[axis], 0);
		return this.value(this.codes[t][i], t);
	}

	// Trilinear; between the outermost centres and the border, the outermost value.
	between(at, t) {
		const codes = this.codes[t], low = [0, 0, 0], share = [0, 0, 0];
		let sum = 0;
		for (let a = 0; a < 3; a++) {
			const i = Math.min(Math.max(this.index(a, at[a]), 0), this.n[a] - 1);
			low[a] = Math.floor(i);
			share[a] = i - low[a];
		}
		for (let corner = 0; corner < 8; corner++) {
			let weight = 1, i = 0;
			for (let a = 0; a < 3; a++) {
				const far = corner >> a & 1;
				weight *= far ? share[a] : 1 - share[a];
				i += (low[a] + far) * this.step[a];
			}
			if (weight > 0) sum += weight * this.value(codes[i], t);
		}
		return sum;
	}

	// As `isotome measure profile`: one sample a voxel of the least edge, ends included.
	profile(from, to, t) {
		const d = to.map((end, a) => end - from[a]), length = Math.hypot(...d);
		const samples = Math.max(Math.ceil(length / Math.min(...this.voxel) - 1e-6) + 1, 2);
		const p = { distance: [], x: [], y: [], z: [], value: [] };
		for (let i = 0; i < samples; i++) {
			const share = i / (samples - 1), at = from.map((begin, a) => begin + share * d[a]);
			p.distance.push(share * length);
			p.x.push(at[0]);
			p.y.push(at[1]);
			p.z.push(at[2]);
			p.value.push(this.holds(at) ? this.between(at, t) : NaN);
		}
		return p;
	}

	// Voxels whose centres lie in a ball, as `isotome measure roi sphere:X,Y,Z,R`.
	ball(centre, radius) {
		const inside = [], tolerance = 1e-4 * Math.min(...this.voxel), first = [], last = [];
		for (let a = 0; a < 3; a++) {
			first[a] = Math.max(Math.ceil(this.index(a, centre[a] - radius) - 1e-4), 0);
			last[a] = Math.min(Math.floor(this.index(a, centre[a] + radius) + 1e-4), this.n[a] - 1);
		}
		for (let z = first[2]; z <= last[2]; z++)
			for (let y = first[1]; y <= last[1]; y++)
				for (let x = first[0]; x <= last[0]; x++) {
					const far = Math.hypot(this.place(0, x) - centre[0], this.place(1, y) - centre[1],
						this.place(2, z) - centre[2]);
					if (far <= radius + tolerance) inside.push(x + y * this.step[1] + z * this.step[2]);
				}
		return inside;
	}

	// Of each frame, over the finite values.
	async region(centre, radius) {
		const inside = this.ball(centre, radius), r = { voxels: inside.length, mean: [], sd: [], min: [], max: [] };
		await this.loadAll();
		for (let t = 0; t < this.frames; t++) {
			const values = inside.map(i => this.value(this.codes[t][i], t)).filter(Number.isFinite);
			const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
			r.mean.push(mean);
			r.sd.push(Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length));
			r.min.push(values.reduce((a, b) => Math.min(a, b), Infinity));
			r.max.push(values.reduce((a, b) => Math.max(a, b), -Infinity));
		}
		return r;
	}

	frameName(t) {
		const { name, unit, value } = this.axis;
		return name === 'frame' ? `frame ${t}` : `frame ${t}, ${name} ${words(value[t])} ${unit}`;
	}

	// The values of one voxel in all frames, once these are unpacked.
	curveAt(at) {
		return { x: this.axis.value, y: this.axis.value.map((_, t) => this.valueAt(at, t)) };
	}
}
