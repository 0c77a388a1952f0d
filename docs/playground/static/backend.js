// The page's back end without a server: the core in WebAssembly, formats and examples as files.

import { Core } from "./core.js";
import { run } from "./run.js";

const load = async (name) => fetch(new URL(name, import.meta.url));
const json = async (name) => (await load(name)).json();

let core = null;
let formats = null;

/** Answers as the endpoints of a server do. */
export async function ask(path, body) {
  formats ??= json("formats.json");
  if (path === "formats") return { formats: await formats, has_chat: false, needs_key: false };
  if (path.startsWith("examples/")) return json(`${path}.json`);
  core ??= load("unspool.wasm")
    .then((response) => response.arrayBuffer())
    .then((bytes) => WebAssembly.compile(bytes))
    .then((module) => new Core(module));
  return run(await core, await formats, body);
}
