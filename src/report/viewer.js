// SPDX-License-Identifier: BSD-3-Clause
// The viewer: its state, what changes it, and what is shown of it.

const data = JSON.parse(document.getElementById('viewer-data').textContent);
const volumes = data.volumes.map((head, i) => new Volume(head, i));
const palettes = Object.fromEntries(Object.entries(data.maps).map(([name, base64]) => [name, paletteOf(base64)]));
const $ = id => document.getElementById(`v-${id}`);
const panels = Object.fromEntries(['z', 'y', 'x', 'z2', 'y2', 'x2'].map(id => [id, new Panel($(id), id[0])]));
const mip = new Panel($('mip'), 'y');

const state = {
	image: 0, second: null, mode: 'one', opacity: .5, frame: 0, at: data.at, tool: 'cross', line: null, region: null,
	angle: 0, spinning: false, smooth: false, draws: 0,
};
const looks = volumes.map(v => ({ map: v.map, window: [...v.window] })); // of each image, as last chosen

const first = () => volumes[state.image];
const second = () => state.second === null ? null : volumes[state.second];
const frameOf = volume => volume.frameAt(state.frame);
const paletteFor = volume => palettes[looks[volume.number].map];
const windowOf = volume => looks[volume.number].window;
const factor = () => second() && second().role === 'truth' ? first().factor : 1;

// Of a difference: as far on either side as the second image's window reaches, or the first one's if that is less.
const differenceWindow = () => {
	const reach = v => Math.max(...windowOf(v).map(Math.abs)), most = Math.min(factor() * reach(first()), reach(second()));
	return [-most / 2, most / 2];
};

// ---- drawing ----

const unitOf = volume => volume.in_mm ? ' mm' : '';
const placeWords = (at, volume) => `x ${words(at[0])}, y ${words(at[1])}, z ${words(at[2])}${unitOf(volume)}`;
const valueWords = (volume, at) => volume.holds(at) ? `${words(volume.valueAt(at, frameOf(volume)))} ${volume.unit}`.trim() : 'outside';

const told = at => {
	let text = `${placeWords(at, first())}: ${valueWords(first(), at)}`;
	if (second()) text += `; ${second().name}: ${valueWords(second(), at)}`;
	if (second() && state.mode === 'difference') text += `; difference: ${words(differenceAt(first(), second(), state.frame, factor(), at))}`;
	return text;
};

// The rectangle that a panel shows is the first image's, in all ways to show two.
const framePanels = () => {
	const v = first();
	for (const p of Object.values(panels))
		p.frame([v.lowEdge(p.axes.right), v.lowEdge(p.axes.up)], [v.extent(p.axes.right), v.extent(p.axes.up)]);
	const across = Math.hypot(v.extent(0), v.extent(1));
	mip.frame([-across / 2, v.lowEdge(2)], [across, v.extent(2)]);
	for (const id of ['y', 'x']) panels[id].canvas.closest('figure').hidden = v.flat;
	for (const id of ['z2', 'y2', 'x2']) panels[id].canvas.closest('figure').hidden = state.mode !== 'side' || (v.flat && id !== 'z2');
	$('mip-box').hidden = v.flat;
};

const drawPanel = (id, panel) => {
	const shown = id.length > 1 ? second() : first();
	if (panel.canvas.closest('figure').hidden) return;
	panel.begin(state.smooth);
	if (state.mode === 'difference') {
		const v = first(), { across, right, up } = panel.axes;
		const pair = { first: v, second: second(), frame: state.frame, factor: factor() };
		panel.sheets[0].difference(pair, panel.axes, v.nearest(across, state.at[across]), palettes['blue-red'], differenceWindow());
		panel.put(panel.sheets[0], [v.lowEdge(right), v.lowEdge(up)], [v.extent(right), v.extent(up)], 1);
	} else
		panel.layer(0, shown, frameOf(shown), state.at, paletteFor(shown), windowOf(shown), 1);
	if (state.mode === 'overlay') {
		const v = second();
		panel.layer(1, v, frameOf(v), state.at, paletteFor(v), windowOf(v), state.opacity);
	}
	panel.mark(state.at, state.line, state.region, ['x', 'y', 'z']);
};

const drawMip = () => {
	const v = first(), t = frameOf(v);
	if (v.flat) return;
	mip.begin(state.smooth);
	const table = mip.colours[0].table(v, t, paletteFor(v), windowOf(v));
	const width = mip.sheets[0].maximum(v, t, state.angle, table);
	mip.put(mip.sheets[0], [-width / 2, v.lowEdge(2)], [width, v.extent(2)], 1);
	$('place-mip').textContent = `${Math.round(state.angle)}°`;
};

const drawBar = () => {
	const context = $('bar').getContext('2d'), pixels = context.createImageData(256, 1);
	new Uint32Array(pixels.data.buffer).set(state.mode === 'difference' ? palettes['blue-red'] : paletteFor(first()));
	context.putImageData(pixels, 0, 0);
};

const show = () => {
	const v = first();
	state.draws++;
	for (const [id, panel] of Object.entries(panels)) drawPanel(id, panel);
	drawMip();
	drawBar();
	for (const [name, { across }] of Object.entries(AXES)) {
		const place = `${name} = ${words(state.at[across])}${unitOf(v)}`;
		$(`slice-${name}`).value = v.nearest(across, state.at[across]);
		$(`slice-${name}`).setAttribute('aria-valuetext', place);
		$(`place-${name}`).textContent = place;
	}
	$('cross').textContent = told(state.at);
	$('angle').value = state.angle;
};

let waiting = false;
const later = () => {
	if (waiting) return;
	waiting = true;
	requestAnimationFrame(() => {
		waiting = false;
		show();
	});
};

// ---- controls as the state is ----

const round = v => +v.toPrecision(6);
const shareOf = (volume, v) => Math.round(1000 * (v - volume.range[0]) / (volume.range[1] - volume.range[0] || 1));

const showWindow = () => {
	const v = first(), [low, high] = state.mode === 'difference' ? differenceWindow() : windowOf(v);
	$('low').value = round(low);
	$('high').value = round(high);
	$('low-range').value = shareOf(v, low);
	$('high-range').value = shareOf(v, high);
	for (const id of ['map', 'low', 'high', 'low-range', 'high-range']) $(id).disabled = state.mode === 'difference';
	$('map').value = looks[v.number].map;
	if (!second()) return;
	$('map2').value = looks[state.second].map;
	[$('low2').value, $('high2').value] = windowOf(second()).map(round);
};

const showControls = () => {
	const v = first(), frames = Math.max(v.frames, second() ? second().frames : 1), longest = v.frames === frames ? v : second();
	$('image').value = state.image;
	$('second').value = state.second === null ? '' : state.second;
	$('mode').value = state.mode;
	$('mode').disabled = !second();
	$('opacity').value = state.opacity;
	$('opacity-box').hidden = state.mode !== 'overlay';
	$('window2').hidden = !second() || !['overlay', 'side'].includes(state.mode);
	$('frame-box').hidden = frames === 1;
	$('frame').max = frames - 1;
	$('frame').value = state.frame;
	$('frame-label').textContent = longest.frameName(state.frame);
	$('smooth').checked = state.smooth;
	$(`tool-${state.tool}`).checked = true;
	$('spin').setAttribute('aria-pressed', state.spinning);
	$('save-record').disabled = typeof v.record !== 'string';
	for (const [name, { across }] of Object.entries(AXES)) {
		$(`slice-${name}`).max = v.n[across] - 1;
		$(`slice-${name}`).disabled = v.n[across] === 1;
		for (const [id, shown] of [[name, v], [`${name}2`, second() || v]])
			$(id).setAttribute('aria-label', `${shown.name}, plane across ${name}`);
		$(`${name}2`).closest('figure').lastElementChild.textContent = second() ? second().name : '';
	}
	showWindow();
};

const notes = v => {
	const by = v.block.some(b => b > 1) ? `is reduced for this page: each voxel is the mean of ${v.block.join(' × ')} of the file's ${v.full.join(' × ')}` : 'has all its voxels';
	const exact = v.exact ? 'its values are exact' : `values to ± ${words(Math.max(...v.scale) / 2)} ${v.unit}`.trim();
	const frames = v.frames < v.all_frames ? `, the first ${v.frames} of ${v.all_frames} frames` : '';
	const record = typeof v.record === 'number' ? '; its record is too long to lie here' : '';
	return `${v.name} ${by}${frames}, stored in ${v.bits} bits: ${exact}${record}.`;
};

// ---- line and region ----

const points = { a: null, b: null };
let profile = null, curve = null;

const sameFrames = () => [first(), second()].filter(v => v && (v === first() || state.mode !== 'one'));

const drawProfile = () => {
	$('profile-box').hidden = !state.line;
	profile = state.line && first().profile(state.line.from, state.line.to, frameOf(first()));
	if (!profile) return;
	const curves = sameFrames().map((v, k) => {
		const p = v.profile(state.line.from, state.line.to, frameOf(v));
		return { name: v.name, colour: k + 1, x: p.distance, y: p.value };
	});
	showChart($('profile'), 'Profile along the line', `distance,${unitOf(first()) || ' voxels'}`, first().unit || 'value', curves);
};

const drawRegion = async () => {
	$('region-box').hidden = !state.region;
	curve = null;
	if (!state.region) return;
	const { centre, radius } = state.region, wanted = state.region, shown = sameFrames();
	const all = await Promise.all(shown.map(v => v.region(centre, radius)));
	if (wanted !== state.region) return; // another was drawn meanwhile
	const r = all[0], v = first(), t = frameOf(v);
	curve = { volume: v, result: r };
	$('region').textContent = `radius ${words(radius)}${unitOf(v)}, ${r.voxels} voxels: ` + (r.voxels ?
		`mean ${words(r.mean[t])} ${v.unit}, deviation ${words(r.sd[t])}, from ${words(r.min[t])} to ${words(r.max[t])}` : 'no centre of a voxel lies in it');
	$('curve-save').hidden = v.frames === 1;
	if (v.frames === 1 || !r.voxels) return $('curve').replaceChildren();
	const { name, unit } = v.axis;
	showChart($('curve'), `Mean of the ball against ${name}`, unit ? `${name}, ${unit}` : name, v.unit || 'value',
		shown.map((w, k) => ({ name: w.name, colour: k + 1, x: w.axis.value, y: all[k].mean })));
};

const drawMeasures = () => {
	const of = state.tool === 'region' && state.region ? [state.region.centre, points.b] : state.line ? [state.line.from, state.line.to] :
		state.region ? [state.region.centre, points.b] : [points.a, points.b];
	['from', 'to'].forEach((id, k) => $(id).value = of[k] ? of[k].map(round).join() : '');
	drawProfile();
	return drawRegion();
};

// What two points make, by the tool.
const measure = (a, b) => {
	points.a = a;
	points.b = b;
	const length = a && b ? Math.hypot(...b.map((place, k) => place - a[k])) : 0;
	if (!(length > 0)) return;
	if (state.tool === 'region') state.region = { centre: a, radius: length };
	else state.line = { from: a, to: b };
};

// ---- changes ----

const legal = part => {
	if ('second' in part && part.second === state.image && !('image' in part)) delete part.second;
	Object.assign(state, part);
	if (state.second === state.image) state.second = null;
	if (state.second === null) state.mode = 'one';
	const frames = Math.max(first().frames, second() ? second().frames : 1);
	state.frame = Math.min(Math.max(Math.round(state.frame), 0), frames - 1);
	state.angle = (state.angle % 360 + 360) % 360;
	state.at = state.at.map((place, a) => first().place(a, first().nearest(a, place)));
};

// Any part of the state; drawn when it resolves. Windows and maps belong to the images that are shown.
const set = async part => {
	const { window, window2, map, map2, ...rest } = part;
	if (rest.second !== undefined && rest.second !== null && !rest.mode && state.mode === 'one') rest.mode = 'overlay';
	legal(rest);
	if (map) looks[state.image].map = map;
	if (window && window[0] < window[1]) looks[state.image].window = [...window];
	if (second() && map2) looks[state.second].map = map2;
	if (second() && window2 && window2[0] < window2[1]) looks[state.second].window = [...window2];
	await Promise.all([first(), second()].filter(Boolean).map(v => v.load(frameOf(v))));
	framePanels();
	showControls();
	show();
	if ('spinning' in rest && state.spinning) requestAnimationFrame(spin);
	if (['image', 'second', 'mode', 'frame', 'line', 'region'].some(key => key in rest)) await drawMeasures();
};

// Moves that may come many times a frame: drawn once.
const move = at => {
	legal({ at });
	later();
};

let spunAt = 0;
const spin = now => {
	if (!state.spinning) return;
	const passed = Math.min(now - spunAt, 100);
	spunAt = now;
	state.angle = (state.angle + passed * .06) % 360;
	drawMip();
	$('angle').value = state.angle;
	requestAnimationFrame(spin);
};

const step = (axis, by) => {
	const at = [...state.at];
	at[axis] = first().place(axis, Math.min(Math.max(first().nearest(axis, at[axis]) + by, 0), first().n[axis] - 1));
	move(at);
};

const brighten = by => {
	const [low, high] = windowOf(first());
	set({ window: [low, low + (high - low) * by] });
};

const next = (list, now) => list[(list.indexOf(now) + 1) % list.length];

const point = key => {
	const tool = state.tool === 'cross' ? 'line' : state.tool;
	legal({ tool });
	const other = key === 'a' ? [[...state.at], points.b] : [points.a, [...state.at]];
	measure(...other);
	set({ line: state.line });
};

const remove = () => {
	points.a = points.b = null;
	set({ line: null, region: null });
};

const keys = {
	PageUp: axes => step(axes.across, 1), PageDown: axes => step(axes.across, -1),
	'.': axes => step(axes.across, 1), ',': axes => step(axes.across, -1),
	Home: axes => step(axes.across, -Infinity), End: axes => step(axes.across, Infinity),
	ArrowRight: (axes, far) => step(axes.right, far), ArrowLeft: (axes, far) => step(axes.right, -far),
	ArrowUp: (axes, far) => step(axes.up, far), ArrowDown: (axes, far) => step(axes.up, -far),
	']': () => set({ frame: state.frame + 1 }), '[': () => set({ frame: state.frame - 1 }),
	'+': () => brighten(.9), '-': () => brighten(1 / .9), 0: () => set({ window: first().window }),
	m: () => set({ map: next(Object.keys(palettes), looks[state.image].map) }),
	v: () => second() && set({ mode: next(['one', 'overlay', 'side', 'difference'], state.mode) }),
	c: () => set({ tool: 'cross' }), l: () => set({ tool: 'line' }), r: () => set({ tool: 'region' }),
	a: () => point('a'), b: () => point('b'), s: () => set({ spinning: !state.spinning }), Escape: remove,
};

// ---- pointer ----

const listen = panel => {
	const held = new Map();
	let begun = null, stepped = 0;
	const placeOf = event => {
		const box = panel.canvas.getBoundingClientRect(), inside = (v, low, high) => Math.min(Math.max(v, low), high);
		return panel.placeOf(inside(event.clientX, box.left, box.right), inside(event.clientY, box.top, box.bottom), state.at);
	};
	const windowBy = event => {
		const [low, high] = begun.window, wide = high - low;
		set({ window: [low + wide * (event.clientX - begun.x) / 300, Math.max(high - wide * (event.clientY - begun.y) / 150, low + wide / 1000)] });
	};
	const drag = event => {
		if (begun.window) windowBy(event);
		else if (state.tool === 'cross') move(placeOf(event));
		else {
			measure(begun.at, placeOf(event));
			drawMeasures();
			later();
		}
	};
	panel.canvas.addEventListener('pointerdown', event => {
		if (event.button) return;
		panel.canvas.setPointerCapture(event.pointerId);
		held.set(event.pointerId, event.clientY);
		stepped = 0;
		begun = held.size > 1 ? null : { at: placeOf(event), x: event.clientX, y: event.clientY, window: event.shiftKey ? [...windowOf(first())] : null };
		if (begun) drag(event);
	});
	panel.canvas.addEventListener('pointermove', event => {
		$('cursor').textContent = told(placeOf(event));
		if (!held.has(event.pointerId)) return;
		if (held.size === 1 && begun) drag(event);
		if (held.size === 2) {
			stepped += (held.get(event.pointerId) - event.clientY) / 16;
			held.set(event.pointerId, event.clientY);
			const whole = Math.trunc(stepped);
			if (whole) step(panel.axes.across, whole);
			stepped -= whole;
		}
	});
	for (const name of ['pointerup', 'pointercancel'])
		panel.canvas.addEventListener(name, event => {
			held.delete(event.pointerId);
			begun = null;
		});
	panel.canvas.addEventListener('pointerleave', () => $('cursor').textContent = '');
	panel.canvas.addEventListener('wheel', event => {
		event.preventDefault();
		if (event.deltaY) step(panel.axes.across, event.deltaY < 0 ? 1 : -1);
	}, { passive: false });
	panel.canvas.addEventListener('keydown', event => {
		const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
		if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		action(panel.axes, event.shiftKey ? 10 : 1);
	});
};

const listenMip = () => {
	let x = null;
	mip.canvas.addEventListener('pointerdown', event => {
		mip.canvas.setPointerCapture(event.pointerId);
		x = event.clientX;
	});
	mip.canvas.addEventListener('pointermove', event => {
		if (x === null) return;
		legal({ angle: state.angle + (event.clientX - x) / 2 });
		x = event.clientX;
		later();
	});
	for (const name of ['pointerup', 'pointercancel']) mip.canvas.addEventListener(name, () => x = null);
	mip.canvas.addEventListener('keydown', event => {
		const turns = { ArrowLeft: -5, ArrowRight: 5 }, action = event.key in turns || event.key === ' ' || event.key === 's';
		if (!action) return;
		event.preventDefault();
		set(event.key in turns ? { angle: state.angle + turns[event.key] } : { spinning: !state.spinning });
	});
};

// ---- controls ----

const parsePlace = text => {
	const numbers = text.replace(/\u2212/g, '-').split(/[\s,;]+/).filter(Boolean).map(Number);
	return numbers.length === 3 && numbers.every(Number.isFinite) ? numbers : null;
};

const listenControls = () => {
	const on = (id, name, action) => $(id).addEventListener(name, () => action($(id).value));
	on('image', 'change', v => set({ image: +v }));
	on('second', 'change', v => set({ second: v === '' ? null : +v }));
	on('mode', 'change', mode => set({ mode }));
	on('opacity', 'input', v => set({ opacity: +v }));
	on('frame', 'input', v => set({ frame: +v }));
	on('map', 'change', map => set({ map }));
	on('map2', 'change', map2 => set({ map2 }));
	on('low', 'change', v => set({ window: [+v, windowOf(first())[1]] }));
	on('high', 'change', v => set({ window: [windowOf(first())[0], +v] }));
	on('low2', 'change', v => set({ window2: [+v, windowOf(second())[1]] }));
	on('high2', 'change', v => set({ window2: [windowOf(second())[0], +v] }));
	const slid = v => first().range[0] + v / 1000 * (first().range[1] - first().range[0]);
	on('low-range', 'input', v => set({ window: [slid(v), windowOf(first())[1]] }));
	on('high-range', 'input', v => set({ window: [windowOf(first())[0], slid(v)] }));
	on('reset', 'click', () => {
		looks.forEach((look, i) => Object.assign(look, { map: volumes[i].map, window: [...volumes[i].window] }));
		set({});
	});
	$('smooth').addEventListener('change', () => set({ smooth: $('smooth').checked }));
	for (const tool of ['cross', 'line', 'region']) on(`tool-${tool}`, 'change', () => set({ tool }));
	for (const [name, { across }] of Object.entries(AXES))
		on(`slice-${name}`, 'input', v => step(across, +v - first().nearest(across, state.at[across])));
	on('angle', 'input', v => set({ angle: +v }));
	on('spin', 'click', () => set({ spinning: !state.spinning }));
	for (const id of ['from', 'to'])
		on(id, 'change', () => {
			if (state.tool === 'cross') legal({ tool: 'line' });
			measure(parsePlace($('from').value), parsePlace($('to').value));
			set({ line: state.line });
		});
	on('remove', 'click', remove);
};

// ---- files ----

const stem = () => first().name.replace(/\.nii(\.gz)?$|\.[a-z0-9]+$/i, '');
const makers = {
	nii: () => [`${stem()}.page.nii`, 'application/octet-stream', niftiOf(first())],
	npy: () => [`${stem()}.page.npy`, 'application/octet-stream', npyOf(first())],
	record: () => [`${stem()}.json`, 'application/json', first().record],
	profile: () => [`${stem()}-profile.csv`, 'text/csv', csv('distance_mm,x_mm,y_mm,z_mm,value', [profile.distance, profile.x, profile.y, profile.z, profile.value])],
	curve: () => [`${stem()}-curve.csv`, 'text/csv', csv(`${curve.volume.axis.name},mean,deviation`, [curve.volume.axis.value, curve.result.mean, curve.result.sd])],
	charts: () => ['curves.svg', 'image/svg+xml', chartsOf()],
};

const file = async kind => {
	await first().loadAll();
	const [name, type, content] = makers[kind]();
	return { name, type, bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content };
};

const listenFiles = () => {
	for (const kind of ['nii', 'npy', 'record', 'charts']) $(`save-${kind}`).addEventListener('click', async () => save(await file(kind)));
	for (const kind of ['profile', 'curve']) $(`${kind}-save`).addEventListener('click', async () => save(await file(kind)));
	$('save-png').addEventListener('click', async () => {
		const shown = [...Object.values(panels), mip].filter(p => !p.canvas.closest('figure').hidden);
		save({ name: `${stem()}.png`, type: 'image/png', bytes: await pictureOf(shown) });
	});
};

// ---- the start ----

const fill = (select, options) => select.append(...options.map(([value, text]) => new Option(text, value)));

const start = async () => {
	const named = volumes.map((v, i) => [i, v.role === 'image' ? v.name : `${v.name} (${v.role})`]);
	fill($('image'), named);
	fill($('second'), [['', 'none'], ...named]);
	for (const id of ['map', 'map2']) fill($(id), Object.keys(palettes).map(name => [name, name]));
	$('note').textContent = volumes.map(notes).join(' ');
	$('second').closest('label').hidden = $('mode').closest('label').hidden = volumes.length < 2;
	const under = volumes.findIndex(v => v.role === 'overlay');
	document.getElementById('viewer').hidden = false;
	const stills = document.getElementById('stills');
	if (stills) stills.className = 'v-stills';
	await set({ frame: data.frame, second: under < 0 ? null : under });
	for (const panel of Object.values(panels)) listen(panel);
	listenMip();
	listenControls();
	listenFiles();
	new ResizeObserver(later).observe($('planes'));
	document.getElementById('viewer').dataset.state = 'ready';
};

const lookOf = volume => ({ ...looks[volume.number], window: [...windowOf(volume)] });

window.isotome = {
	ready: start().catch(error => {
		document.getElementById('viewer').dataset.state = 'failed';
		$('note').textContent = `The images can't be shown: ${error.message}`;
		throw error;
	}),
	state: () => {
		const a = lookOf(first()), b = second() ? lookOf(second()) : { map: null, window: null };
		const voxel = state.at.map((place, axis) => first().nearest(axis, place));
		return structuredClone({ ...state, voxel, map: a.map, window: a.window, map2: b.map, window2: b.window });
	},
	set,
	valueAt: (at, volume = state.image, frame = state.frame) => volumes[volume].valueAt(at, volumes[volume].frameAt(frame)),
	placeOf: (plane, x, y) => panels[plane].placeOf(x, y, state.at),
	clientOf: (plane, at) => panels[plane].clientOf(at),
	colourOf: (value, volume = state.image) => rgbOf(wordOf(paletteFor(volumes[volume]), windowOf(volumes[volume]), value)),
	pixelAt: (plane, at) => panels[plane].pixelAt(at),
	profile: (from, to, volume = state.image) => volumes[volume].profile(from, to, frameOf(volumes[volume])),
	region: (centre, radius, volume = state.image) => volumes[volume].region(centre, radius),
	file,
};
