/* SPDX-License-Identifier: BSD-3-Clause */
/* The search, over the words of all pages (words.js: rows of address, title, text), and the list of pages, which is closed
   where the window is narrow. */
"use strict";

const root = document.currentScript.dataset.root;
const query = document.getElementById("query");
const found = document.getElementById("found");
const MOST = 15;

/* How well a row has all the words asked for; 0: not all. Titles count ten times. */
function score(row, asked)
{
	let sum = 0;
	for (const word of asked) {
		const title = row.title.indexOf(word), text = row.text.indexOf(word);
		if (title < 0 && text < 0) return 0;
		const begins = title === 0 || (title > 0 && !/\w/.test(row.title[title - 1]));
		sum += (begins ? 15 : title >= 0 ? 10 : 0) + (text >= 0 ? 1 : 0);
	}
	return sum;
}

function excerpt(text, word)
{
	const at = text.toLowerCase().indexOf(word), from = Math.max(0, at - 50);
	return (from > 0 ? "... " : "") + text.slice(from, from + 160);
}

function show(hits, asked)
{
	found.replaceChildren(...hits.map(([address, title, text]) => {
		const item = document.createElement("li"), link = document.createElement("a"), words = document.createElement("p");
		link.href = root + "/" + address;
		link.textContent = title;
		words.textContent = excerpt(text, asked[0]);
		item.append(link, words);
		return item;
	}));
	if (!hits.length) found.textContent = "No page has all these words.";
	found.hidden = !asked.length;
}

const rows = WORDS.map(([, title, text]) => ({ title: title.toLowerCase(), text: text.toLowerCase() }));

function search()
{
	const asked = query.value.toLowerCase().split(/\s+/).filter(word => word.length > 1);
	const scores = asked.length ? rows.map((row, i) => [score(row, asked), i]).filter(([s]) => s > 0) : [];
	scores.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
	show(scores.slice(0, MOST).map(([, i]) => WORDS[i]), asked);
}

query.addEventListener("input", search);
document.addEventListener("keydown", event => {
	if (event.key === "Escape") found.hidden = true;
	if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
		event.preventDefault();
		query.focus();
	}
});
document.addEventListener("click", event => {
	if (!event.target.closest("search")) found.hidden = true;
});
document.querySelector("search").hidden = false;
query.value = new URLSearchParams(location.search).get("q") || "";	/* a search may be an address: index.html?q=attenuation */
if (query.value) search();
document.getElementById("pages").open = matchMedia("(min-width: 60em)").matches;
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" });
scrollTo(0, location.hash ? scrollY : 0);
