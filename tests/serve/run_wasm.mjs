// Runs requests through the WebAssembly build: a JSON list on stdin, a JSON list on stdout.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const load = (name) => import(pathToFileURL(`${folder}/${name}`));
const { Core } = await load("core.mjs");
const { run } = await load("run.mjs");
const core = new Core(await WebAssembly.compile(readFileSync(`${folder}/unspool.wasm`)));
const formats = JSON.parse(readFileSync(`${folder}/formats.json`, "utf8"));
const requests = JSON.parse(readFileSync(0, "utf8"));
const answers = requests.map((request) => {
  try {
    return run(core, formats, request);
  } catch (error) {
    return { error: error.message, where: error.where ?? null };
  }
});
process.stdout.write(JSON.stringify(answers));
