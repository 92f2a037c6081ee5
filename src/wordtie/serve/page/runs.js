// Curves of trainings, finished or running. While the view is open, the server is asked again every few seconds.

import { get, problem } from "./api.js";
import { lineChart, short } from "./chart.js";
import { byId, h, paused } from "./dom.js";

const CHARTS = [
  ["loss", "Training loss", "nats a word"],
  ["valid_perplexity", "Validation perplexity", ""],
  ["valid_bleu", "Validation BLEU", ""],
  ["rate", "Learning rate", ""],
  ["words_per_second", "Speed", "words/s"],
];
const SECONDS = { running: 3, other: 15 };
let runs = [];
let timer = 0;

export function startRuns() {
  byId("run").addEventListener("change", drawRun);
  new ResizeObserver(paused(100, drawRun)).observe(byId("run-charts"));
}

/** Ask now, and again for as long as the view is open. */
export async function watchRuns() {
  clearTimeout(timer);
  if (byId("view-runs").hidden) return;
  try {
    ({ runs } = await get("curves"));
    problem(null);
    list();
    drawRun();
  } catch (error) {
    problem(error);
  }
  const live = runs.some((run) => run.state === "running");
  timer = setTimeout(watchRuns, 1000 * (live ? SECONDS.running : SECONDS.other));
}

function list() {
  const select = byId("run");
  const before = select.value;
  const options = runs.map((run) => h("option", { value: run.folder }, run.state === "running" ? `${run.folder} (running)` : run.folder));
  const same = options.length === select.options.length && options.every((option, at) => option.textContent === select.options[at].textContent);
  if (same) return;
  select.replaceChildren(...options);
  if (runs.some((run) => run.folder === before)) select.value = before;
}

export function drawRun() {
  const run = runs.find((each) => each.folder === byId("run").value);
  byId("run").disabled = !runs.length;
  byId("run-state").textContent = run ? stateOf(run) : "There are none here. Start the server with --watch FOLDER to see those of a folder.";
  const share = run?.live?.share ?? null;
  byId("run-progress").hidden = share === null;
  if (share !== null) byId("run-progress").value = share;
  byId("run-charts").replaceChildren(...(run ? CHARTS.map((chart) => figure(run, ...chart)).filter(Boolean) : []));
}

function stateOf(run) {
  const parts = [run.state];
  if (run.live) {
    parts.push(`epoch ${run.live.epochs.toFixed(2)}`, `${clock(run.live.seconds)} so far`);
    if (run.live.seconds_left !== null) parts.push(`${clock(run.live.seconds_left)} left`);
  } else if (run.points.length) parts.push(clock(run.points.at(-1).seconds));
  const best = Math.min(...run.points.map((point) => point.valid_perplexity ?? Infinity));
  if (Number.isFinite(best)) parts.push(`best validation perplexity ${best.toFixed(1)}`);
  return parts.join(" · ") + (run.why ? `: ${run.why}` : "");
}

function figure(run, key, title, unit) {
  const byTokens = run.points.every((point) => point.tokens !== null);
  const epochs = key === "loss" && run.points.every((point) => point.loss === null);
  const points = run.points
    .map((point) => ({ x: byTokens ? point.tokens : point.seconds, y: epochs ? point.epoch_loss : point[key] }))
    .filter((point) => point.y !== null && Number.isFinite(point.y));
  if (!points.length) return null;
  const width = Math.max(260, Math.min(500, byId("run-charts").clientWidth - 40));
  const columns = byId("run-charts").clientWidth > 800 ? 2 : 1;
  const each = columns === 2 ? Math.floor((byId("run-charts").clientWidth - 16) / 2) - 36 : width;
  const last = `${short(points.at(-1).y)}${unit ? ` ${unit}` : ""}`;
  return h("figure", { class: "card" }, h("figcaption", {}, title, h("span", {}, last)),
    lineChart(points, each, `${title} of ${run.folder}, now ${last}`, byTokens ? "words of training" : "seconds"));
}

function clock(seconds) {
  const whole = Math.floor(seconds);
  const two = (number) => String(number).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}
