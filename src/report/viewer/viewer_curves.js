// SPDX-License-Identifier: BSD-3-Clause
// Curves as SVG, in the colours of the page.

const WIDTH = 480, HEIGHT = 250, LEFT = 62, RIGHT = 16, TOP = 26, BOTTOM = 44;

// At most four digits that count, as many as anyone reads; very small and very large ones by a power of ten.
const round = v => {
	const near = +v.toPrecision(4), far = near !== 0 && (Math.abs(near) < 1e-3 || Math.abs(near) >= 1e7);
	return far ? near.toExponential() : String(near);
};
const words = v => Number.isFinite(v) ? round(v).replaceAll('-', '\u2212') : 'not a number';

const element = (name, attributes, text) => {
	const e = document.createElementNS('http://www.w3.org/2000/svg', name);
	for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
	if (text !== undefined) e.textContent = text;
	return e;
};

// Round values of 1, 2 or 5 times a power of ten within an axis.
const ticks = (low, high) => {
	const raw = (high - low) / 6, power = 10 ** Math.floor(Math.log10(raw)), digit = raw / power;
	const step = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10), all = [];
	for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) all.push(k * step);
	return all;
};

const axisOf = values => {
	const finite = values.filter(Number.isFinite), low = Math.min(...finite), high = Math.max(...finite);
	if (high > low) return [low, high];
	const half = low ? Math.abs(low) / 20 : 1;
	return [low - half, high + half];
};

// curves: {name, colour, x, y}; colours as of the page, 1 to 6. mark: a place along x.
const chart = (label, xLabel, yLabel, curves, mark) => {
	const xs = axisOf(curves.flatMap(c => c.x)), ys = axisOf([0, ...curves.flatMap(c => c.y)]);
	const svg = element('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label });
	const px = x => LEFT + (x - xs[0]) / (xs[1] - xs[0]) * (WIDTH - LEFT - RIGHT);
	const py = y => HEIGHT - BOTTOM - (y - ys[0]) / (ys[1] - ys[0]) * (HEIGHT - TOP - BOTTOM);
	for (const y of ticks(...ys)) {
		svg.append(element('path', { d: `M${LEFT} ${py(y)}H${WIDTH - RIGHT}`, stroke: 'var(--line)' }));
		svg.append(element('text', { x: LEFT - 8, y: py(y) + 4, 'text-anchor': 'end' }, words(y)));
	}
	for (const x of ticks(...xs))
		svg.append(element('text', { x: px(x), y: HEIGHT - BOTTOM + 18, 'text-anchor': 'middle' }, words(x)));
	svg.append(element('text', { x: LEFT, y: 13 }, yLabel));
	svg.append(element('text', { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, 'text-anchor': 'middle' }, xLabel));
	if (mark !== undefined) svg.append(element('path', { d: `M${px(mark).toFixed(1)} ${TOP}V${HEIGHT - BOTTOM}`, stroke: 'var(--soft)', 'stroke-dasharray': '4 3' }));
	for (const c of curves) {
		let d = '', pen = 'M';
		c.x.forEach((x, i) => {
			if (Number.isFinite(c.y[i])) d += `${pen}${px(x).toFixed(1)} ${py(c.y[i]).toFixed(1)}`;
			pen = Number.isFinite(c.y[i]) ? 'L' : 'M';
		});
		svg.append(element('path', { d, fill: 'none', stroke: `var(--c${c.colour})`, 'stroke-width': 2, 'stroke-linejoin': 'round' }));
		if (c.x.length > 40) continue;
		c.x.forEach((x, i) => {
			if (Number.isFinite(c.y[i])) svg.append(element('circle', { cx: px(x), cy: py(c.y[i]), r: 2.5, fill: `var(--c${c.colour})` }));
		});
	}
	return svg;
};

const legend = curves => {
	const list = document.createElement('ul');
	list.className = 'legend';
	for (const c of curves) {
		const item = document.createElement('li');
		item.className = `k${c.colour}`;
		item.textContent = c.name;
		list.append(item);
	}
	return list;
};

const showChart = (box, label, xLabel, yLabel, curves, mark) =>
	box.replaceChildren(chart(label, xLabel, yLabel, curves, mark), ...curves.length > 1 ? [legend(curves)] : []);
