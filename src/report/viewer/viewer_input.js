// SPDX-License-Identifier: BSD-3-Clause
// What changes the viewer's state: calls, keys, pointer, controls.

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

// Of values whose sign is hidden: colours with a sign want a window about 0, those without one a window from 0.
const chooseMap = (look, volume, map) => {
	const wasSigned = look.map === 'blue-red', isSigned = map === 'blue-red';
	look.map = map;
	if (!volume.hides_negative || wasSigned === isSigned) return;
	if (isSigned && look.window[0] === 0) look.window[0] = -look.window[1];
	else if (wasSigned && look.window[0] === -look.window[1]) look.window[0] = 0;
};

// Any part of the state; drawn when it resolves. Windows and maps belong to the images that are shown.
const set = async part => {
	const { window, window2, map, map2, ...rest } = part;
	if (rest.second !== undefined && rest.second !== null && !rest.mode && state.mode === 'one') rest.mode = 'overlay';
	const spun = state.spinning;
	legal(rest);
	if (map) chooseMap(looks[state.image], first(), map);
	if (window && window[0] < window[1] && differs()) differenceReach = Math.max(...window.map(Math.abs));
	else if (window && window[0] < window[1]) looks[state.image].window = [...window];
	if (second() && map2) chooseMap(looks[state.second], second(), map2);
	if (second() && window2 && window2[0] < window2[1]) looks[state.second].window = [...window2];
	await Promise.all([first(), second()].filter(Boolean).map(v => v.load(frameOf(v))));
	if (!unpacked()) return; // the state has changed again, and that call will draw
	framePanels();
	showControls();
	show();
	if (state.spinning && !spun) requestAnimationFrame(spin);
	if (['image', 'second', 'mode', 'frame', 'line', 'region'].some(key => key in rest)) await drawMeasures();
};

// Moves that may come many times a frame: drawn once.
const move = at => {
	legal({ at });
	later();
};

let spunAt = 0; // ms, as of the browser's frames
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
	const [low, high] = chosenWindow();
	set({ window: differs() ? [low * by, high * by] : [low, low + (high - low) * by] });
};

const resetWindow = () => {
	differenceReach = null;
	looks[state.image].window = [...first().window];
	set({});
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
	'+': () => brighten(.9), '-': () => brighten(1 / .9), 0: () => resetWindow(),
	m: () => set({ map: next(Object.keys(palettes), looks[state.image].map) }),
	v: () => second() && set({ mode: next(['one', 'overlay', 'side', 'difference'], state.mode) }),
	c: () => set({ tool: 'cross' }), l: () => set({ tool: 'line' }), r: () => set({ tool: 'region' }),
	a: () => point('a'), b: () => point('b'), s: () => set({ spinning: !state.spinning }), Escape: remove,
};

// ---- pointer ----

const listen = panel => {
	const held = new Map();
	let begun = null, before = null, stepped = 0;
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
		if (held.size > 1) move(before); // the first of two fingers was not meant to move the cross-hair
		else before = [...state.at];
		begun = held.size > 1 ? null : { at: placeOf(event), x: event.clientX, y: event.clientY, window: event.shiftKey ? [...chosenWindow()] : null };
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
	let turned = 0; // by a wheel so many pixels at once, by a finger on a pad a few at a time
	panel.canvas.addEventListener('wheel', event => {
		event.preventDefault();
		turned += event.deltaMode ? 100 * event.deltaY : event.deltaY;
		if (Math.abs(turned) < 40) return;
		step(panel.axes.across, turned < 0 ? 1 : -1);
		turned = 0;
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
	on('low', 'change', v => set({ window: [+v, differs() ? -v : windowOf(first())[1]] }));
	on('high', 'change', v => set({ window: [differs() ? -v : windowOf(first())[0], +v] }));
	on('low2', 'change', v => set({ window2: [+v, windowOf(second())[1]] }));
	on('high2', 'change', v => set({ window2: [windowOf(second())[0], +v] }));
	const slid = v => first().slide[0] + v / 1000 * (first().slide[1] - first().slide[0]);
	on('low-range', 'input', v => set({ window: [slid(v), differs() ? -slid(v) : windowOf(first())[1]] }));
	on('high-range', 'input', v => set({ window: [differs() ? -slid(v) : windowOf(first())[0], slid(v)] }));
	on('reset', 'click', () => {
		looks.forEach((look, i) => Object.assign(look, { map: volumes[i].map, window: [...volumes[i].window] }));
		resetWindow();
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
