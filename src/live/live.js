// SPDX-License-Identifier: BSD-3-Clause
// Asks the run for its state, draws it, and sends the buttons. Text from the run is only ever set as text.
"use strict";

const EVERY_MS = 350; // between two looks; of a page that is not seen:
const HIDDEN_MS = 2000;
const SURE_MS = 4000; // for the second press of the button that stops
const NAMES = ["sagittal", "coronal", "transverse"];
const at = (id) => document.getElementById(id);
let colours = null;
let version = 0;
let size = [1, 1, 1];
let failures = 0;
let ended = false;

function put(id, text) {
	const node = at(id);
	if (node.textContent !== text) node.textContent = text;
}

function number(v, digits = 4) {
	if (v === null || v === undefined) return "-";
	const size = Math.abs(v);
	return size !== 0 && (size >= 1e6 || size < 1e-3) ? v.toExponential(digits - 1) : String(Number(v.toPrecision(digits)));
}

function time(s) {
	if (s === null) return "-";
	const t = Math.round(s);
	if (t < 60) return t + " s";
	if (t < 3600) return Math.floor(t / 60) + " min " + (t % 60) + " s";
	return Math.floor(t / 3600) + " h " + Math.floor((t % 3600) / 60) + " min";
}

function capital(text) {
	return text[0].toUpperCase() + text.slice(1);
}

// ---- image ----

// The head that docs/live.md describes, then 16 bits a pixel.
function parse(buffer) {
	const v = new DataView(buffer);
	const n = v.getUint32(16, true);
	const three = (from) => [0, 1, 2].map((a) => v.getUint32(from + 4 * a, true));
	const image = {
		version: Number(v.getBigUint64(8, true)),
		at: three(20),
		size: three(32),
		place: [0, 1, 2].map((a) => v.getFloat64(44 + 8 * a, true)),
		value: v.getFloat64(68, true),
		min: v.getFloat64(76, true),
		max: v.getFloat64(84, true),
		last: v.getFloat64(92, true),
		planes: [],
	};
	let pixels = 100 + 32 * n;
	for (let k = 0; k < n; k++) {
		const from = 100 + 32 * k;
		const [axis, w, h, step, x, y] = [0, 1, 2, 3, 4, 5].map((i) => v.getUint32(from + 4 * i, true));
		image.planes.push({
			axis, w, h, step, cross: [x, y],
			mm: [v.getFloat32(from + 24, true), v.getFloat32(from + 28, true)],
			pixels: new Uint16Array(buffer, pixels, w * h),
		});
		pixels += 2 * w * h;
	}
	return image;
}

// The last colour, which the run chose, as a share of the way to the greatest value.
function window_of(image) {
	return image.max > image.min && image.last > image.min ? (image.last - image.min) / (image.max - image.min) : 1;
}

function paint(canvas, plane, share) {
	canvas.width = plane.w;
	canvas.height = plane.h;
	canvas.style.aspectRatio = `${plane.w * plane.mm[0]} / ${plane.h * plane.mm[1]}`;
	const to = canvas.getContext("2d");
	const image = to.createImageData(plane.w, plane.h);
	for (let j = 0; j < plane.h; j++)
		for (let i = 0; i < plane.w; i++) {
			const q = plane.pixels[(plane.h - 1 - j) * plane.w + i];
			const p = 4 * (j * plane.w + i);
			const c = 3 * Math.min(255, Math.floor((q * 256) / (65535 * share)));
			const bad = q === 65535;
			image.data[p] = bad ? 0 : colours[c];
			image.data[p + 1] = bad ? 255 : colours[c + 1];
			image.data[p + 2] = bad ? 0 : colours[c + 2];
			image.data[p + 3] = 255;
		}
	to.putImageData(image, 0, 0);
}

function choose(event, canvas, plane, point) {
	const box = canvas.getBoundingClientRect();
	const h = plane.axis === 0 ? 1 : 0;
	const v = plane.axis === 2 ? 1 : 2;
	const i = Math.floor(((event.clientX - box.left) / box.width) * plane.w);
	const j = plane.h - 1 - Math.floor(((event.clientY - box.top) / box.height) * plane.h);
	const to = point.slice();
	to[h] = Math.min(size[h] - 1, Math.max(0, i * plane.step));
	to[v] = Math.min(size[v] - 1, Math.max(0, j * plane.step));
	send(`point?x=${to[0]}&y=${to[1]}&z=${to[2]}`, "These planes come with the next image.");
}

function show(image, unit) {
	const room = at("planes");
	while (room.children.length > image.planes.length) room.lastChild.remove();
	while (room.children.length < image.planes.length) {
		const figure = document.createElement("figure");
		figure.append(document.createElement("canvas"), document.createElement("figcaption"));
		room.append(figure);
	}
	const share = window_of(image);
	image.planes.forEach((plane, k) => {
		const [canvas, caption] = room.children[k].children;
		paint(canvas, plane, share);
		canvas.onclick = (event) => choose(event, canvas, plane, image.at);
		const name = image.size[2] > 1 ? NAMES[plane.axis] + ", " + "xyz"[plane.axis] + " " + number(image.place[plane.axis]) + " mm" : "";
		caption.textContent = name + (plane.step > 1 ? `, every ${plane.step}th voxel` : "");
	});
	put("low", number(image.min));
	const high = image.min + share * (image.max - image.min);
	put("high", number(high) + (unit ? " " + unit : "") + (share < 1 ? `, the greatest ${number(image.max)}` : ""));
	put("point", `Voxel (${image.at.join(", ")}) at (${image.place.map((p) => number(p)).join(", ")}) mm: ${number(image.value)} ${unit}`);
	size = image.size;
	version = image.version;
}

async function draw_colours() {
	colours = new Uint8Array(await (await fetch("colours")).arrayBuffer());
	const to = at("colours").getContext("2d");
	for (let i = 0; i < 256; i++) {
		to.fillStyle = `rgb(${colours[3 * i]},${colours[3 * i + 1]},${colours[3 * i + 2]})`;
		to.fillRect(i, 0, 1, 1);
	}
}

// ---- state ----

// The first fifth, in which most is gained, may leave the chart.
function show_curve(c) {
	const late = c.value.slice(Math.floor(c.value.length / 5));
	const [low, high] = [Math.min(...late), Math.max(...late)];
	const [from, to] = [c.iteration[0], c.iteration[c.iteration.length - 1]];
	const x = (v) => 90 + (to > from ? ((v - from) / (to - from)) * 506 : 0);
	const y = (v) => 214 - (high > low ? ((v - low) / (high - low)) * 200 : 100);
	const [line, top, bottom, left, right] = at("curve").children;
	line.setAttribute("d", c.value.map((v, i) => (i ? "L" : "M") + x(c.iteration[i]).toFixed(1) + " " + y(v).toFixed(1)).join(""));
	top.textContent = number(high, 6);
	bottom.textContent = number(low, 6);
	left.textContent = number(from);
	right.textContent = "iteration " + number(to);
	put("objective", number(c.value[c.value.length - 1], 6));
}

function show_warnings(w) {
	at("warnings").hidden = w.count === 0;
	put("warnings-title", w.count > w.last.length ? `${w.count} warnings, the last of them` : "Warnings");
	const list = at("warnings-list");
	list.replaceChildren(...w.last.map((text) => {
		const item = document.createElement("li");
		item.textContent = text;
		return item;
	}));
}

function show_state(s) {
	const g = s.stage;
	const i = s.iterations;
	put("title", s.title);
	document.title = s.title + ", live";
	put("status", s.ended ? s.outcome || "The run has ended." : s.stopping ? "Stopping." : "Running for " + time(s.since_s) + ". " + g.note);
	put("stage", [g.part, g.name].filter(Boolean).join(": ") || "-");
	if (g.total > 0) at("bar").value = g.done / g.total;
	else at("bar").removeAttribute("value");
	put("iteration", i.total ? `${number(i.done)} of ${number(i.total)}` : i.updates ? `${i.updates} updates` : "-");
	put("left", time(g.left_s));
	put("rate", number(i.iterations_a_second, 3));
	put("rows-name", capital(i.rows || "rows") + " a second");
	put("rows", number(i.rows_a_second, 3));
	if (s.objective.figure) for (const id of ["curve-title", "figure"]) put(id, capital(s.objective.figure));
	if (s.objective.value.length) show_curve(s.objective);
	show_warnings(s.warnings);
	at("stop").disabled = s.stopping || s.ended;
	at("save").disabled = !s.save.can || s.save.asked || s.ended;
	if (s.save.failed) put("said", "It could not be saved.");
	else if (s.save.asked) put("said", "To be saved after this step.");
	else if (s.save.count && s.save.ago_s < 60) put("said", `Saved ${time(s.save.ago_s)} ago.`);
}

async function look() {
	if (!colours) await draw_colours();
	const s = await (await fetch("state")).json();
	show_state(s);
	if (s.image > version) {
		const answer = await fetch("image?after=" + version);
		if (answer.status === 200) show(parse(await answer.arrayBuffer()), s.unit);
	}
	ended = s.ended;
	failures = 0;
}

async function loop() {
	try {
		await look();
	} catch (e) {
		if (++failures > 3) {
			put("status", "The run has ended, or can't be reached. What is shown is the last that came from it.");
			at("stop").disabled = at("save").disabled = true;
		}
	}
	if (!ended) setTimeout(loop, document.hidden || failures > 3 ? HIDDEN_MS : EVERY_MS);
}

// ---- buttons ----

async function send(what, said) {
	try {
		const answer = await fetch(what, { method: "POST" });
		put("said", answer.ok ? said : await answer.text());
	} catch (e) {
		put("said", "The run can't be reached.");
	}
}

let sure = 0;
at("stop").onclick = () => {
	const button = at("stop");
	if (Date.now() < sure) {
		send("stop", "Stopping: what there is will be kept.");
		return;
	}
	sure = Date.now() + SURE_MS;
	button.classList.add("sure");
	button.textContent = "Really stop it?";
	setTimeout(() => {
		button.classList.remove("sure");
		button.textContent = "Stop the run";
	}, SURE_MS);
};
at("save").onclick = () => send("save", "To be saved after this step.");
at("greatest").onclick = () => send("point", "These planes come with the next image.");
loop();
