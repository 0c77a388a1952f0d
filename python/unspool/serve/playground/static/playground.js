// The page: its state, the link that stores it, and the steps.

import { ask as askBackend } from "./backend.js";
import { Chat } from "./chat.js";
import { Combobox } from "./combobox.js";
import { View } from "./view.js";

const byId = (id) => document.getElementById(id);
const OPTIONS = [...document.querySelectorAll("[data-option]")];
const prefersStillness = matchMedia("(prefers-reduced-motion: reduce)");
const WAIT_MS = 250; // from the last key press to the next run

const view = new View();
const chat = new Chat({ headers: keyHeaders, onBegin: beginAnswer, onGrow: growAnswer, onError: showError });
const format = new Combobox(byId("format"), byId("format-list"), chooseFormat);
let formats = [];
let examples = [];
let run = null; // the one that is shown: `parsed`, or a chat's
let parsed = null; // the last valid result of the parser
let answered = { steps: [], regions: [], message: { wire: null } }; // the last answer of the chat
let isDrawing = false;
let requests = 0; // counts the runs, so that a late answer is dropped
let timer = 0;
let playing = 0;

// Used in place of a field that is wrong, until there is a first result.
const DEFAULTS = { tools: "", chunk: "tokens", options: {}, finish_reason: "stop", format: "qwen3" };

// ---- the state: in the form and in the link

function readForm() {
  const options = {};
  for (const field of OPTIONS) {
    if (field.type === "checkbox" ? field.checked : field.value) {
      options[field.id] = field.type === "checkbox" ? true : field.value;
    }
  }
  if (["false", "none"].includes(options.reasoning)) options.reasoning = false;
  if (options.also) options.also = options.also.split(",").map((name) => name.trim()).filter(Boolean);
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
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? (value.function || value).name || "" : String(value);
}

const toolsText = (tools) => (tools === null ? "" : JSON.stringify(tools, null, 1));

function isExample(state, example) {
  return example !== undefined && state.text === example.text && state.tools === toolsText(example.tools);
}

/** Writes the state to the address. An example is stored by its name. */
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

// ---- requests

const ask = (path, body) => askBackend(path, body, keyHeaders());

function keyHeaders() {
  const key = byId("key").value.trim();
  return key ? { Authorization: `Bearer ${key}` } : {};
}

/** Runs the parser over the form's text, and goes to step `place` (null: the last). True if it has run. */
async function runNow(place = null) {
  clearTimeout(timer);
  const number = (requests += 1);
  const state = readForm();
  try {
    const answer = await ask("run", state);
    if (number !== requests) return false;
    showError(null);
    parsed = answer;
    if (isChatting()) return false;
    showRun(answer, place);
    return true;
  } catch (error) {
    if (number !== requests) return false;
    showError(error);
    if (parsed === null) await runWithout(error, state, number, place);
    return false;
  }
}

/** The first result, if a field is wrong from the start: that field has its default. */
async function runWithout(error, state, number, place) {
  const field = (error.where || "").split(/[.[]/)[0];
  if (!(field in DEFAULTS)) return;
  try {
    const answer = await ask("run", { ...state, [field]: DEFAULTS[field] });
    if (number === requests && parsed === null) {
      parsed = answer;
      if (!isChatting()) showRun(answer, place);
      byId("stale").textContent = `The input has an error. This is the result without ${field}.`;
      byId("stale").hidden = false;
    }
  } catch {
    // The first error is shown.
  }
}

function showRun(answer, place) {
  run = answer;
  view.load(run);
  byId("step").max = String(run.steps.length);
  byId("output-hint").hidden = run.steps.length > 0;
  goTo(place ?? run.steps.length);
}

// ---- the chat

const isChatting = () => document.body.classList.contains("chatting");

function showTab(chatting) {
  pause();
  document.body.classList.toggle("chatting", chatting);
  byId("tab-parse").setAttribute("aria-pressed", String(!chatting));
  byId("tab-chat").setAttribute("aria-pressed", String(chatting));
  showError(null);
  if (chatting) chat.open();
  if (chatting || parsed) showRun(chatting ? answered : parsed, null);
}

function beginAnswer(begun) {
  answered = begun;
  if (isChatting()) showRun(answered, 0);
}

/** Draws at most once per frame. Follows the answer unless an earlier step was chosen. */
function growAnswer() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    if (!isChatting() || run !== answered) return;
    const follows = place() === Number(byId("step").max);
    view.grow();
    byId("step").max = String(run.steps.length);
    byId("output-hint").hidden = run.steps.length > 0;
    goTo(follows ? run.steps.length : place());
  });
}

function runSoon() {
  pause();
  clearTimeout(timer);
  timer = setTimeout(() => runNow(), WAIT_MS);
}

// ---- errors, each at its field

function clearErrors() {
  for (const field of document.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-errormessage");
  }
  for (const note of document.querySelectorAll(".field-error")) note.remove();
  byId("error").hidden = true;
  byId("stale").hidden = true;
}

/** Shows an error at the field that it names, or at the top. null: there is none. */
function showError(error) {
  clearErrors();
  if (error === null) return;
  byId("stale").textContent = "The input has an error. This is the last valid result.";
  byId("stale").hidden = parsed === null || isChatting();
  const [name, option] = (error.where || "").split(/[.[]/);
  const place = error.line ? `line ${error.line}, column ${error.column}: ` : "";
  const field = byId({ chunk: "size", parallel_tool_calls: "one_call" }[option || name] || option || name)
    || byId(name);
  if (!field || !field.form) {
    byId("error").textContent = `${name ? `${name}: ` : ""}${place}${error.message}`;
    byId("error").hidden = false;
    return;
  }
  const note = document.createElement("p");
  note.className = "error field-error";
  note.id = `${field.id}-error`;
  note.setAttribute("role", "alert");
  note.textContent = place + error.message;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-errormessage", note.id);
  field.closest(".field, .check").append(note);
  if (field.closest("details")) field.closest("details").open = true;
}

// ---- formats and examples

async function chooseFormat(name) {
  await loadExamples(name);
  if (examples.length > 0) return chooseExample(firstExample().name);
  return runSoon();
}

async function loadExamples(name) {
  pause();
  const found = formats.find((item) => item.name === name);
  byId("format-about").textContent = found
    ? [found.models.join(", "), found.aliases.length ? `aliases: ${found.aliases.join(", ")}` : ""]
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

/** An example with a call, if the format has one. */
const firstExample = () => examples.find((item) => item.calls > 0) || examples[0];

/** Fills the form with an example, and plays it from its first step. */
async function chooseExample(name) {
  pause();
  const example = examples.find((item) => item.name === name);
  byId("example").value = name;
  if (example === undefined) return runSoon();
  byId("text").value = example.text;
  byId("tools").value = toolsText(example.tools);
  byId("finish_reason").value = example.finish_reason;
  fillOptions(example.options);
  if ((await runNow(1)) && !prefersStillness.matches) play();
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
  byId("step").setAttribute("aria-valuetext", step ? `${place} of ${run.steps.length}` : "before the first step");
  byId("first").disabled = byId("back").disabled = place === 0;
  byId("last").disabled = byId("next").disabled = isEnd;
  if (!playing && !isChatting()) {
    byId("now").textContent = step
      ? `${isEnd ? "End of the output" : step.piece}. ${step.held ? `Held back: ${step.held.text}, ${step.held.why}` : "Nothing is held back"}`
      : "Before the first step";
    writeLink();
  }
}

const place = () => Number(byId("step").value);

function play() {
  if (run === null || playing) return;
  if (place() === run.steps.length) goTo(0);
  const wait = Math.min(250, Math.max(30, 8000 / run.steps.length));
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
    button.textContent = "Copy the address instead";
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
  const hasRun = await runNow(typeof link.k === "number" ? link.k : null);
  if (hasRun && link.play && !prefersStillness.matches) {
    goTo(0);
    play();
  }
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
  byId("key").addEventListener("change", useKey);
  byId("tab-parse").addEventListener("click", () => showTab(false));
  byId("tab-chat").addEventListener("click", () => showTab(true));
  document.body.classList.toggle("embedded", location.search === "?embedded");
  showUnit();
  let needsKey = false;
  try {
    const answer = await ask("formats");
    formats = answer.formats;
    byId("tabs").hidden = !answer.has_chat;
    needsKey = answer.needs_key;
  } catch (error) {
    return showError(error);
  }
  byId("key-field").hidden = !needsKey;
  format.items = formats.map((item) => ({
    value: item.name,
    group: item.group,
    label: item.models.slice(0, 3).join(", "),
    search: [item.name, ...item.aliases, ...item.models, item.group].join(" ").toLowerCase(),
  }));
  if (needsKey) return showError({ where: "key", message: "Enter the API key of this server." });
  return openFirst();
}

function useKey() {
  if (!isChatting()) return openFirst();
  showError(null);
  return chat.open();
}

/** Opens the address's state, or an example. */
async function openFirst() {
  const link = readLink();
  if (link) return openLink(link);
  format.set("qwen3");
  await loadExamples("qwen3");
  if (examples.length > 0) await chooseExample(firstExample().name);
}

begin();
