// Runs the core over one output step by step, as unspool/serve/playground/run.py does.

import { regionsOf } from "./regions.js";

const MAX_STEPS = 5000;
const MAX_TEXT_BYTES = 200000;
const MAX_SHOWN = 400; // characters of held text in one step
const MAX_MARKERS = 6; // named in one reason
const BEGINNING = /[^\s\p{L}\p{N}_.,;:!?'"-]/u; // no family's call begins with another character
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const WHY = {
  character: "an unfinished character",
  space: "white space: markup if a marker follows, content if text follows",
  header: "a header; what follows depends on it",
  call: "may be a call or content",
  name: "a call whose name is not complete",
  key: "a parameter's name that is not complete",
  value: "a value whose type or end is not known yet",
  separator: "counts only if another value follows",
  closing_tag: "ends the value or is part of it, depending on what follows",
  ids: "its token ids have not arrived yet",
};

/** An error at a field of the form. */
export class RunError extends Error {
  constructor(where, message) {
    super(message);
    this.where = where;
  }
}

/** `formats`: those of formats.json. `request`: as the endpoint of a server takes it. */
export function run(core, formats, request) {
  const format = find(formats, request.format, "format");
  const bytes = encoder.encode(request.text);
  if (bytes.length > MAX_TEXT_BYTES) {
    throw new RunError("text", `the text has ${bytes.length} bytes, at most ${MAX_TEXT_BYTES} are allowed; shorten it`);
  }
  const pieces = piecesOf(format, request.text, request.chunk);
  if (pieces.length > MAX_STEPS) {
    throw new RunError("chunk", `the run has ${pieces.length} steps, at most ${MAX_STEPS} are allowed; use larger chunks`);
  }
  const asked = coreRequest(formats, format, request);
  const begin = () => {
    try {
      return core.begin(asked);
    } catch (error) {
      throw new RunError("options", error.message);
    }
  };
  const stream = begin();
  try {
    const made = steps(stream, begin, format, request, pieces);
    made.message.hint = hintOf(core, formats, format, request, made.message);
    return made;
  } finally {
    stream.end();
  }
}

/** The format that reads a call of an offered tool in the content, if this one read none; else null. */
function hintOf(core, formats, format, request, { content, calls }) {
  const tools = toolsOf(request.tools) ?? [];
  const { tool_choice: choice, only_reasoning: readsNone } = request.options ?? {};
  if (tools.length === 0 || choice === "none" || readsNone || calls.length > 0) return null;
  if (!BEGINNING.test(content)) return null;
  const also = others(formats, "any").map((other) => other.patterns);
  const own = find(formats, "hermes", "format");
  const stream = core.begin({ format: own.patterns, tools, has_reasoning: true, also, unknown_tools: "content" });
  try {
    stream.put(encoder.encode(content));
    const found = stream.finish("stop").message.calls.find((call) => call.status === "complete");
    const name = found && (found.written_as ?? own.name);
    return name === undefined || name === format.name ? null : name;
  } finally {
    stream.end();
  }
}

function steps(stream, begin, format, request, pieces) {
  const units = unitsOf(request.text);
  const made = [];
  let end = 0;
  let emitted = 0;
  for (const piece of pieces) {
    const step = stream.put(piece);
    end += piece.length;
    emitted = Math.max(emitted, units[Math.max(0, end - step.held.length / 2)]);
    made.push(shownStep(step, shown(piece), units[end], emitted));
  }
  const last = stream.finish(request.finish_reason ?? "stop");
  made.push(shownStep(last, "", units[end], units[end]));
  const again = begin();
  try {
    return {
      format: format.name,
      steps: made,
      regions: regionsOf(request.text, last.message.audit, again, request.finish_reason ?? "stop"),
      message: shownMessage(last.message, request.options?.reasoning_field ?? "reasoning_content"),
    };
  } finally {
    again.end();
  }
}

function find(formats, name, where) {
  const wanted = String(name).toLowerCase();
  const found = formats.find((item) => item.name === wanted || item.aliases.includes(wanted));
  if (found === undefined) throw new RunError(where, `there is no format '${name}'`);
  return found;
}

function coreRequest(formats, format, request) {
  const options = { ...request.options };
  const reasoning = options.reasoning ?? null;
  delete options.reasoning;
  if (options.also !== undefined) options.also = others(formats, options.also).map((other) => other.patterns);
  if (typeof options.tool_choice === "object" && options.tool_choice !== null) {
    options.tool_choice = (options.tool_choice.function ?? options.tool_choice).name;
  }
  const asked = { format: format.patterns, tools: toolsOf(request.tools), has_reasoning: reasoning === null || reasoning === true, ...options };
  if (typeof reasoning === "string") {
    const other = find(formats, reasoning, "reasoning");
    if (!other.is_plain && !other.has_reasoning) {
      throw new RunError("reasoning", `format '${other.name}' has no reasoning; name one that has`);
    }
    if (!other.is_plain) asked.reasoning = other.patterns;
  }
  return asked;
}

/** The formats of `also`. Of "any", the family that most models and stacks name comes first. */
function others(formats, also) {
  const names = [also].flat();
  const rank = ({ models, aliases }) => -models.length - aliases.length;
  if (names.includes("any")) {
    const byName = (a, b) => (a.name < b.name ? -1 : 1);
    return formats.filter((item) => item.has_tools).sort((a, b) => rank(a) - rank(b) || byName(a, b));
  }
  const found = names.map((name) => find(formats, name, "options"));
  const without = found.find((item) => !item.has_tools);
  if (without) throw new RunError("options", `also: format '${without.name}' has no calls; name one that has`);
  return found;
}

function toolsOf(tools) {
  if (typeof tools !== "string") return tools ?? null;
  if (!tools.trim()) return null;
  let read;
  try {
    read = JSON.parse(tools);
  } catch (error) {
    throw new RunError("tools", `not JSON: ${error.message}`);
  }
  if (read !== null && !Array.isArray(read)) {
    throw new RunError("tools", 'tools must be a list; write [{"name": …, "parameters": {…}}]');
  }
  return read;
}

// ---- pieces

function piecesOf(format, text, chunk) {
  if (chunk === "bytes") return [...encoder.encode(text)].map((byte) => Uint8Array.of(byte));
  if (chunk === "tokens") return tokenPieces(format, text).map((piece) => encoder.encode(piece));
  const characters = [...text];
  const pieces = [];
  for (let at = 0; at < characters.length; at += chunk) {
    pieces.push(encoder.encode(characters.slice(at, at + chunk).join("")));
  }
  return pieces;
}

/** Pieces like a tokenizer's: whole markers, words with their space, runs of punctuation. */
function tokenPieces(format, text) {
  const markers = [...format.markers].sort((a, b) => [...b].length - [...a].length);
  const escaped = markers.map((marker) => marker.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const space = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const words = [
    " ?[\\p{L}\\p{Nl}\\p{No}]{1,9}", "\\p{Nd}{1,3}", "\\n+", " {1,4}", `[^\\p{L}\\p{N}_${space}]{1,2}`, ".",
  ];
  return text.match(new RegExp([...escaped, ...words].join("|"), "gsu")) ?? [];
}

/** A step's text; bytes that are no whole characters are escaped, all of them. */
function shown(piece) {
  try {
    return decoder.decode(piece);
  } catch {
    return [...piece].map(escapeByte).join("");
  }
}

const escapeByte = (byte) => `\\x${byte.toString(16).padStart(2, "0")}`;

/** UTF-16 units of the whole characters before each byte. */
function unitsOf(text) {
  const units = [0];
  let count = 0;
  for (const character of text) {
    for (let left = encoder.encode(character).length; left > 1; left -= 1) units.push(count);
    count += character.length;
    units.push(count);
  }
  return units;
}

// ---- what is shown

function shownStep(step, piece, end, emitted) {
  const deltas = step.deltas.map((delta) => ({ ...delta, wire: Object.keys(delta.wire).length > 0 ? delta.wire : null }));
  return { piece, end, emitted, region: step.region, deltas, arguments: step.arguments, held: heldOf(step) };
}

function heldOf({ held, reason, markers }) {
  if (held === "") return null;
  const bytes = Uint8Array.from(held.match(/../g), (digits) => parseInt(digits, 16));
  const characters = [...escapeBroken(bytes)];
  const text = characters.length <= MAX_SHOWN ? characters.join("") : `…${characters.slice(-MAX_SHOWN).join("")}`;
  return { text, bytes: bytes.length, reason, why: whyHeld(reason, markers) };
}

/** The text of bytes that may end inside a character. */
function escapeBroken(bytes) {
  for (let tail = 0; tail < 4; tail += 1) {
    try {
      const whole = decoder.decode(bytes.subarray(0, bytes.length - tail));
      return whole + [...bytes.subarray(bytes.length - tail)].map(escapeByte).join("");
    } catch {
      // The character is longer.
    }
  }
  return [...bytes].map(escapeByte).join("");
}

export function whyHeld(reason, markers) {
  if (reason !== "marker") return WHY[reason] ?? "";
  if (markers.length === 0) return "may be the start of a marker";
  const named = [...new Set(markers.map((marker) => marker.trim() || JSON.stringify(marker).replaceAll('"', "'")))];
  if (named.length === 1) return `may be the start of the marker ${named[0]}`;
  const rest = named.length - MAX_MARKERS;
  const more = rest > 0 ? `  and ${rest} more` : "";
  return `may be the start of one of the markers ${named.slice(0, MAX_MARKERS).join("  ")}${more}`;
}

function shownMessage(message, field) {
  const { calls } = message;
  const sent = { role: "assistant", content: message.content || null };
  if (message.reasoning) sent[field] = message.reasoning;
  const complete = calls.filter((call) => call.status === "complete");
  if (complete.length > 0) {
    sent.tool_calls = complete.map((call) => ({
      id: call.id, type: "function", function: { name: call.name, arguments: call.arguments },
    }));
  }
  const { content, reasoning, finish_reason, malformed, dropped } = message;
  return { wire: { message: sent, finish_reason }, content, reasoning, finish_reason, calls, malformed, dropped };
}
