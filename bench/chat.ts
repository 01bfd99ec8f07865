import { spawn } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { platformCacheDir } from '../src/config.ts';
import { serviceFile } from '../src/contract/access.ts';
import { packagedModel } from '../src/demo/packaged-model.ts';
import { storeModel } from '../test/stored-model.ts';
import { python, root } from './harness/places.ts';
import type { Scenario, Trial } from './harness/scenario.ts';
import { startServer } from './harness/server.ts';

/*
 * How long the first token of an answer takes from the moment its request reaches the service: until `hone chat` has
 * written it, and until a client of the HTTP API has read it. Both ask SmolLM2 135M through one relay, which notes when
 * the request came.
 */

const path = '/v1/chat/completions';
const chatTemplate =
  "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n";
/** About 300 tokens, another one in each trial: none of it is in the engine's memory. */
const promptOf = (number: number) =>
  `${number}. ${'My parcel has not come, and the box of the order before was broken when I looked at it. '.repeat(14)}`;

/** A service with the model, and the time at which the latest request for an answer reached it. */
async function startRelayed(dataDir: string) {
  const { path: folder, modelId } = storeModel(dataDir, 'smollm2', undefined, {
    context: 1024,
    chatTemplate,
  });
  const cacheDir = platformCacheDir(process.env, process.platform);
  copyFileSync(
    await packagedModel('smollm2', { pythonPath: python, cacheDir }),
    join(folder, 'model-F16.gguf'),
  );
  const args = [join(root, 'dist', 'main.js'), 'serve', '--host', '127.0.0.1', '--port', '0'];
  const service = await startServer({
    command: process.execPath,
    args,
    env: { SERVICE_DATA_DIR: dataDir },
  });
  let askedAt = 0;
  const relay = createServer((request, reply) => {
    const { method, url = '', headers } = request;
    if (url === path) askedAt = performance.now();
    const target = new URL(url, service.url);
    const passed = ask(target, { method, headers: { ...headers, host: target.host } }, (answer) => {
      reply.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(reply);
    });
    request.pipe(passed);
  });
  await new Promise<void>((done) => relay.listen(0, '127.0.0.1', done));
  const file = join(dataDir, serviceFile);
  const local = JSON.parse(readFileSync(file, 'utf8'));
  const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
  writeFileSync(file, JSON.stringify({ ...local, url }));
  return {
    modelId,
    url,
    sinceAsked: () => performance.now() - askedAt,
    async end() {
      relay.close();
      relay.closeAllConnections();
      await service.end();
    },
  };
}

type Relayed = Awaited<ReturnType<typeof startRelayed>>;

const limits = { temperature: 0, max_tokens: 8 };

/** Asks over HTTP. @returns the milliseconds until the first text. */
async function overHttp({ url, modelId, sinceAsked }: Relayed, content: string): Promise<number> {
  const body = { ...limits, model: modelId, stream: true, messages: [{ role: 'user', content }] };
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  let first = 0;
  let text = '';
  for await (const piece of answer.body as ReadableStream<Uint8Array>) {
    text += Buffer.from(piece).toString();
    if (first === 0 && /"content":"[^"]/.test(text)) first = sinceAsked();
  }
  if (first === 0) throw new Error(`the answer has no text: ${text.slice(0, 500)}`);
  return first;
}

/** Asks with the command. @returns the milliseconds until it has written the first text. */
function withCommand(dataDir: string, { modelId, sinceAsked }: Relayed, content: string): Promise<number> {
  const flags = ['--temperature', String(limits.temperature), '--max-tokens', String(limits.max_tokens)];
  const child = spawn(process.execPath, [join(root, 'setup.mjs'), 'chat', modelId, content, ...flags], {
    env: { ...process.env, SERVICE_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let first = 0;
  child.stdout.on('data', () => {
    first ||= sinceAsked();
  });
  return new Promise((resolve, reject) =>
    child.once('error', reject).once('close', (code) => {
      if (code === 0 && first > 0) resolve(first);
      else reject(new Error(`hone chat ended with the exit code ${code}`));
    }),
  );
}

async function trial(
  dataDir: string,
  number: number,
  measure: (relayed: Relayed, content: string) => Promise<number>,
): Promise<Trial> {
  const relayed = await startRelayed(dataDir);
  try {
    // The first answer loads the model.
    await overHttp(relayed, 'Hello');
    return { figures: { first: await measure(relayed, promptOf(number)) }, answer: null };
  } finally {
    await relayed.end();
  }
}

export const scenario: Scenario = {
  name: 'chat',
  about: 'the first token of an answer on a terminal',
  runs: { full: 7, quick: 3 },
  sides: [
    {
      name: 'hone',
      about: 'hone chat',
      trial: ({ dir, number }) => {
        const dataDir = join(dir, `command-${number}`);
        return trial(dataDir, number, (relayed, content) => withCommand(dataDir, relayed, content));
      },
    },
    {
      name: 'HTTP',
      about: 'the same request over HTTP',
      trial: ({ dir, number }) => trial(join(dir, `http-${number}`), number, overHttp),
    },
  ],
  comparisons: [
    {
      ...{ metric: 'first token after its request', figure: 'first', unit: 'ms', better: 'less' },
      ...{ peer: 'HTTP', goal: { share: 1.1 } },
    },
  ],
};
