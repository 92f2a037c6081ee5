// Neighbours of a word, in the vectors of every model that is served.

import { post } from "./api.js";
import { byId, h } from "./dom.js";
import { ranking } from "./words.js";

const NAMES = { tied: "one set for input and output", input: "input vectors", output: "output vectors" };

let asking = null;

export function startNeighbours(models) {
  byId("neighbours-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const word = byId("word").value.trim();
    if (!word) return;
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const found = await Promise.all(models.map((model) => of(model, word, signal)));
    if (signal.aborted) return; // another word has been asked for
    byId("neighbours").replaceChildren(...found.flat());
  });
}

async function of({ name, about, vectors }, word, signal) {
  if (!vectors.length) return [h("div", { class: "card" }, h("h3", {}, name), h("p", { class: "muted" }, `This model has no word vectors: ${about}.`))];
  try {
    const { sides } = await post("neighbours", { word, model: name, top: 10 }, signal);
    return Object.entries(sides).map(([side, near]) => h("div", { class: "card" },
      h("h3", {}, name), h("p", { class: "muted small" }, `Nearest to “${word}”: ${NAMES[side]}`),
      ranking(near.map((each) => ({ word: each.word, value: each.cosine, shown: each.cosine.toFixed(3) })), 1)));
  } catch (error) {
    return [h("div", { class: "card" }, h("h3", {}, name), h("p", { class: "muted" }, error.message))];
  }
}
