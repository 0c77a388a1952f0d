// The page: its state, the link that holds it, the steps.

import { Combobox } from "./combobox.js";
import { View } from "./view.js";

const byId = (id) => document.getElementById(id);
const OPTIONS = [...document.querySelectorAll("[data-option]")];
const WAIT_MS = 250; // from the last key until the text is parsed again

const view = new View();
const format = new Combobox(byId("format"), byId("format-list"), chooseFormat);
let formats = [];
let examples = [];
let run = null; // what the server said last
let asked = 0; // runs asked for, so that a late answer is left out
let timer = 0;
let playing = 0;

// ---- the state, as the form and the link have it

function readForm() {
  const options = {};
  for (const field of OPTIONS) {
    if (field.type === "checkbox" ? field.checked : field.value) {
      options[field.id] = field.type === "checkbox" ? true : field.value;
    }
  }
  if (["false", "none"].includes(options.reasoning)) options.reasoning = false;
  if (byId("one_call").checked) options.parallel_tool_calls = false;
  const unit = byId("unit").value;
  return {
    format: format.value,
    text: byId("text").value,
    tools: byId("tools").value,
    chunk: unit === "characters" ? Math.max(1, Number(byId("size").value) || 1) : unit,
    options,
    finish_reason: byId("finish_reason").value,
  };
}

function fillForm(state) {
  format.set(state.format);
  byId("text").value = state.text;
  byId("tools").value = state.tools;
  byId("unit").value = typeof state.chunk === "number" ? "characters" : state.chunk;
  if (typeof state.chunk === "number") byId("size").value = String(state.chunk);
  byId("finish_reason").value = state.finish_reason;
  fillOptions(state.options);
  showUnit();
}

function fillOptions(options) {
  for (const field of OPTIONS) {
    if (field.type === "checkbox") field.checked = Boolean(options[field.id]);
    else field.value = optionText(options[field.id]);
  }
  byId("one_call").checked = options.parallel_tool_calls === false;
  if (Object.keys(options).length > 0) byId("more").open = true;
}

function optionText(value) {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? (value.function || value).name || "" : String(value);
}

const toolsText = (tools) => (tools === null ? "" : JSON.stringify(tools, null, 1));

function isExample(state, example) {
  return example !== undefined && state.text === example.text && state.tools === toolsText(example.tools);
}

/** The state in the address: what an example holds is named, not written out. */
function writeLink() {
  const state = readForm();
  const example = examples.find((item) => item.name === byId("example").value);
  const link = { f: state.format, c: state.chunk, k: Number(byId("step").value) };
  if (isExample(state, example)) {
    link.e = example.name;
  } else {
    link.t = state.text;
    if (state.tools) link.tools = state.tools;
  }
  if (Object.keys(state.options).length > 0) link.o = state.options;
  if (state.finish_reason !== "stop") link.r = state.finish_reason;
  const bytes = new TextEncoder().encode(JSON.stringify(link));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const encoded = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  history.replaceState(null, "", `#${encoded}`);
}

function readLink() {
  try {
    const binary = atob(location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    const link = JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (c) => c.charCodeAt(0))));
    return link !== null && typeof link.f === "string" ? link : null;
  } catch {
    return null;
  }
}

// ---- asking the server

async function ask(path, body) {
  const init = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  const response = await fetch(`playground/${path}`, init);
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error.message), answer.error);
  return answer;
}

async function runNow(place = null) {
  clearTimeout(timer);
  const number = (asked += 1);
  const state = readForm();
  try {
    const answer = await ask("run", state);
    if (number !== asked) return;
    showError(null);
    run = answer;
    view.load(run);
    byId("step").max = String(run.steps.length);
    goTo(place ?? run.steps.length);
  } catch (error) {
    if (number === asked) showError(error);
  }
}

function runSoon() {
  pause();
  clearTimeout(timer);
  timer = setTimeout(() => runNow(), WAIT_MS);
}

function showError(error) {
  const box = byId("error");
  for (const field of document.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  box.hidden = error === null;
  byId("result").classList.toggle("stale", error !== null);
  if (error === null) return;
  const [name, option] = (error.where || "").split(".");
  const place = error.line ? `, line ${error.line}, column ${error.column}` : "";
  box.textContent = `${option || name || "the server"}${place}: ${error.message}`;
  const field = byId(option || { chunk: "size" }[name] || name);
  if (field && field.form) field.setAttribute("aria-invalid", "true");
}

// ---- formats and examples

async function chooseFormat(name) {
  await loadExamples(name);
  if (examples.length > 0) chooseExample(examples[0].name);
  else runSoon();
}

async function loadExamples(name) {
  pause();
  const found = formats.find((item) => item.name === name);
  byId("format-about").textContent = found
    ? [found.models.join(", "), found.aliases.length ? `also called ${found.aliases.join(", ")}` : ""]
        .filter(Boolean).join(" · ")
    : "";
  try {
    ({ examples } = await ask(`examples/${encodeURIComponent(name)}`));
  } catch (error) {
    examples = [];
    showError(error);
  }
  const own = new Option("own text", "");
  byId("example").replaceChildren(own, ...examples.map((item) => new Option(item.name, item.name)));
}

function chooseExample(name, place = null) {
  const example = examples.find((item) => item.name === name);
  byId("example").value = name;
  if (example === undefined) return runSoon();
  byId("text").value = example.text;
  byId("tools").value = toolsText(example.tools);
  byId("finish_reason").value = example.finish_reason;
  fillOptions(example.options);
  return runNow(place);
}

// ---- steps

function goTo(place) {
  if (run === null) return;
  place = Math.min(Math.max(0, place), run.steps.length);
  byId("step").value = String(place);
  view.show(place);
  const step = place > 0 ? run.steps[place - 1] : null;
  const isEnd = place === run.steps.length;
  byId("place").textContent = `${place} / ${run.steps.length}`;
  byId("step").setAttribute("aria-valuetext", step ? `${place} of ${run.steps.length}` : "before the first");
  byId("first").disabled = byId("back").disabled = place === 0;
  byId("last").disabled = byId("next").disabled = isEnd;
  if (!playing) {
    byId("now").textContent = step
      ? `${isEnd ? "the end" : step.piece}. ${step.held ? `Held: ${step.held.text}, ${step.held.why}` : "Nothing is held"}`
      : "Before the first step";
    writeLink();
  }
}

const place = () => Number(byId("step").value);

function play() {
  if (run === null) return;
  if (place() === run.steps.length) goTo(0);
  const wait = Math.min(300, Math.max(30, 12000 / run.steps.length));
  playing = setInterval(() => {
    goTo(place() + 1);
    if (place() === run.steps.length) pause();
  }, wait);
  showPlaying();
}

function pause() {
  if (!playing) return;
  clearInterval(playing);
  playing = 0;
  showPlaying();
  goTo(place());
}

function showPlaying() {
  byId("play").classList.toggle("playing", playing !== 0);
  byId("play").setAttribute("aria-label", playing ? "Pause" : "Play");
}

function step(by) {
  pause();
  goTo(place() + by);
}

function onKey(event) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.target.closest("input, textarea, select, summary")) return;
  const isButton = event.target.closest("button") !== null;
  if (event.key === "ArrowLeft") step(-1);
  else if (event.key === "ArrowRight") step(1);
  else if (event.key === "Home") step(-Infinity);
  else if (event.key === "End") step(Infinity);
  else if (event.key === " " && !isButton) (playing ? pause : play)();
  else return;
  event.preventDefault();
}

// ---- the page

function showUnit() {
  byId("size-field").classList.toggle("unused", byId("unit").value !== "characters");
  byId("size").disabled = byId("unit").value !== "characters";
}

async function copyLink() {
  writeLink();
  const button = byId("copy-link");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
  setTimeout(() => { button.textContent = "Copy link"; }, 2000);
}

async function openLink(link) {
  format.set(link.f);
  await loadExamples(link.f);
  const example = examples.find((item) => item.name === link.e);
  fillForm({
    format: link.f,
    text: String(example ? example.text : link.t ?? ""),
    tools: String(example ? toolsText(example.tools) : link.tools ?? ""),
    chunk: link.c ?? "tokens",
    options: link.o ?? {},
    finish_reason: link.r ?? "stop",
  });
  byId("example").value = example ? example.name : "";
  await runNow(typeof link.k === "number" ? link.k : null);
}

async function begin() {
  byId("request").addEventListener("submit", (event) => event.preventDefault());
  byId("text").addEventListener("input", () => { byId("example").value = ""; runSoon(); });
  byId("tools").addEventListener("input", runSoon);
  byId("example").addEventListener("change", () => chooseExample(byId("example").value));
  byId("unit").addEventListener("change", () => { showUnit(); runSoon(); });
  for (const field of [...OPTIONS, byId("one_call"), byId("finish_reason"), byId("size")]) {
    field.addEventListener("input", runSoon);
  }
  byId("step").addEventListener("input", () => { pause(); goTo(place()); });
  byId("first").addEventListener("click", () => step(-Infinity));
  byId("back").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("last").addEventListener("click", () => step(Infinity));
  byId("play").addEventListener("click", () => (playing ? pause : play)());
  byId("copy-link").addEventListener("click", copyLink);
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", () => { const link = readLink(); if (link) openLink(link); });
  showUnit();
  try {
    ({ formats } = await ask("formats"));
  } catch (error) {
    return showError(error);
  }
  format.items = formats.map((item) => ({
    value: item.name,
    group: item.group,
    label: item.models.slice(0, 3).join(", "),
    search: [item.name, ...item.aliases, ...item.models, item.group].join(" ").toLowerCase(),
  }));
  const link = readLink();
  if (link) return openLink(link);
  format.set("qwen3");
  await loadExamples("qwen3");
  return chooseExample(examples[0].name);
}

begin();
