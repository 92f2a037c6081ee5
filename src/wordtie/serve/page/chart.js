// Curves as SVG, with their colours in it, so that a file of it looks as it does here.

const MOST_LABELS = 300;
const WIDEST = 16_000;
const NS = "http://www.w3.org/2000/svg";

export function s(name, attributes = {}, ...children) {
  const element = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.flat());
  return element;
}

/** A colour of the theme as it is now. */
export function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** Round numbers from 0 or `low` to `high`. */
export function ticks(low, high, count) {
  const rough = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const first = Math.ceil(low / step - 1e-9) * step;
  const found = [];
  for (let at = first; at <= high + step * 1e-6; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

export const short = (value) => {
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  if (size && size < 1e-3) return value.toExponential(0);
  return `${+value.toPrecision(4)}`;
};

function frame(width, height, label) {
  const svg = s("svg", { xmlns: NS, width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label,
    "font-family": "system-ui, sans-serif", "font-size": 12 });
  svg.append(s("rect", { width, height, fill: colour("card") }));
  return svg;
}

function grid(svg, values, y, left, right, muted, line) {
  for (const value of values) {
    svg.append(s("line", { x1: left, x2: right, y1: y(value), y2: y(value), stroke: line }));
    svg.append(s("text", { x: left - 8, y: y(value) + 4, fill: muted, "text-anchor": "end" }, short(value)));
  }
}

/** Surprisal along the text, for one model or two, and entropy of the first: `[{name, words}]`. */
export function textCurve(models, width, shownWords) {
  const [ink, muted, line, accent, second] = ["ink", "muted", "line", "accent", "second"].map(colour);
  const words = models[0].words;
  const left = 40;
  const right = 14;
  const labelled = words.length <= MOST_LABELS;
  const perWord = Math.max(labelled ? 23 : 4, (width - left - right) / Math.max(1, words.length));
  const whole = Math.max(width, left + right + perWord * words.length);
  const top = 34;
  const plot = 190;
  const room = !labelled ? 14 : Math.min(110, 18 + 6.2 * Math.max(...shownWords.map((word) => word.length)) * 0.72);
  const height = top + plot + room;
  const high = Math.max(10, ...models.flatMap((model) => model.words.map((word) => word.surprisal_bits)), ...words.map((word) => word.entropy_bits));
  const x = (at) => left + perWord * (at + 0.5);
  const y = (value) => top + plot * (1 - value / high);
  const svg = frame(whole, height, `Surprisal of ${words.length} tokens under ${models.map((model) => model.name).join(" and ")}, in bits`);
  grid(svg, ticks(0, high, 5), y, left, whole - right, muted, line);
  if (labelled) shownWords.forEach((word, at) => {
    svg.append(s("text", { x: x(at), y: top + plot + 14, fill: ink, "text-anchor": "end", "font-size": 11.5,
      transform: `rotate(-45 ${x(at)} ${top + plot + 14})` }, word.length > 16 ? `${word.slice(0, 15)}…` : word));
  });
  const path = (values) => values.map((value, at) => `${at ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const entropy = words.map((word) => word.entropy_bits);
  svg.append(s("path", { d: path(entropy), fill: "none", stroke: muted, "stroke-width": 1.3, "stroke-dasharray": "2 3" }));
  models.forEach((model, number) => {
    const own = number ? second : accent;
    svg.append(s("path", { d: path(model.words.map((word) => word.surprisal_bits)), fill: "none", stroke: own, "stroke-width": labelled ? 2 : 1,
      "stroke-linejoin": "round", "stroke-dasharray": number ? "7 3" : "none" }));
    model.words.forEach((word, at) => {
      const size = labelled ? 3.6 : 1.6;
      const mark = number
        ? s("rect", { x: x(at) - size, y: y(word.surprisal_bits) - size, width: 2 * size, height: 2 * size, fill: own })
        : s("circle", { cx: x(at), cy: y(word.surprisal_bits), r: size, fill: own });
      mark.append(s("title", {}, `${shownWords[at]}: ${word.surprisal_bits.toFixed(2)} bits (${model.name})`));
      svg.append(mark);
    });
  });
  let at = left;
  const entries = [...models.map((model, number) => [`surprisal, ${model.name}`, number ? second : accent, number ? "7 3" : "none", 2]),
    [`entropy, ${models[0].name}`, muted, "2 3", 1.3]];
  for (const [name, own, dashes, thick] of entries) {
    svg.append(s("line", { x1: at, x2: at + 22, y1: 14, y2: 14, stroke: own, "stroke-width": thick, "stroke-dasharray": dashes }));
    svg.append(s("text", { x: at + 28, y: 18, fill: ink }, name));
    at += 48 + 6.6 * name.length;
  }
  return svg;
}

/** One line over x: `[{x, y}]`. */
export function lineChart(points, width, label, xLabel) {
  const [muted, line, accent] = ["muted", "line", "accent"].map(colour);
  const height = 190;
  const right = 12;
  const xs = points.map((point) => point.x);
  const ys = points.map((point) => point.y);
  const [x0, x1] = [Math.min(0, ...xs), Math.max(...xs, 1e-9)];
  let [y0, y1] = [Math.min(...ys), Math.max(...ys)];
  const room = (y1 - y0 || Math.abs(y1) || 1) * 0.08;
  [y0, y1] = [y0 >= 0 ? Math.max(0, y0 - room) : y0 - room, y1 + room];
  const left = 18 + 7 * Math.max(...ticks(y0, y1, 4).map((value) => short(value).length));
  const x = (value) => left + ((width - left - right) * (value - x0)) / (x1 - x0);
  const y = (value) => 10 + 142 * (1 - (value - y0) / (y1 - y0));
  const svg = frame(width, height, label);
  grid(svg, ticks(y0, y1, 4), y, left, width - right, muted, line);
  const across = ticks(x0, x1, Math.max(2, Math.floor(width / 110)));
  for (const value of across) {
    svg.append(s("text", { x: x(value), y: 170, fill: muted, "text-anchor": "middle" }, short(value)));
  }
  svg.append(s("text", { x: width - right, y: 186, fill: muted, "text-anchor": "end", "font-size": 11 }, xLabel));
  const d = points.map((point, at) => `${at ? "L" : "M"}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`).join("");
  svg.append(s("path", { d, fill: "none", stroke: accent, "stroke-width": 2, "stroke-linejoin": "round" }));
  const last = points.at(-1);
  svg.append(s("circle", { cx: x(last.x), cy: y(last.y), r: 4, fill: accent }));
  return svg;
}

export const svgBlob = (svg) => new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });

/** The picture in twice its size, or less if it is very wide. */
export async function pngBlob(svg) {
  const image = new Image();
  const address = URL.createObjectURL(svgBlob(svg));
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  const scale = Math.min(2, WIDEST / svg.width.baseVal.value);
  canvas.width = scale * svg.width.baseVal.value;
  canvas.height = scale * svg.height.baseVal.value;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
