// A chat with a served model: the conversation, the request, the stream.

import { ChatRun } from "./chat_run.js";
import { readEvents } from "./event_stream.js";

const byId = (id) => document.getElementById(id);

const EXAMPLE_MESSAGE = "What is the weather in Paris?";
const EXAMPLE_TOOLS = [{
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}];

export class Chat {
  /**
   * `headers()`: the headers of a request. `onBegin(run)`: an answer begins. `onGrow()`: it has more steps.
   * `onError(error)`: null for none; `error.where` names a field.
   */
  constructor({ headers, onBegin, onGrow, onError }) {
    Object.assign(this, { headers, onBegin, onGrow, onError });
    this.isFilled = false; // whether the models are listed
    this.abort = null; // of the answer that is streaming
    this.clear();
    byId("chat").addEventListener("submit", (event) => { event.preventDefault(); this.send(); });
    byId("say").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.send();
    });
    byId("chat-example").addEventListener("click", () => {
      byId("say").value = EXAMPLE_MESSAGE;
      byId("chat-tools").value = JSON.stringify(EXAMPLE_TOOLS, null, 1);
      byId("send").focus();
    });
    byId("stop").addEventListener("click", () => this.abort?.abort());
    byId("new-chat").addEventListener("click", () => { this.abort?.abort(); this.clear(); });
  }

  clear() {
    this.messages = [];
    this.unanswered = []; // calls of the last answer without a result
    byId("turns").replaceChildren();
    this.showState();
  }

  /** Lists the server's models, once. */
  async open() {
    if (this.isFilled) return;
    try {
      const answer = await this.request("v1/models");
      const { data } = await answer.json();
      byId("model").replaceChildren(...data.map((model) => new Option(model.id, model.id)));
      this.isFilled = true;
      this.onError(null);
    } catch (error) {
      this.onError(error);
    }
  }

  async send() {
    const text = byId("say").value;
    if (this.abort || !text.trim()) return;
    await this.open();
    const call = this.unanswered[0];
    this.add(call ? { role: "tool", tool_call_id: call.id, content: text } : { role: "user", content: text });
    byId("say").value = "";
    if (call) this.unanswered.shift();
    this.showState();
    if (this.unanswered.length > 0) return; // each call needs a result
    if (!(await this.answer())) {
      this.messages.pop();
      byId("turns").lastElementChild.remove();
      if (call) this.unanswered.unshift(call);
      byId("say").value = text;
      this.showState();
    }
  }

  /** Streams an answer. False: there is none. */
  async answer() {
    const abort = new AbortController();
    const run = new ChatRun();
    this.abort = abort;
    this.showState();
    this.onError(null);
    this.onBegin(run);
    showIgnored(null);
    try {
      const further = readJson("chat-fields", "an object", isObject);
      const tools = readJson("chat-tools", 'a list; write [{"name": …, "parameters": {…}}]', Array.isArray);
      const body = { model: byId("model").value, messages: this.messages, ...further, stream: true };
      // A bare function gets its wrapper.
      if (tools) body.tools = tools.map((tool) => (tool?.function || tool?.type ? tool : { type: "function", function: tool }));
      const response = await this.request("v1/chat/completions", body, abort.signal);
      showIgnored(response.headers.get("x-unspool-ignored"));
      for await (const chunk of readEvents(response)) {
        run.put(chunk);
        this.onGrow();
      }
    } catch (error) {
      run.end(abort.signal.aborted ? "cancelled" : "error");
      this.onGrow();
      if (!abort.signal.aborted) this.onError(error);
    }
    this.abort = null;
    const message = run.toMessage();
    const isAnswer = message.content !== "" || message.tool_calls !== undefined || run.finish_reason === "stop";
    if (isAnswer) {
      this.unanswered = message.tool_calls ?? [];
      this.add(message);
    }
    this.showState();
    return isAnswer;
  }

  async request(path, body, signal) {
    const init = { headers: this.headers(), signal };
    if (body !== undefined) {
      init.method = "POST";
      init.headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(body);
    }
    const response = await fetch(path, init);
    if (response.ok) return response;
    const { error } = await response.json().catch(() => ({ error: { message: `HTTP ${response.status}` } }));
    throw Object.assign(new Error(error.message), { where: response.status === 401 ? "key" : error.param });
  }

  /** Adds a message to the conversation, and shows it. */
  add(message) {
    this.messages.push(message);
    const turn = document.createElement("li");
    turn.className = message.role;
    const role = document.createElement("b");
    role.textContent = { user: "you", assistant: "model", tool: "result" }[message.role];
    turn.append(role);
    if (message.content) turn.append(text("p", message.content));
    for (const call of message.tool_calls ?? []) {
      turn.append(text("code", `${call.function.name} ${call.function.arguments}`));
    }
    byId("turns").append(turn);
    byId("turns").scrollTop = byId("turns").scrollHeight;
  }

  showState() {
    const call = this.unanswered[0];
    byId("chat-hint").hidden = this.messages.length > 0;
    byId("say-label").textContent = call ? `Result of ${call.function.name}` : "Message";
    byId("send").disabled = this.abort !== null;
    byId("stop").disabled = this.abort === null;
  }
}

function text(tag, content) {
  const made = document.createElement(tag);
  made.textContent = content;
  return made;
}

/** Shows the fields that the server has ignored; null: none. */
function showIgnored(fields) {
  byId("ignored").textContent = fields === null ? "" : `The server ignored: ${fields}`;
  byId("ignored").hidden = fields === null;
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** A field's JSON; undefined if it is empty. */
function readJson(field, what, isFit) {
  const written = byId(field).value.trim();
  if (!written) return undefined;
  let value;
  try {
    value = JSON.parse(written);
  } catch (error) {
    throw Object.assign(new Error(`not JSON: ${error.message}`), { where: field });
  }
  if (isFit(value)) return value;
  throw Object.assign(new Error(`this must be ${what}`), { where: field });
}
