// What starts the page: views, theme, token.

import { get, problem, useToken } from "./api.js";
import { byId, roving } from "./dom.js";
import { startNeighbours } from "./neighbours.js";
import { drawRun, startRuns, watchRuns } from "./runs.js";
import { drawCurve, startText } from "./text.js";

const THEMES = { auto: "automatic", light: "light", dark: "dark" };

function theme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  localStorage.setItem("wordtie-theme", name);
  byId("theme").textContent = `Theme: ${THEMES[name]}`;
  redraw();
}

function redraw() {
  drawCurve();
  drawRun();
}

function show(tab) {
  for (const each of byId("tabs").children) {
    const selected = each === tab;
    each.setAttribute("aria-selected", String(selected));
    each.setAttribute("tabindex", selected ? "0" : "-1");
    byId(each.getAttribute("aria-controls")).hidden = !selected;
  }
  watchRuns();
}

let started = false;

async function start() {
  let models = [];
  try {
    ({ models } = await get("models"));
  } catch (error) {
    problem(error);
    return;
  }
  started = true;
  startText(models);
  startNeighbours(models);
  startRuns();
}

for (const tab of byId("tabs").children) tab.addEventListener("click", () => show(tab));
roving(byId("tabs"), "[role=tab]", { select: true });
byId("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  const now = document.documentElement.dataset.theme ?? "auto";
  theme(names[(names.indexOf(now) + 1) % names.length]);
});
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(byId("token").value.trim());
  problem(null);
  if (started) location.reload(); // the server has another token now, and maybe other models
  else start();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
theme(localStorage.getItem("wordtie-theme") ?? "auto");
start();
