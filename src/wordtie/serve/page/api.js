// Questions to the server. A token that comes in the address (#token=...) is kept for this tab, and sent in a header.

import { byId } from "./dom.js";

const KEY = "wordtie-token";
const found = /^#token=([\w-]+)$/.exec(location.hash);
if (found) {
  sessionStorage.setItem(KEY, found[1]);
  history.replaceState(null, "", location.pathname + location.search);
}

export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

async function ask(path, options) {
  const token = sessionStorage.getItem(KEY);
  const headers = { ...(options.headers ?? {}), ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  if (response.status === 401) byId("token-form").hidden = false;
  throw new Refused(response.status, body.detail ?? `The server answers ${response.status}.`);
}

const json = (values, signal) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(values),
  signal,
});

export const get = async (path) => (await ask(path, {})).json();
export const post = async (path, values, signal) => (await ask(path, json(values, signal))).json();

/** Calls `use` with each piece of text as it comes. */
export async function stream(path, values, use, signal) {
  const response = await ask(path, json(values, signal));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    use(value);
  }
}

export function useToken(token) {
  sessionStorage.setItem(KEY, token);
  byId("token-form").hidden = true;
}

const problems = new Map();

/** Shows what went wrong, or (null) that all is well, with one kind of question; others keep what they show. */
export function problem(error, kind = "") {
  if (error?.name === "AbortError") return;
  if (error) problems.set(kind, error.message);
  else problems.delete(kind);
  const place = byId("problem");
  place.hidden = !problems.size;
  place.textContent = [...new Set(problems.values())].join(" ");
}
