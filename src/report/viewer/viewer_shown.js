// SPDX-License-Identifier: BSD-3-Clause
// The viewer's state, and what is shown of it: planes, controls, measures.

const data = JSON.parse(document.getElementById('viewer-data').textContent);
const volumes = data.volumes.map((head, i) => new Volume(head, i));
const palettes = Object.fromEntries(Object.entries(data.maps).map(([name, base64]) => [name, paletteOf(base64)]));
const $ = id => document.getElementById(`v-${id}`);
const panels = Object.fromEntries(['z', 'y', 'x', 'z2', 'y2', 'x2'].map(id => [id, new Panel($(id), id[0])]));
const mip = new Panel($('mip'), 'y');

const state = {
	image: 0, second: null, mode: 'one', opacity: .4, frame: 0, at: data.at, tool: 'cross', line: null, region: null,
	angle: 0, spinning: false, smooth: false, draws: 0,
};
const looks = volumes.map(v => ({ map: v.map, window: [...v.window] })); // of each image, as last chosen

const first = () => volumes[state.image];
const second = () => state.second === null ? null : volumes[state.second];
const frameOf = volume => volume.frameAt(state.frame);
const paletteFor = volume => palettes[looks[volume.number].map];
const windowOf = volume => looks[volume.number].window;
const factor = () => second() && second().role === 'truth' ? first().factor : 1;

// Greatest values are greater than those of a slice: the projection's window is the image's, so many times as wide.
const mipWindow = v => {
	const [low, high] = windowOf(v), more = (v.mip - 1) * (low < 0 ? high : high - low);
	return [low < 0 ? low - more : low, high + more];
};

// A difference has a window of its own, symmetric: half of what the windows of both images reach, unless it was set.
let differenceReach = null;
const differs = () => state.mode === 'difference';
const reachOf = v => Math.max(...windowOf(v).map(Math.abs));
const chosenWindow = () => {
	if (!differs()) return windowOf(first());
	const most = differenceReach || Math.min(factor() * reachOf(first()), reachOf(second())) / 2;
	return [-most, most];
};
const chosenPalette = () => differs() ? palettes['blue-red'] : paletteFor(first());

// ---- drawing ----

// Whether there is something to draw; if not yet, whoever waits for it (set) will draw.
const unpacked = () => [first(), second()].every(v => !v || v.codes[frameOf(v)]);

const unitOf = volume => volume.in_mm ? ' mm' : '';
const placeWords = (at, volume) => `x ${words(at[0])}, y ${words(at[1])}, z ${words(at[2])}${unitOf(volume)}`;
const valueWords = (volume, at) => volume.holds(at) ? `${words(volume.valueAt(at, frameOf(volume)))} ${volume.unit}`.trim() : 'outside';

const told = at => {
	let text = `${placeWords(at, first())}: ${valueWords(first(), at)}`;
	if (second()) text += `; ${second().name}: ${valueWords(second(), at)}`;
	if (differs()) text += `; difference: ${words(differenceAt(first(), second(), state.frame, factor(), at))}`;
	return text;
};

// ---- where planes stand ----

const CAPTION = .09; // height under a plane, of the width of both columns
const CLOSE = matchMedia('(max-width: 40rem)');
const figureOf = id => $(id).closest('figure');

// Of two columns: the share of the width that makes the first as high as the second, and how much of both is picture.
const fillOf = (ratio, columns) => {
	const high = columns.map(ids => ids.reduce((sum, id) => sum + ratio[id], 0)), more = CAPTION * (columns[1].length - columns[0].length);
	const share = Math.min(Math.max((high[1] + more) / (high[0] + high[1]), .35), .65), widths = [share, 1 - share];
	const area = widths.reduce((sum, w, k) => sum + w * w * high[k], 0);
	return { columns, share, fill: area / Math.max(...widths.map((w, k) => w * high[k] + CAPTION * columns[k].length)) };
};

// The two columns that leave least of the page empty; on a narrow page the first plane over the others.
const columnsOf = v => {
	const [x, y, z] = [0, 1, 2].map(axis => v.extent(axis)), ratio = { z: y / x, y: z / x, x: z / y, mip: z / Math.hypot(x, y) };
	const ways = [[['z'], ['y', 'x', 'mip']], [['z', 'y'], ['x', 'mip']], [['z', 'x'], ['y', 'mip']]].map(way => fillOf(ratio, way));
	return CLOSE.matches ? ways[0] : ways.reduce((best, way) => way.fill > best.fill ? way : best);
};

let arranged = '';
const arrange = v => {
	const planes = $('planes'), side = state.mode === 'side', { columns, share } = side ? {} : columnsOf(v);
	const narrow = CLOSE.matches && !side || v.flat && !side, key = [side, narrow, v.flat, share, columns].join();
	if (key === arranged) return;
	arranged = key;
	planes.classList.toggle('v-side', side);
	planes.style.gridTemplateColumns = narrow ? 'minmax(0, 1fr)' : side ? 'repeat(2, minmax(0, 1fr))' : `minmax(0, ${share}fr) minmax(0, ${1 - share}fr)`;
	const focused = document.activeElement;
	const stacks = side ? [] : columns.map(() => document.createElement('div')), hidden = ['z2', 'y2', 'x2'];
	if (side) planes.replaceChildren(...['z', 'z2', 'y', 'y2', 'x', 'x2', 'mip'].map(figureOf));
	else {
		stacks.forEach((stack, k) => stack.append(...columns[k].map(figureOf)));
		stacks[0].append(...hidden.map(figureOf));
		planes.replaceChildren(...stacks);
	}
	if (planes.contains(focused)) focused.focus({ preventScroll: true }); // what is moved loses it
};

// The rectangle that a panel shows is the first image's, in all ways to show two.
const framePanels = () => {
	const v = first(), alone = v.flat && state.mode !== 'side';
	for (const p of Object.values(panels))
		p.frame([v.lowEdge(p.axes.right), v.lowEdge(p.axes.up)], [v.extent(p.axes.right), v.extent(p.axes.up)], alone ? HIGHEST_ALONE_REM : HIGHEST_REM);
	const across = Math.hypot(v.extent(0), v.extent(1));
	mip.frame([-across / 2, v.lowEdge(2)], [across, v.extent(2)]);
	for (const id of ['y', 'x']) panels[id].canvas.closest('figure').hidden = v.flat;
	for (const id of ['z2', 'y2', 'x2']) panels[id].canvas.closest('figure').hidden = state.mode !== 'side' || (v.flat && id !== 'z2');
	$('mip-box').hidden = v.flat;
	arrange(v);
};

const drawPanel = (id, panel) => {
	const shown = id.length > 1 ? second() : first();
	if (panel.canvas.closest('figure').hidden) return;
	panel.begin(state.smooth);
	if (differs()) {
		const v = first(), { across, right, up } = panel.axes;
		const pair = { first: v, second: second(), frame: state.frame, factor: factor() };
		panel.sheets[0].difference(pair, panel.axes, v.nearest(across, state.at[across]), chosenPalette(), chosenWindow());
		panel.put(panel.sheets[0], [v.lowEdge(right), v.lowEdge(up)], [v.extent(right), v.extent(up)], 1);
	} else
		panel.layer(0, shown, frameOf(shown), state.at, paletteFor(shown), windowOf(shown), 1);
	if (state.mode === 'overlay') {
		const v = second();
		panel.layer(1, v, frameOf(v), state.at, paletteFor(v), windowOf(v), state.opacity);
	}
	const letters = LETTERS[data.labels], { right, up } = panel.axes;
	panel.mark(state.at, state.line, state.region);
	panel.letter([...letters[right], ...letters[up]]);
};

// What lies to the left and the right of a projection: known from four sides.
const sidesAt = angle => {
	const quarter = Math.round(angle / 90) % 4, ends = LETTERS[data.labels][quarter % 2];
	if (Math.abs(angle - 90 * Math.round(angle / 90)) > 1) return ['', ''];
	return quarter < 2 ? ends : [ends[1], ends[0]];
};

// It takes longer than the planes, so it is drawn where it changes.
const drawMip = () => {
	const v = first(), t = frameOf(v), key = [v.number, t, looks[v.number].map, windowOf(v), state.angle, state.smooth, mip.box.clientWidth].join();
	if (v.flat || key === mip.key || !unpacked()) return;
	mip.key = key;
	mip.begin(state.smooth);
	const table = mip.colours[0].table(v, t, paletteFor(v), mipWindow(v));
	const width = mip.sheets[0].maximum(v, t, state.angle, table);
	mip.put(mip.sheets[0], [-width / 2, v.lowEdge(2)], [width, v.extent(2)], 1);
	mip.marker.clearRect(0, 0, ...mip.pixels);
	mip.letter([...sidesAt(state.angle), ...LETTERS[data.labels][2]]);
	$('place-mip').textContent = `${Math.round(state.angle)}°${v.mip > 1 ? `, to ${words(mipWindow(v)[1])}` : ''}`;
};

const drawBar = (id, palette) => {
	const context = $(id).getContext('2d'), pixels = context.createImageData(256, 1);
	new Uint32Array(pixels.data.buffer).set(palette);
	context.putImageData(pixels, 0, 0);
};

// The cross-hair's voxel in all frames of the images that have several.
let voxelCurve = null;
const drawTime = () => {
	const shown = [first(), second()].filter(v => v && v.frames > 1), whole = shown.every(v => v.codes.filter(Boolean).length === v.frames);
	if (!shown.length) return;
	if (!whole) { // unpacked once, then drawn
		Promise.all(shown.map(v => v.loadAll())).then(later);
		return;
	}
	const [v] = shown, { name, unit, value } = v.axis;
	voxelCurve = { volume: v, ...v.curveAt(state.at) };
	showChart($('time'), `The voxel at the cross-hair against ${name}`, unit ? `${name}, ${unit}` : name, `voxel at the cross-hair${v.unit && `, ${v.unit}`}`,
		shown.map((w, k) => ({ name: w.name, colour: k + 1, ...w.curveAt(state.at) })), value[v.frameAt(state.frame)]);
};

const show = () => {
	const v = first();
	if (!unpacked()) return;
	state.draws++;
	for (const [id, panel] of Object.entries(panels)) drawPanel(id, panel);
	drawMip();
	drawBar('bar', chosenPalette());
	if (second()) drawBar('bar2', paletteFor(second()));
	drawTime();
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

const shareOf = ({ slide: [low, high] }, v) => Math.round(1000 * (v - low) / (high - low || 1));
const sentence = text => text.endsWith('.') ? text : `${text}.`; // some units end with a full stop

const showWindow = () => {
	const v = first(), [low, high] = chosenWindow();
	$('low').value = round(low);
	$('high').value = round(high);
	$('low-range').value = shareOf(v, low);
	$('high-range').value = shareOf(v, high);
	$('reach').textContent = sentence(`Values reach from ${words(v.range[0])} to ${`${words(v.range[1])} ${v.unit}`.trim()}`);
	$('map').disabled = differs();
	$('map').value = looks[v.number].map;
	if (!second()) return;
	$('map2').value = looks[state.second].map;
	[$('low2').value, $('high2').value] = windowOf(second()).map(round);
};

const showControls = () => {
	const v = first(), frames = Math.max(v.frames, second() ? second().frames : 1), longest = v.frames === frames ? v : second();
	$('image').value = state.image;
	$('second').value = state.second === null ? '' : state.second;
	for (const option of $('second').options) option.disabled = option.value === String(state.image); // keys pass over it
	$('mode').value = state.mode;
	$('mode').disabled = !second();
	$('opacity').value = state.opacity;
	$('opacity-box').hidden = state.mode !== 'overlay';
	$('window2').hidden = !second() || !['overlay', 'side'].includes(state.mode);
	$('time-box').hidden = frames === 1;
	$('frame-name').textContent = longest.axis.name[0].toUpperCase() + longest.axis.name.slice(1);
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
	const below = v.hides_negative ? ` Values below 0 are shown as 0: ${v.unit} is never negative, so the reconstruction is in error there. The map blue-red shows them.` : '';
	return sentence(`${v.name} ${by}${frames}, stored in ${v.bits} bits: ${exact}${record}`) + below;
};

// ---- line and region ----

const points = { a: null, b: null };
let profile = null, curve = null;

const sameFrames = () => [first(), second()].filter(v => v && (v === first() || state.mode !== 'one'));

const drawProfile = () => {
	$('profile-box').hidden = !state.line;
	profile = state.line && unpacked() && first().profile(state.line.from, state.line.to, frameOf(first()));
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
		`mean ${`${words(r.mean[t])} ${v.unit}`.trim()}, deviation ${words(r.sd[t])}, from ${words(r.min[t])} to ${words(r.max[t])}` : 'no centre of a voxel lies in it');
	$('curve-save').hidden = v.frames === 1;
	if (v.frames === 1 || !r.voxels) return $('curve').replaceChildren();
	const { name, unit } = v.axis;
	showChart($('curve'), `Mean of the ball against ${name}`, unit ? `${name}, ${unit}` : name, v.unit || 'value',
		shown.map((w, k) => ({ name: w.name, colour: k + 1, x: w.axis.value, y: all[k].mean })));
};

// The line's ends, or the centre of the ball and the point of its surface on the right.
const ends = () => {
	const { line, region } = state;
	if (region && (state.tool === 'region' || !line)) return [region.centre, region.centre.map((c, a) => a ? c : c + region.radius)];
	return line ? [line.from, line.to] : [points.a, points.b];
};

const drawMeasures = () => {
	const of = ends();
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
