// The core in WebAssembly: streams that take bytes and give JSON.

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const NOT_SUPPORTED = 52; // of WASI: no system call does anything here

export class Core {
  /** `module`: a compiled `WebAssembly.Module`. */
  constructor(module) {
    const imports = {};
    for (const { module: space, name } of WebAssembly.Module.imports(module)) {
      imports[space] ??= {};
      imports[space][name] = () => NOT_SUPPORTED;
    }
    this.exports = new WebAssembly.Instance(module, imports).exports;
    this.exports._initialize();
  }

  /** A new stream. Throws an error with the core's message. */
  begin(request) {
    const handle = this.call("unspool_begin", [], encoder.encode(JSON.stringify(request)));
    if (handle === 0) throw new Error(this.answer().error);
    return new Stream(this, handle);
  }

  call(name, values, bytes) {
    const place = this.exports.unspool_allocate(bytes.length || 1);
    new Uint8Array(this.exports.memory.buffer, place, bytes.length).set(bytes);
    const result = this.exports[name](...values, place, bytes.length);
    this.exports.unspool_release(place);
    return result;
  }

  answer() {
    const { memory, unspool_answer: begin, unspool_answer_size: size } = this.exports;
    return JSON.parse(decoder.decode(new Uint8Array(memory.buffer, begin(), size())));
  }
}

class Stream {
  constructor(core, handle) {
    this.core = core;
    this.handle = handle;
  }

  /** The step that the bytes make. */
  put(bytes) {
    return this.step("unspool_put", bytes);
  }

  /** The last step, with the `message`. */
  finish(reason) {
    return this.step("unspool_finish", encoder.encode(reason));
  }

  step(name, bytes) {
    const isDone = this.core.call(name, [this.handle], bytes);
    const answer = this.core.answer();
    if (!isDone) throw new Error(answer.error);
    return answer;
  }

  end() {
    this.core.exports.unspool_end(this.handle);
  }
}
