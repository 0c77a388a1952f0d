// What JavaScript clients assemble: node run.mjs BASE_URL < tasks.jsonl > found.jsonl
//
// A task: {client, streamed, model, tools: [names], max_tokens?, n?, seed?, temperature?}. What was found, a line a task, in
// the same order: a list of answers {content, reasoning, calls: [[name, arguments]], finish}, or {error, status}.
// Arguments are text where the client shows the text, else an object. Vercel's clients run the tools: `ran` has
// the [name, input] of each. A task with `structured` asks for an object of a schema; its answer is {object}.
import { createInterface } from 'node:readline';
import Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { createAnthropic } from '@ai-sdk/anthropic';
import { GoogleGenAI } from '@google/genai';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, jsonSchema, streamObject, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';

globalThis.AI_SDK_LOG_WARNINGS = false;
const url = process.argv[2];
const apiKey = 'none';
const AT_ONCE = 8;

const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } });
const providers = {
  'ai compatible': createOpenAICompatible({ name: 'demo', baseURL: `${url}/v1`, apiKey }),
  'ai compatible structured': createOpenAICompatible({
    name: 'demo', baseURL: `${url}/v1`, apiKey, supportsStructuredOutputs: true,
  }),
  'ai openai chat': createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat,
  'ai openai responses': createOpenAI({ baseURL: `${url}/v1`, apiKey }).responses,
  'ai anthropic': createAnthropic({ baseURL: `${url}/v1`, apiKey }),
};

const question = [{ role: 'user', content: 'Hello' }];
const anyObject = { type: 'object', properties: {} };
const defined = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

async function openaiChat({ streamed, model, tools, max_tokens, n, seed, temperature }) {
  const offered = tools.map((name) => ({ type: 'function', function: { name, parameters: anyObject } }));
  const body = defined({
    model, messages: question, tools: offered.length ? offered : undefined, max_tokens, n, seed, temperature,
  });
  const reasoning = {};
  let completion;
  if (streamed) {
    const stream = openai.chat.completions.stream(body);
    for await (const { choices } of stream) {
      for (const { index, delta } of choices) {
        reasoning[index] = (reasoning[index] ?? '') + (delta.reasoning_content ?? '');
      }
    }
    completion = await stream.finalChatCompletion();
  } else {
    completion = await openai.chat.completions.create(body);
  }
  return completion.choices.map(({ index, message, finish_reason: finish }) => ({
    content: message.content ?? '',
    reasoning: streamed ? reasoning[index] ?? '' : message.reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map((call) => [call.function.name, call.function.arguments]),
    finish,
  }));
}

async function openaiResponses({ streamed, model, tools, max_tokens, seed }) {
  const offered = tools.map((name) => ({ type: 'function', name, parameters: anyObject, strict: false }));
  const body = defined({
    model, input: 'Hello', tools: offered.length ? offered : undefined, max_output_tokens: max_tokens, seed,
  });
  let response;
  if (streamed) {
    const stream = openai.responses.stream(body);
    for await (const _ of stream);
    response = await stream.finalResponse();
  } else {
    response = await openai.responses.create(body);
  }
  const answer = { content: response.output_text, reasoning: '', calls: [], finish: response.status };
  for (const item of response.output) {
    if (item.type === 'function_call') answer.calls.push([item.name, item.arguments]);
    if (item.type === 'reasoning') {
      answer.reasoning += [...item.summary, ...(item.content ?? [])].map(({ text }) => text).join('');
    }
  }
  return [answer];
}

async function anthropicMessages({ streamed, model, tools, max_tokens }) {
  const offered = tools.map((name) => ({ name, input_schema: anyObject }));
  const body = defined({
    model, messages: question, max_tokens: max_tokens ?? 4000, tools: offered.length ? offered : undefined,
  });
  const message = streamed
    ? await anthropic.messages.stream(body).finalMessage()
    : await anthropic.messages.create(body);
  const of = (type) => message.content.filter((block) => block.type === type);
  return [{
    content: of('text').map(({ text }) => text).join(''),
    reasoning: of('thinking').map(({ thinking }) => thinking).join(''),
    calls: of('tool_use').map(({ name, input }) => [name, input]),
    finish: message.stop_reason,
  }];
}

// A URL takes no name of a case: the demo takes it as the last message.
const googleBody = (model, config) => {
  const [name, ...rest] = model.split(':');
  return { model: name, contents: rest.join(':') || 'Hello', config: defined(config) };
};

async function googleContent({ streamed, model, tools, max_tokens, seed }) {
  const functionDeclarations = tools.map((name) => ({ name, parametersJsonSchema: anyObject }));
  const body = googleBody(model, {
    tools: tools.length ? [{ functionDeclarations }] : undefined, maxOutputTokens: max_tokens, seed,
  });
  const chunks = [];
  if (streamed) {
    for await (const chunk of await google.models.generateContentStream(body)) chunks.push(chunk);
  } else {
    chunks.push(await google.models.generateContent(body));
  }
  const parts = chunks.flatMap(({ candidates }) => candidates[0].content.parts);
  const text = (isThought) => parts.filter(({ thought }) => Boolean(thought) === isThought)
    .map((part) => part.text ?? '').join('');
  return [{
    content: text(false),
    reasoning: text(true),
    calls: parts.flatMap(({ functionCall: call }) => (call ? [[call.name, call.args]] : [])),
    finish: chunks.at(-1).candidates[0].finishReason,
  }];
}

// Its own loop of functions, in a chat or not; a forced call; the count and the models.
async function googleLoop({ client, streamed, model }) {
  const declaration = { name: 'get_weather', parametersJsonSchema: anyObject };
  const ran = [];
  const callable = {
    tool: async () => ({ functionDeclarations: [declaration] }),
    callTool: async (calls) => calls.map(({ id, name, args }) => {
      ran.push(args.city);
      return { functionResponse: { id, name, response: { result: args.city } } };
    }),
  };
  const config = { tools: [callable] };
  const chat = google.chats.create({ model, config });
  const body = { model, contents: 'Hi', config };
  const inChat = client === 'google chat';
  let text = '';
  if (streamed) {
    const stream = await (inChat
      ? chat.sendMessageStream({ message: 'Hi' }) : google.models.generateContentStream(body));
    for await (const chunk of stream) text += chunk.text ?? '';
  } else {
    ({ text } = await (inChat ? chat.sendMessage({ message: 'Hi' }) : google.models.generateContent(body)));
  }
  const forced = await google.models.generateContent({
    model, contents: 'Hi',
    config: {
      tools: [{ functionDeclarations: [declaration, { name: 'other' }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['get_weather'] } },
    },
  });
  const { totalTokens } = await google.models.countTokens({ model, contents: 'Hi' });
  const names = [];
  for await (const { name } of await google.models.list()) names.push(name);
  return {
    text, ran, names, totalTokens,
    forced: forced.functionCalls.map(({ name }) => name),
    isKept: JSON.stringify(chat.getHistory(true)) === JSON.stringify(chat.getHistory(false)),
  };
}

async function vercel({ client, streamed, model, tools, max_tokens, seed }) {
  const ran = [];
  const recorded = (name) => tool({
    inputSchema: jsonSchema(anyObject),
    execute: (input) => { ran.push([name, input]); return 'done'; },
  });
  const body = defined({
    model: providers[client](model),
    prompt: 'Hello',
    tools: Object.fromEntries(tools.map((name) => [name, recorded(name)])),
    maxOutputTokens: max_tokens,
    seed,
    maxRetries: 0,
  });
  if (!streamed) {
    const result = await generateText(body);
    return [{
      content: result.text,
      reasoning: result.reasoningText ?? '',
      calls: result.toolCalls.map(({ toolName, input }) => [toolName, input]),
      finish: result.finishReason,
      ran,
    }];
  }
  const answer = { content: '', reasoning: '', calls: [], finish: null, ran };
  const inputs = new Map();
  const whole = new Set();
  for await (const part of streamText({ ...body, onError: () => {} }).fullStream) {
    if (part.type === 'text-delta') answer.content += part.text;
    if (part.type === 'reasoning-delta') answer.reasoning += part.text;
    if (part.type === 'tool-input-start') inputs.set(part.id, [part.toolName, '']);
    if (part.type === 'tool-input-delta') inputs.get(part.id)[1] += part.delta;
    if (part.type === 'tool-call') {
      if (!inputs.has(part.toolCallId)) throw new Error(`a call of ${part.toolName} without its input's start`);
      if (whole.has(part.toolCallId)) throw new Error(`two calls with the id ${part.toolCallId}`);
      whole.add(part.toolCallId);
      // What is executed is what was shown piece by piece.
      const [, text] = inputs.get(part.toolCallId);
      if (!part.invalid && JSON.stringify(part.input) !== JSON.stringify(JSON.parse(text || '{}'))) {
        throw new Error(`${part.toolName} is called with ${JSON.stringify(part.input)}, not with ${text}`);
      }
    }
    if (part.type === 'finish') answer.finish = part.finishReason;
    if (part.type === 'error') throw part.error;
  }
  answer.calls = [...inputs.values()];
  return [answer];
}

const clients = {
  'openai chat': openaiChat,
  'openai responses': openaiResponses,
  'anthropic messages': anthropicMessages,
  'google generateContent': googleContent,
  'google chat': googleLoop,
  'google loop': googleLoop,
};

const weather = z.object({ city: z.enum(['Paris', 'Oslo']), days: z.number().int().min(1).max(9) });

const structured = {
  'openai chat': async ({ streamed, model }) => {
    const body = { model, messages: question, response_format: zodResponseFormat(weather, 'weather') };
    const completion = streamed
      ? await openai.chat.completions.stream(body).finalChatCompletion()
      : await openai.chat.completions.parse(body);
    return completion.choices[0].message.parsed;
  },
  'openai responses': async ({ streamed, model }) => {
    const body = { model, input: 'Hello', text: { format: zodTextFormat(weather, 'weather') } };
    const response = streamed
      ? await openai.responses.stream(body).finalResponse()
      : await openai.responses.parse(body);
    return response.output_parsed;
  },
  'anthropic messages': async ({ streamed, model }) => {
    const format = zodOutputFormat(weather);
    const body = { model, messages: question, max_tokens: 700, output_config: { format } };
    const message = streamed
      ? await anthropic.messages.stream(body).finalMessage()
      : await anthropic.messages.parse(body);
    return message.parsed_output;
  },
  'google generateContent': async ({ streamed, model }) => {
    const config = { responseMimeType: 'application/json', responseJsonSchema: z.toJSONSchema(weather) };
    const body = googleBody(model, config);
    let text = '';
    if (streamed) {
      for await (const chunk of await google.models.generateContentStream(body)) text += chunk.text ?? '';
    } else {
      ({ text } = await google.models.generateContent(body));
    }
    return JSON.parse(text);
  },
};

// Without `supportsStructuredOutputs` the compatible provider sends no schema: any object will do.
async function vercelObject({ client, streamed, model }) {
  const wanted = client === 'ai compatible' ? { output: 'no-schema' } : { schema: weather };
  const body = { model: providers[client](model), prompt: 'Hello', maxOutputTokens: 400, maxRetries: 0, ...wanted };
  if (!streamed) return (await generateObject(body)).object;
  const result = streamObject({ ...body, onError: () => {} });
  for await (const _ of result.partialObjectStream);
  return result.object;
}

async function run(task) {
  try {
    if (task.structured) return { object: await (structured[task.client] ?? vercelObject)(task) };
    return await (clients[task.client] ?? vercel)(task);
  } catch (error) {
    return { error: `${error?.message ?? JSON.stringify(error)}`, status: error?.status ?? error?.statusCode };
  }
}

const tasks = [];
for await (const line of createInterface({ input: process.stdin })) tasks.push(JSON.parse(line));
const found = new Array(tasks.length);
let next = 0;
await Promise.all(Array.from({ length: AT_ONCE }, async () => {
  while (next < tasks.length) {
    const index = next++;
    found[index] = await run(tasks[index]);
  }
}));
process.stdout.write(found.map((line) => `${JSON.stringify(line)}\n`).join(''));
