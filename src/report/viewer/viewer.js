// SPDX-License-Identifier: BSD-3-Clause
// The viewer's start, what its buttons save, and its door for other scripts: window.isotome.

const stem = () => first().name.replace(/\.nii(\.gz)?$|\.[a-z0-9]+$/i, '');
const makers = {
	nii: () => [`${stem()}.page.nii`, 'application/octet-stream', niftiOf(first())],
	npy: () => [`${stem()}.page.npy`, 'application/octet-stream', npyOf(first())],
	record: () => [`${stem()}.json`, 'application/json', first().record],
	profile: () => [`${stem()}-profile.csv`, 'text/csv', csv('distance_mm,x_mm,y_mm,z_mm,value', [profile.distance, profile.x, profile.y, profile.z, profile.value])],
	curve: () => [`${stem()}-curve.csv`, 'text/csv', csv(`${curve.volume.axis.name},mean,deviation`, [curve.volume.axis.value, curve.result.mean, curve.result.sd])],
	time: () => [`${stem()}-voxel.csv`, 'text/csv', csv(`${voxelCurve.volume.axis.name},value`, [voxelCurve.x, voxelCurve.y])],
	charts: () => ['curves.svg', 'image/svg+xml', chartsOf()],
};

const file = async kind => {
	await first().loadAll();
	const [name, type, content] = makers[kind]();
	return { name, type, bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content };
};

const listenFiles = () => {
	for (const kind of ['nii', 'npy', 'record', 'charts']) $(`save-${kind}`).addEventListener('click', async () => save(await file(kind)));
	for (const kind of ['profile', 'curve', 'time']) $(`${kind}-save`).addEventListener('click', async () => save(await file(kind)));
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
	$('image').closest('fieldset').hidden = volumes.length < 2;
	for (const axis of 'xyz') $(`name-${axis}`).textContent = data.labels === 'anatomy' ? PLANES[axis] : `Across ${axis}`;
	const under = volumes.findIndex(v => v.role === 'overlay');
	document.getElementById('viewer').hidden = false;
	const stills = document.getElementById('stills');
	if (stills) stills.className = 'v-stills';
	await set({ frame: data.frame, opacity: data.opacity, second: under < 0 ? null : under });
	for (const panel of Object.values(panels)) listen(panel);
	listenMip();
	listenControls();
	listenFiles();
	new ResizeObserver(later).observe($('planes'));
	CLOSE.addEventListener('change', () => set({}));
	document.getElementById('viewer').dataset.state = 'ready';
};

window.isotome = {
	ready: start().catch(error => {
		document.getElementById('viewer').dataset.state = 'failed';
		$('note').textContent = `The images can't be shown here: ${error.message}`;
		document.querySelectorAll('.v-layout, .v-charts, .v-files, .v-help').forEach(part => part.hidden = true);
		if (document.getElementById('stills')) document.getElementById('stills').className = '';
		throw error;
	}),
	state: () => {
		const map = differs() ? 'blue-red' : looks[state.image].map, b = second() ? looks[state.second] : { map: null, window: null };
		const voxel = state.at.map((place, axis) => first().nearest(axis, place));
		return structuredClone({ ...state, voxel, map, window: chosenWindow(), map2: b.map, window2: b.window });
	},
	set,
	valueAt: (at, volume = state.image, frame = state.frame) => volumes[volume].valueAt(at, volumes[volume].frameAt(frame)),
	placeOf: (plane, x, y) => panels[plane].placeOf(x, y, state.at),
	clientOf: (plane, at) => panels[plane].clientOf(at),
	colourOf: (value, volume = state.image) => rgbOf(volume === state.image ? wordOf(chosenPalette(), chosenWindow(), value) :
		wordOf(paletteFor(volumes[volume]), windowOf(volumes[volume]), value)),
	pixelAt: (plane, at) => panels[plane].pixelAt(at),
	profile: (from, to, volume = state.image) => volumes[volume].profile(from, to, frameOf(volumes[volume])),
	region: (centre, radius, volume = state.image) => volumes[volume].region(centre, radius),
	file,
};
