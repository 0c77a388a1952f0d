// Shows one step of a run. Model text becomes text nodes only.

const byId = (id) => document.getElementById(id);

const KINDS = {
  content: "content",
  reasoning: "reasoning",
  marker: "marker",
  whitespace: "dropped white space",
  name: "call name",
  arguments: "arguments",
  call: "rest of a call",
  malformed: "malformed",
  held: "held back",
  later: "not read yet",
};

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** One region of the output, with visible line breaks. */
function regionOf(kind, text, title) {
  const made = element("span", `region ${kind}`);
  made.title = title;
  for (const part of text.split(/(\n)/)) {
    if (part) made.append(part === "\n" ? element("span", "newline", part) : part);
  }
  return made;
}

/** The message that the deltas of the first steps add up to. */
export function accumulate(steps, count) {
  const message = { reasoning: "", content: "", calls: [], malformed: [], dropped: [], finish_reason: null };
  for (const step of steps.slice(0, count)) {
    for (const delta of step.deltas) {
      switch (delta.kind) {
        case "content": message.content += delta.text; break;
        case "reasoning": message.reasoning += delta.text; break;
        case "tool_call_begin":
          message.calls[delta.index] = { id: delta.id, name: delta.name, arguments: "", status: "open", values: new Map() };
          break;
        case "tool_call_arguments": message.calls[delta.index].arguments += delta.text; break;
        case "tool_call_end": message.calls[delta.index].status = delta.status; break;
        case "malformed":
          report(message.malformed, delta);
          if (delta.is_content) message.content += delta.text;
          break;
        case "dropped": report(message.dropped, delta); break;
        case "finish": message.finish_reason = delta.finish_reason; break;
      }
    }
    for (const event of step.arguments) putArgument(message.calls[event.call].values, event);
  }
  return message;
}

/** Adds an event to the values, which are kept by path in the order in which they begin. */
function putArgument(values, event) {
  const place = JSON.stringify(event.path);
  const value = values.get(place);
  if (value && !value.is_final) {
    value.text += event.text;
    value.is_final = event.is_final;
  } else {
    values.set(place, { ...event });
  }
}

/** The values of a call as a tree. Open values are marked. */
function treeOf(values) {
  const lists = new Map();
  let tree = null;
  for (const [place, value] of values) {
    const isContainer = value.kind === "object" || value.kind === "array";
    const item = element("li", value.is_final ? "final" : "open");
    if (value.path.length > 0) item.append(element("span", "key", String(value.path.at(-1))));
    item.append(element("span", `shown ${value.kind}`, isContainer ? value.kind : value.text));
    item.append(element("span", "state", value.is_final ? "final" : "open"));
    if (value.path.length === 0) tree = element("ul", "tree");
    const list = value.path.length === 0 ? tree : lists.get(JSON.stringify(value.path.slice(0, -1)));
    list.append(item);
    if (isContainer) {
      const inner = element("ul");
      item.append(inner);
      lists.set(place, inner);
    }
  }
  return tree;
}

/** Malformed and dropped text arrives in pieces. */
function report(items, delta) {
  const last = items.at(-1);
  if (last && last.index === delta.index && last.reason === delta.reason) last.text += delta.text;
  else items.push({ index: delta.index, reason: delta.reason, text: delta.text });
}

export class View {
  constructor() {
    this.run = null;
    this.place = 0;
    this.wireShown = 0;
  }

  /** Takes a new run; `show` displays it. */
  load(run) {
    this.run = run;
    this.wireShown = 0;
    byId("wire").replaceChildren();
    this.grow();
  }

  /** Takes what was added to the run. */
  grow() {
    const { run } = this;
    this.text = run.regions.map((region) => region.text).join("");
    byId("whole").textContent = JSON.stringify(run.message.wire, null, 2);
    const kinds = new Set(run.regions.map((region) => region.kind));
    if (run.steps.some((step) => step.held)) kinds.add("held");
    if (this.text) kinds.add("later");
    const legend = Object.keys(KINDS).filter((kind) => kinds.has(kind));
    byId("legend").replaceChildren(...legend.map((kind) => {
      const item = element("li");
      item.append(element("span", `region ${kind}`, kind === "later" ? "abc" : "  "), KINDS[kind]);
      return item;
    }));
  }

  /** Shows the state after `place` steps; 0 is before the first step. */
  show(place) {
    this.place = place;
    const { steps } = this.run;
    const step = place > 0 ? steps[place - 1] : null;
    this.showOutput(step);
    this.showHeld(step);
    this.showMessage(accumulate(steps, place), place === steps.length);
    this.showWire();
  }

  showOutput(step) {
    const shown = step ? step.emitted : 0;
    const end = step ? step.end : 0;
    const spans = [];
    let begin = 0;
    for (const region of this.run.regions) {
      if (begin >= shown) break;
      const text = this.text.slice(begin, Math.min(begin + region.text.length, shown));
      spans.push(regionOf(region.kind, text, KINDS[region.kind]));
      begin += region.text.length;
    }
    if (end > shown) {
      const why = step.held ? `: ${step.held.why}` : "";
      spans.push(regionOf("held", this.text.slice(shown, end), KINDS.held + why));
    }
    const caret = element("span", "caret");
    const later = element("span", "region later", this.text.slice(end));
    later.setAttribute("aria-hidden", "true");
    byId("output").replaceChildren(...spans, caret, later);
    keepInView(byId("output"), caret);
  }

  showHeld(step) {
    const held = step && step.held;
    byId("held-panel").classList.toggle("empty", !held);
    byId("held-bytes").textContent = held ? `${held.bytes} ${held.bytes === 1 ? "byte" : "bytes"}` : "";
    byId("held").replaceChildren(held ? element("span", "region held", visible(held.text)) : "");
    byId("why").textContent = held ? held.why : "Nothing is held back.";
  }

  showMessage(message, isWhole) {
    const parts = [];
    const add = (title, content, className = "") => {
      const part = element("div", "part");
      part.append(element("h3", "", title), element("div", `value ${className}`, content));
      parts.push(part);
    };
    if (message.reasoning) add("reasoning", message.reasoning, "reasoning");
    if (message.content) add("content", message.content, "content");
    const hint = isWhole && this.run.message.hint;
    if (hint) parts.push(element("p", "about", `The format ${hint} would read a call here.`));
    for (const [index, call] of message.calls.entries()) {
      const part = element("div", "part");
      const title = element("h3", "", "call ");
      title.append(element("span", `status ${call.status}`, call.status));
      const writtenAs = isWhole && this.run.message.calls?.[index]?.written_as;
      if (writtenAs) title.append(` written as ${writtenAs}`);
      const value = element("div", "value");
      value.append(element("span", "region name", call.name), " ");
      value.append(element("span", "region arguments", call.arguments));
      part.append(title, value, element("div", "id", call.id));
      const tree = treeOf(call.values);
      if (tree) part.append(tree);
      parts.push(part);
    }
    for (const item of message.malformed) add(`malformed: ${item.reason}`, item.text, "region malformed");
    for (const item of message.dropped) add(`dropped: ${item.reason}`, item.text, "region malformed");
    if (message.finish_reason) add("finish reason", message.finish_reason);
    if (parts.length === 0) parts.push(element("p", "about", "Nothing has been emitted yet."));
    byId("message").replaceChildren(...parts);
    byId("so-far").textContent = isWhole ? "whole" : "so far";
  }

  showWire() {
    const list = byId("wire");
    const { steps } = this.run;
    while (this.wireShown > this.place) {
      this.wireShown -= 1;
      const count = steps[this.wireShown].deltas.length;
      for (let i = 0; i < count; i += 1) list.lastElementChild.remove();
    }
    while (this.wireShown < this.place) {
      const step = this.wireShown;
      for (const delta of steps[step].deltas) {
        const row = element("li", delta.wire ? "" : "silent");
        row.dataset.step = String(step + 1);
        row.append(element("span", "number", String(step + 1)));
        row.append(element("code", "", delta.wire ? JSON.stringify(delta.wire) : silent(delta)));
        list.append(row);
      }
      this.wireShown += 1;
    }
    for (const row of list.querySelectorAll(".now")) row.classList.remove("now");
    for (let row = list.lastElementChild; row; row = row.previousElementSibling) {
      if (row.dataset.step !== String(this.place)) break;
      row.classList.add("now");
    }
    const sent = list.querySelectorAll("li:not(.silent)").length;
    byId("wire-count").textContent = `${sent} ${sent === 1 ? "delta" : "deltas"}`;
    list.scrollTop = list.scrollHeight;
  }
}

function keepInView(box, inner) {
  const top = inner.offsetTop;
  if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 40) {
    box.scrollTop = Math.max(0, top - box.clientHeight / 2);
  }
}

/** An event without a delta in the API. */
function silent(delta) {
  switch (delta.kind) {
    case "tool_call_end": return `call ${delta.index} is ${delta.status}`;
    case "malformed": return `malformed: ${delta.reason}: ${delta.text}`;
    case "dropped": return `dropped: ${delta.reason}: ${delta.text}`;
    case "finish": return `finish_reason: ${delta.finish_reason}`;
    default: return delta.kind;
  }
}

/** Text with visible white space. */
function visible(text) {
  return text.replaceAll(" ", "␣").replaceAll("\n", "↵").replaceAll("\t", "⇥").replaceAll("\r", "␍");
}
