// The view of a text: words coloured as one types, what may follow, two models side by side.

import { post, problem, stream } from "./api.js";
import { pngBlob, svgBlob, textCurve } from "./chart.js";
import { byId, download, h, paused, roving } from "./dom.js";
import { before, bitsText, differences, legend, percent, ranking, summary, tsv, wordLines } from "./words.js";

const EXAMPLE = "The horse raced past the barn fell.\nThe president of the United ";
const MEANINGS = {
  surprisal_bits: "Surprisal: how unexpected a word is after the words before it. Choose a word to see what was expected there.",
  entropy_bits: "Entropy: how uncertain the model is before it sees the word. Choose a word to see what was expected there.",
};

const MOST_DIFFERENT = 6;
const MOVES = /^(Arrow|Home|End|Page)/; // keys that move the caret
const SENTENCE_END = /[.!?…]["'”’)]*\s*$/u;
const text = byId("text");
let models = [];
let results = [];
let different = [];
let chosen = null;
let asking = null;
let suggesting = null;
let writing = null;

const names = () => [byId("model").value, byId("other").value].filter(Boolean);
const value = () => document.querySelector("input[name=shade]:checked").value;

export function startText(served) {
  models = served;
  byId("model").append(...models.map((model) => h("option", { value: model.name }, model.name)));
  byId("other").append(h("option", { value: "" }, "none"), ...models.map((model) => h("option", { value: model.name }, model.name)));
  byId("other-field").hidden = models.length < 2;
  if (models.length > 1) byId("other").value = models[1].name;
  byId("legend").append(...legend());
  // who writes before the models are known keeps the text
  if (!text.value && document.activeElement !== text) text.value = sessionStorage.getItem("wordtie-text") ?? EXAMPLE;

  text.addEventListener("input", paused(120, refresh));
  text.addEventListener("click", suggest);
  text.addEventListener("keyup", (event) => MOVES.test(event.key) && suggest());
  for (const id of ["model", "other"]) byId(id).addEventListener("change", refresh);
  for (const radio of document.querySelectorAll("input[name=shade]")) radio.addEventListener("change", draw);
  byId("clear").addEventListener("click", () => {
    writing?.abort();
    text.value = "";
    text.focus();
    refresh();
  });
  byId("write").addEventListener("click", write);
  byId("close").addEventListener("click", unchoose);
  byId("results").addEventListener("keydown", (event) => event.key === "Escape" && unchoose());
  byId("tsv").addEventListener("click", () => download("surprisal.tsv", new Blob([tsv(results)], { type: "text/tab-separated-values" })));
  byId("svg").addEventListener("click", () => download("surprisal.svg", svgBlob(curve())));
  byId("png").addEventListener("click", async () => download("surprisal.png", await pngBlob(curve())));
  new ResizeObserver(paused(100, drawCurve)).observe(byId("curve"));
  refresh();
}

/** Ask for everything that the page shows of the text. */
export async function refresh() {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  sessionStorage.setItem("wordtie-text", text.value);
  suggest();
  const used = [...new Set(names())];
  const abouts = models.filter((model) => used.includes(model.name));
  byId("about").textContent = abouts.map(({ name, about }) => (used.length > 1 ? `${name}: ${about}` : about)).join(" · ");
  try {
    const each = await Promise.all(used.map((model) => post("surprisal", { text: text.value, model }, signal)));
    problem(null);
    results = each.map((answer) => ({ name: answer.model, words: text.value.trim() ? typed(answer.words) : [] }));
    different = results.length > 1 ? differences(results, MOST_DIFFERENT) : [];
    chosen = null;
    draw();
  } catch (error) {
    problem(error);
  }
}

/** The words without blank lines, and without the end of a last line that is still being typed. */
function typed(words) {
  const lines = new Set(words.filter((word) => word.word !== "<eos>").map((word) => word.line));
  words = words.filter((word) => lines.has(word.line)); // blank lines say nothing
  const open = words.at(-1)?.word === "<eos>" && !SENTENCE_END.test(text.value) && !text.value.endsWith("\n");
  return open ? words.slice(0, -1) : words;
}

/** The row of next words, or of what the word before the caret may become. */
async function suggest() {
  suggesting?.abort(); // else an answer for where the caret was could come last
  suggesting = new AbortController();
  const { signal } = suggesting;
  const [end, whole] = [text.selectionEnd, text.value];
  const written = whole.slice(0, end);
  const line = written.slice(written.lastIndexOf("\n") + 1);
  const model = models.find((each) => each.name === byId("model").value);
  const ended = model?.sentences && SENTENCE_END.test(line); // the next word begins a sentence, on its own line
  try {
    const asked = { text: ended ? "" : line, model: byId("model").value, complete: true, words_only: true, top: 6 };
    const answer = await post("predict", asked, signal);
    problem(null, "suggestions");
    const insert = (word) => {
      if (text.value !== whole) return; // typed on since: other suggestions are on their way
      const rest = whole.slice(end);
      const begin = beginOf(answer.prefix, written);
      if (begin === null) return; // nothing is replaced that is not the prefix
      const start = written.slice(0, begin);
      const gap = ended ? "\n" : start === "" || /\s$/.test(start) || answer.prefix || /^[^\p{L}\p{N}]+$/u.test(word) ? "" : " ";
      text.value = `${start}${gap}${word} ${rest.replace(/^ /, "")}`;
      text.selectionStart = text.selectionEnd = start.length + gap.length + word.length + 1;
      text.focus();
      refresh();
    };
    byId("suggestions").replaceChildren(...answer.words.map(({ word }) => h("button", { type: "button", onclick: () => insert(word) }, word)));
  } catch (error) {
    problem(error, "suggestions");
  }
}

/** Where what completes to a prefix begins; null if it is not there. The server's prefix is composed and has no invisible characters. */
function beginOf(prefix, written) {
  const bare = (letters) => letters.normalize("NFC").replace(/\p{Cf}/gu, "").replace(/[\u2010\u2011]/g, "-").toLowerCase();
  for (let at = written.length - prefix.length; at >= 0 && !/\s/.test(written[at] ?? ""); at -= 1) {
    if (bare(written.slice(at)) === bare(prefix)) return at;
  }
  return prefix ? null : written.length;
}

/** Let the model write on, as it writes. */
async function write() {
  if (writing) {
    writing.abort();
    return;
  }
  writing = new AbortController();
  const { signal } = writing;
  let failed = null;
  byId("write").textContent = "Stop";
  const line = text.value.slice(text.value.lastIndexOf("\n") + 1);
  const kept = text.value.slice(0, text.value.length - line.length);
  try {
    const asked = { prompt: line, model: byId("model").value, words: 25, temperature: 0.8 };
    let begun = false;
    text.readOnly = true; // until the first piece has taken its place
    await stream("generate", asked, (piece) => {
      if (signal.aborted) return; // a piece that had come before
      // the first piece is the line itself, as the model reads it: what was typed stays as it is
      if (!begun) text.value = kept + line.trimEnd() + tail(piece, line);
      else text.value += piece;
      begun = true;
      text.readOnly = false;
      text.scrollTop = text.scrollHeight;
    }, signal);
  } catch (error) {
    failed = error;
  }
  text.readOnly = false;
  writing = null;
  byId("write").textContent = "Continue the text";
  await refresh(); // which takes the last problem away
  if (failed) problem(failed);
}

/** What a piece adds to the line that it repeats. */
function tail(piece, line) {
  let at = 0;
  for (const letter of line.replace(/\s/gu, "").toLowerCase()) {
    const found = piece.toLowerCase().indexOf(letter, at);
    if (found >= 0) at = found + letter.length;
  }
  return piece.slice(at);
}

function draw() {
  byId("meaning").textContent = MEANINGS[value()];
  const differing = new Set(different.slice(0, 5).map(({ key }) => key));
  const panels = byId("panels");
  panels.className = results.length > 1 ? "two" : "";
  panels.replaceChildren(...results.map((result) => {
    const lines = h("div", { class: "lines", role: "group", "aria-label": `Words with bits under ${result.name}; arrow keys move` },
      wordLines(result.words, value(), differing, (at) => choose(result, at)));
    roving(lines, ".word");
    return h("div", { class: "panel card" }, h("h3", {}, h("span", {}, result.name), h("span", { class: "muted" }, summary(result.words))),
      result.words.length ? lines : h("p", { class: "muted" }, "Nothing has been typed."));
  }));
  if (chosen) press();
  else byId("likeliest").hidden = true;
  drawDifferences();
  drawCurve();
}

function drawDifferences() {
  byId("differences").hidden = !different.length;
  if (!different.length) return;
  const [first, second] = results.map(({ name }) => name);
  const head = h("tr", {}, ["word", first, second, "easier for"].map((name) => h("th", { scope: "col" }, name)));
  const body = different.map(({ line, region, word, bits: [a, b] }) => {
    const find = () => choose(results[0], results[0].words.findIndex((each) => each.line === line && each.region === region));
    return h("tr", {}, h("td", {}, h("button", { type: "button", onclick: find }, word)), h("td", {}, bitsText(a)), h("td", {}, bitsText(b)),
      h("td", {}, `${a < b ? first : second}, by ${Math.abs(a - b).toFixed(1)} bits`));
  });
  byId("differences-table").replaceChildren(h("thead", {}, head), h("tbody", {}, body));
}

function curve() {
  const shown = results[0].words.map((word) => (word.word === "<eos>" ? "⏎" : word.shown || word.word));
  const same = results.filter((result) => result.words.length === shown.length);
  return textCurve(same, Math.max(300, byId("curve").clientWidth - 20), shown);
}

export function drawCurve() {
  const empty = !results.length || !results[0].words.length;
  byId("curve").replaceChildren(empty ? h("p", { class: "muted" }, "Nothing has been typed.") : curve());
  for (const id of ["tsv", "svg", "png"]) byId(id).disabled = empty;
}

/** The ten likeliest words at the place of a word, under each model. */
async function choose(result, at) {
  const word = result.words[at];
  if (!word) return;
  chosen = { result, at };
  press();
  const context = before(result.words, at);
  byId("likeliest-title").textContent = context ? `After “${context.length > 48 ? "…" : ""}${context.slice(-48)}”` : "At the start of a line";
  try {
    const answers = await Promise.all(results.map(({ name }) => post("predict", { text: context, model: name, top: 10 })));
    if (chosen?.result !== result || chosen.at !== at) return; // another choice, or another text
    const lists = answers.map((answer) => h("div", {}, results.length > 1 && h("h4", {}, answer.model),
      ranking(answer.words.map(({ word: each, probability }) => ({ word: each, value: probability, shown: percent(probability) })),
        Math.max(...answer.words.map((each) => each.probability)), word.word), own(answer.model, word)));
    byId("likeliest-lists").replaceChildren(...lists);
    byId("likeliest").hidden = false;
    byId("likeliest").scrollIntoView({ block: "nearest" });
  } catch (error) {
    problem(error);
  }
}

/** Where another model has the chosen word, -1 if it has not: of equal ones in a region, the one with the same number. */
function place(words) {
  const { result, at } = chosen;
  if (words === result.words) return at;
  const word = result.words[at];
  const same = (each) => each.line === word.line && each.region === word.region && each.word === word.word;
  const number = result.words.slice(0, at).filter(same).length;
  return words.flatMap((each, there) => (same(each) ? [there] : []))[number] ?? -1;
}

/** What the model gave to the word that is there. */
function own(name, word) {
  const words = results.find((result) => result.name === name).words;
  const same = words[place(words)];
  if (!same) return h("p", { class: "muted small" }, "This model splits the text differently here.");
  const what = word.word === "<eos>" ? "the end of the sentence" : `“${word.shown || word.word}”`;
  return h("p", { class: "small" }, `Here is ${what}: ${percent(2 ** -same.surprisal_bits)}, ${same.surprisal_bits.toFixed(1)} bits. `,
    h("span", { class: "muted" }, `Entropy ${same.entropy_bits.toFixed(1)} bits.`));
}

function press() {
  [...byId("panels").querySelectorAll(".panel")].forEach((panel, number) => {
    const at = place(results[number].words);
    panel.querySelectorAll(".word").forEach((button, there) => {
      button.setAttribute("aria-pressed", String(there === at));
      if (at >= 0) button.setAttribute("tabindex", there === at ? "0" : "-1");
    });
  });
}

function unchoose() {
  if (!chosen) return;
  const pressed = byId("panels").querySelector(".word[aria-pressed=true]");
  byId("panels").querySelectorAll(".word").forEach((button) => button.setAttribute("aria-pressed", "false"));
  byId("likeliest").hidden = true;
  chosen = null;
  pressed?.focus();
}
