// The words of a text as buttons, coloured by bits.

import { h, shownWord } from "./dom.js";

const STEP = 2;
const STEPS = 9;

export const shade = (bits) => Math.max(0, Math.min(STEPS - 1, Math.floor(bits / STEP)));
export const bitsText = (bits) => (bits < 9.95 ? bits.toFixed(1) : Math.round(bits).toString());

/** The scale, once. */
export function legend() {
  const steps = Array.from({ length: STEPS }, (_, step) =>
    h("i", { class: `b${step}` }, step === STEPS - 1 ? `${step * STEP}+` : `${step * STEP}`),
  );
  return [h("span", {}, "bits"), ...steps];
}

/** The text before a word, in its line: what the model has read when it predicts the word. */
export function before(words, at) {
  const of = (word) => word.line === words[at].line && word.region === words[at].region && word.word !== "<eos>";
  const cut = words.every((word) => !of(word) || word.shown !== ""); // else the first word has all that is shown
  let text = "";
  let region = 0;
  for (const word of words) {
    if (word === words[at]) break;
    if (word.line !== words[at].line || word.word === "<eos>") continue;
    text += (region && word.region !== region ? " " : "") + (cut || !of(word) ? word.shown : word.word);
    region = word.region;
  }
  return text;
}

/** One line of buttons for each line of the text. `choose` is called with the place of a word. */
export function wordLines(words, value, differing, choose) {
  const lines = [];
  words.forEach((word, at) => {
    while (lines.length < word.line) lines.push(h("div", { class: "line" }));
    const next = words[at + 1];
    const joined = next && next.line === word.line && next.region === word.region && next.shown !== "";
    const end = word.word === "<eos>";
    const shown = end ? "⏎" : word.shown || word.word;
    const bits = bitsText(word[value]);
    const says = `${end ? "end of sentence" : shown}, ${bits} bits${word.oov ? ", not in the vocabulary" : ""}`;
    const classes = ["word", `b${shade(word[value])}`, joined && "joined", end && "end", word.oov && "oov",
      differing.has(`${word.line}:${word.region}`) && "differs"];
    lines[word.line - 1].append(
      h("button", { type: "button", class: classes.filter(Boolean).join(" "), "aria-label": says, "aria-pressed": "false",
        tabindex: at ? "-1" : "0", title: word.oov ? `${word.word}: not in the vocabulary` : null,
        onclick: () => choose(at) }, h("span", {}, shown), h("small", {}, bits)),
    );
  });
  return lines;
}

/** The stretches between white space on which two models differ most, as the server's /compare has them. */
export function differences([first, second], most) {
  const regions = new Map();
  for (const [number, { words }] of [first, second].entries()) {
    for (const word of words) {
      if (word.word === "<eos>") continue;
      const key = `${word.line}:${word.region}`;
      const region = regions.get(key) ?? { key, line: word.line, region: word.region, word: "", bits: [null, null] };
      if (!number) region.word += word.shown;
      region.bits[number] = (region.bits[number] ?? 0) + word.surprisal_bits;
      regions.set(key, region);
    }
  }
  const both = [...regions.values()].filter(({ bits: [a, b] }) => a !== null && b !== null && a !== b);
  return both.sort((one, other) => Math.abs(other.bits[0] - other.bits[1]) - Math.abs(one.bits[0] - one.bits[1])).slice(0, most);
}

/** Bits of all words, and how many there are. */
export function summary(words) {
  if (!words.length) return "";
  const bits = words.reduce((sum, word) => sum + word.surprisal_bits, 0);
  const perplexity = 2 ** (bits / words.length);
  return `${words.length} tokens · ${bits.toFixed(1)} bits · perplexity ${perplexity < 1e4 ? perplexity.toFixed(1) : perplexity.toExponential(1)}`;
}

/** A list of words with bars: `[{word, value, shown}]`, values from 0 to `most`. */
export function ranking(rows, most, here = null) {
  return h("ol", { class: "ranking" }, rows.map(({ word, value, shown }, rank) => {
    const bar = h("span", { class: "bar" });
    bar.style.width = `${Math.max(0, (100 * value) / most)}%`;
    return h("li", { class: word === here ? "here" : null }, h("span", {}, `${rank + 1}`), h("span", {}, shownWord(word), bar), h("span", {}, shown));
  }));
}

export function percent(probability) {
  const share = 100 * probability;
  return share >= 10 ? `${share.toFixed(0)} %` : share >= 0.095 ? `${share.toFixed(1)} %` : share >= 0.001 ? `${share.toFixed(3)} %` : "< 0.001 %";
}

export function tsv(models) {
  const names = ["line", "position", "region", "word", "oov", "surprisal_bits", "entropy_bits"];
  const quoted = (value) => (/["\t\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const number = (value) => (typeof value === "boolean" ? Number(value) : Number.isInteger(value) ? value : value.toFixed(6));
  const cell = (value) => (typeof value === "string" ? quoted(value) : number(value));
  const rows = models.flatMap(({ name, words }) => words.map((word) => [quoted(name), ...names.map((key) => cell(word[key]))].join("\t")));
  return `${["model", ...names].join("\t")}\n${rows.join("\n")}\n`;
}
