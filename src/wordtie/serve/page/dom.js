// Small helpers for elements. Text is always set as text, never as HTML.

/** An element with attributes and children; `false` and `null` children and attributes are left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Keys that move between buttons of which one at a time can be reached by Tab. */
export function roving(container, selector, { select = false } = {}) {
  container.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const items = [...container.querySelectorAll(selector)];
    const at = items.indexOf(document.activeElement);
    if (at < 0) return;
    let next = null;
    if (step) next = items[Math.min(items.length - 1, Math.max(0, at + step))];
    if (event.key === "Home") next = items[0];
    if (event.key === "End") next = items[items.length - 1];
    if (!next) return;
    event.preventDefault();
    items.forEach((item) => item.setAttribute("tabindex", item === next ? "0" : "-1"));
    next.focus();
    if (select) next.click();
  });
}

/** Wait until there is a pause in the calls. */
export function paused(milliseconds, call) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(call, milliseconds);
  };
}

export function download(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** What the model shows as `<eos>` has no letters on the page. */
export const shownWord = (word) => (word === "<eos>" ? "⏎ end of sentence" : word === "<unk>" ? "any unknown word" : word);
