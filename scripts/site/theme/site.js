/* SPDX-License-Identifier: BSD-3-Clause */
/* The search, over the words of all pages (words.js: rows of address, title, text, words that it answers to), and the
   list of pages, which is closed where the window is narrow. */
"use strict";

const root = document.currentScript.dataset.root;
const query = document.getElementById("query");
const found = document.getElementById("found");
const MOST = 15;

/* Places that few look for: they come behind all others. */
const LAST = /^(CHANGELOG|c-api|python-api|validation|abi)/;

/* How often a word stands in a text, as far as that tells anything. */
function often(text, word)
{
	let n = 0;
	for (let at = text.indexOf(word); at >= 0 && n < 5; at = text.indexOf(word, at + word.length)) n++;
	return n;
}

/* How well a row has all the words asked for; 0: not all. A word that the row answers to counts most, then one that
   begins a word of its title, then one inside a word of its title, then the text. */
function score(row, asked)
{
	let sum = 0;
	for (const word of asked) {
		const title = row.title.indexOf(word), text = often(row.text, word), named = row.answers.includes(word);
		if (title < 0 && !text && !named) return 0;
		const begins = title === 0 || (title > 0 && !/\w/.test(row.title[title - 1]));
		sum += (named ? 60 : 0) + (begins ? 15 : title >= 0 ? 10 : 0) + text;
	}
	return row.last ? sum / 10 : sum;
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

const rows = WORDS.map(([address, title, text, answers]) => ({
	title: title.toLowerCase(), text: text.toLowerCase(), answers: answers.toLowerCase().split(", "), last: LAST.test(address),
}));

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
