// Finds the region of each part of an output, as unspool/streams/tracing/regions.py does.

const encoder = new TextEncoder();

/** `stream`: a new one of the same request. It reads byte by byte to find the arguments. */
export function regionsOf(text, audit, stream, finishReason) {
  const kinds = audit.flatMap(([fate, part]) => Array(encoder.encode(part).length).fill(fate));
  const raw = encoder.encode(text);
  if (kinds.length !== raw.length) return [{ kind: "content", text }]; // the audit does not cover the text
  findNamesAndArguments(raw, kinds, stream, finishReason);
  const regions = [];
  let at = 0;
  for (const character of text) {
    if (regions.length > 0 && regions.at(-1).kind === kinds[at]) regions.at(-1).text += character;
    else regions.push({ kind: kinds[at], text: character });
    at += encoder.encode(character).length;
  }
  return regions;
}

/** Replaces "tool_call" in `kinds` by "name", "arguments" or "call". */
function findNamesAndArguments(raw, kinds, stream, finishReason) {
  const paint = (begin, end, kind) => {
    for (let at = begin; at < end; at += 1) if (kinds[at] === "call") kinds[at] = kind;
  };
  for (const [at, kind] of kinds.entries()) if (kind === "tool_call") kinds[at] = "call";
  let painted = null; // end of the open call's arguments so far
  let last = 0; // end of the last painted part
  let held = 0; // bytes that the next one may release
  for (let place = 0; place <= raw.length; place += 1) {
    const step = place === raw.length ? stream.finish(finishReason) : stream.put(raw.subarray(place, place + 1));
    let begin = Math.max(0, place - held);
    const end = Math.min(place + 1, raw.length);
    held = step.held.length / 2;
    for (const delta of step.deltas) {
      if (delta.kind === "tool_call_begin" && delta.name) {
        const found = placeOf(delta.name, raw, Math.min(begin, last), end);
        last = found[1];
        paint(found[0], last, "name");
        begin = place; // text around the name belongs to no argument
        painted = null;
      } else if (delta.kind === "tool_call_arguments") {
        const isWritten = delta.text !== "{}" || raw.subarray(begin, end).includes(0x7b);
        if (painted === null && isWritten) painted = begin;
        if (painted !== null) {
          paint(painted, end - held, "arguments");
          last = painted = Math.max(painted, end - held);
        }
      }
    }
  }
}

/** The last occurrence of the name as a word between `begin` and `end`; empty if there is none. */
function placeOf(name, raw, begin, end) {
  const text = latin(raw.subarray(begin, end));
  const word = latin(encoder.encode(name)).replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  let found = [end, end];
  for (const match of text.matchAll(new RegExp(`(?<!\\w)${word}(?!\\w)`, "g"))) {
    found = [begin + match.index, begin + match.index + match[0].length];
  }
  return found;
}

/** One character per byte. */
const latin = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
