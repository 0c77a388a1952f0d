// Turns the chunks of a chat completion into a run, as the view shows it: one step per chunk.

export class ChatRun {
  constructor() {
    this.steps = [];
    this.regions = [];
    this.message = { wire: null };
    this.content = "";
    this.reasoning = "";
    this.calls = [];
    this.length = 0; // of all regions
  }

  /** Adds a chunk. A chunk without a choice has the usage. */
  put(chunk) {
    if (chunk.usage) this.usage = chunk.usage;
    const choice = chunk.choices?.[0];
    if (choice === undefined) return;
    const delta = choice.delta ?? {};
    const deltas = [];
    const reasoning = delta.reasoning_content ?? delta.reasoning;
    if (reasoning) {
      this.reasoning += reasoning;
      deltas.push({ kind: "reasoning", text: reasoning });
      this.addRegion("reasoning", reasoning);
    }
    if (delta.content) {
      this.content += delta.content;
      deltas.push({ kind: "content", text: delta.content });
      this.addRegion("content", delta.content);
    }
    for (const entry of delta.tool_calls ?? []) this.putCall(entry, deltas);
    if (deltas.length === 0 && Object.keys(delta).length > 0) deltas.push({ kind: "role", text: "" });
    if (deltas.length > 0) deltas[0].wire = delta;
    if (choice.finish_reason) this.end(choice.finish_reason, deltas);
    else this.addStep(deltas);
  }

  putCall(entry, deltas) {
    const { index } = entry;
    const { name, arguments: text = "" } = entry.function ?? {};
    if (this.calls[index] === undefined) {
      this.calls[index] = { id: entry.id, name, arguments: "" };
      deltas.push({ kind: "tool_call_begin", text: "", index, id: entry.id, name });
      // The API sends no markup: the line break and the space are layout.
      if (this.length > 0) this.addRegion("call", "\n");
      this.addRegion("name", name);
      this.addRegion("call", " ");
    }
    if (text) {
      this.calls[index].arguments += text;
      deltas.push({ kind: "tool_call_arguments", text, index });
      this.addRegion("arguments", text);
    }
  }

  /** Ends the run, also if the stream was aborted ("cancelled") or failed ("error"). */
  end(reason, deltas = []) {
    for (const [index, call] of this.calls.entries()) {
      deltas.push({ kind: "tool_call_end", text: "", index, status: isObject(call.arguments) ? "complete" : "incomplete" });
    }
    deltas.push({ kind: "finish", text: "", finish_reason: reason });
    this.finish_reason = reason;
    this.addStep(deltas);
  }

  /** The answer as a message of the conversation, with its complete calls. */
  toMessage() {
    const message = { role: "assistant", content: this.content };
    const calls = this.calls.filter((call) => isObject(call.arguments));
    if (calls.length > 0) {
      message.tool_calls = calls.map((call) => ({
        id: call.id, type: "function", function: { name: call.name, arguments: call.arguments },
      }));
    }
    return message;
  }

  addRegion(kind, text) {
    const last = this.regions.at(-1);
    if (last && last.kind === kind) last.text += text;
    else this.regions.push({ kind, text });
    this.length += text.length;
  }

  addStep(deltas) {
    const step = { piece: "", deltas, arguments: [], held: null, end: this.length, emitted: this.length };
    step.piece = deltas.map((delta) => delta.text).join("");
    this.steps.push(step);
    const message = this.toMessage();
    if (this.reasoning) message.reasoning_content = this.reasoning;
    this.message.wire = { message, finish_reason: this.finish_reason ?? null };
    if (this.usage) this.message.wire.usage = this.usage;
  }
}

function isObject(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value);
  } catch {
    return false;
  }
}
