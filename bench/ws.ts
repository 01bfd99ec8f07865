import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { openStore } from '../src/db/store.ts';
import { compiled } from './harness/compiled.ts';
import { missingUws, onNode, onUws } from './harness/engines.ts';
import { programs, root } from './harness/places.ts';
import type { Scenario, Side, Size, Trial } from './harness/scenario.ts';
import { type MeasuredServer, startHone, startServer } from './harness/server.ts';

/*
 * Server CPU time per frame to 500 sockets, with twenty metrics per second. Hone reads them from a trainer's journal,
 * stores them and publishes them; frames of its hardware sampler, which go to the same sockets, count as well. The peer
 * reads the same lines from standard input and stores nothing. One socket checks that every metric arrives in order; a
 * C program holds the others.
 */

const socketCount = 500;
const intervalMs = 50;
const metrics: Record<Size, { warmUp: number; measured: number }> = {
  full: { warmUp: 60, measured: 160 },
  quick: { warmUp: 20, measured: 50 },
  test: { warmUp: 5, measured: 10 },
};

const lineOf = (seq: number, step: number) => ({
  ...{ seq, time: '2026-01-01T00:00:00.000Z', type: 'metric', step, total_steps: 1_000, epoch: step / 500 },
  ...{ total_epochs: 2, loss: Math.round(4e4 / (step + 10)) / 1e4, learning_rate: 0.0002, grad_norm: 1.25 },
  ...{ tokens: 1_536 * step, tokens_per_second: 512.5, elapsed_seconds: 3 * step, eta_seconds: 447 },
  ...{ memory_bytes: 734_003_200, extra: { mean_token_accuracy: 0.31 } },
});

/** The steps and losses received on one socket, in order. */
async function listenTo(
  url: string,
): Promise<{ heard: [number, number][]; until(step: number): Promise<void>; close(): void }> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws/training`);
  const heard: [number, number][] = [];
  let wake = () => {};
  socket.on('message', (data) => {
    const frame = JSON.parse(String(data));
    if (frame.type !== 'metrics') return;
    heard.push([frame.step, frame.loss]);
    wake();
  });
  await new Promise((done, fail) => socket.once('open', done).once('error', fail));
  return {
    heard,
    async until(step) {
      const deadline = AbortSignal.timeout(30_000);
      while (heard.at(-1)?.[0] !== step) {
        await new Promise<void>((done, fail) => {
          wake = done;
          deadline.addEventListener('abort', () =>
            fail(new Error(`The frame of step ${step} did not arrive`)),
          );
        });
      }
    },
    close: () => socket.terminate(),
  };
}

/** The program that holds all sockets but one. `count` returns the number of frames per socket since `begin`. */
async function holdSockets(
  server: MeasuredServer,
): Promise<{ begin(): Promise<void>; count(): Promise<number>; end(): void }> {
  const argv = [String(server.port), '/ws/training', String(socketCount - 1)];
  const child = spawn(compiled('listen'), argv, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error('The sockets were closed');
    return value as string;
  };
  const ask = async (question: string) => {
    child.stdin.write(`${question}\n`);
    return (await next()).split(' ').map(Number) as [sum: number, least: number, most: number];
  };
  /** Waits until no frame is in flight: then all sockets have received the same number. */
  const quiet = async () => {
    for (let before = -1; ; await sleep(intervalMs / 2)) {
      const told = await ask('');
      if (told[0] === before) return told;
      before = told[0];
    }
  };
  await next();
  return {
    async begin() {
      await quiet();
      await ask('begin');
    },
    async count() {
      const [, least, most] = await quiet();
      if (least !== most) throw new Error(`A socket got ${least} frames and another ${most}`);
      return least;
    },
    end: () => child.stdin.end(),
  };
}

async function publish(server: MeasuredServer, size: Size, tell: (line: string) => void): Promise<Trial> {
  const { warmUp, measured } = metrics[size];
  const listener = await listenTo(server.url);
  const others = await holdSockets(server);
  try {
    let seq = 2;
    const run = async (from: number, to: number) => {
      for (let step = from; step <= to; step += 1) {
        tell(`${JSON.stringify(lineOf(seq++, step))}\n`);
        await sleep(intervalMs);
      }
      await listener.until(to);
    };
    await run(1, warmUp);
    await others.begin();
    const before = server.cpuSeconds();
    await run(warmUp + 1, warmUp + measured);
    const used = server.cpuSeconds() - before;
    const frames = await others.count();
    return { figures: { frame: (used / frames) * 1e6 }, answer: listener.heard };
  } finally {
    others.end();
    listener.close();
  }
}

/** A data directory with a running job, and a process that the service recognizes as its trainer. */
function pretendTrainer(dataDir: string): { journal: string; trainer: ChildProcess } {
  const folder = join(dataDir, 'jobs', 'train_1');
  mkdirSync(folder, { recursive: true });
  const store = openStore(join(dataDir, 'database', 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const id = store.jobs.insert({
    ...{ modelId: 'bench', state: 'running', task: 'text-generation', provider: 'standard', strategy: 'sft' },
    ...{ modelName: 'acme/model', datasetName: 'rows.jsonl', createdAt: new Date().toISOString() },
  });
  store.jobs.update(id, { startedAt: new Date().toISOString(), phase: 'train' });
  store.close();
  // The service finds the trainer of an earlier service by its argument.
  const argv = ['-e', 'setInterval(() => {}, 1e6)', join(folder, 'spec.json')];
  return {
    journal: join(folder, 'journal.jsonl'),
    trainer: spawn(process.execPath, argv, { stdio: 'ignore', detached: true }),
  };
}

/** Our side, on one of its HTTP engines. */
const hone = (name: string, about: string, env: NodeJS.ProcessEnv, missing?: Side['missing']): Side => ({
  name,
  about,
  ...(missing === undefined ? {} : { missing }),
  trial: async ({ dir, size, number }) => {
    const dataDir = join(dir, `${name.replaceAll(/\W/g, '-')}-${number}`);
    mkdirSync(dataDir);
    const { journal, trainer } = pretendTrainer(dataDir);
    const server = await startHone(dataDir, { env });
    try {
      return await publish(server, size, (line) => appendFileSync(journal, line));
    } finally {
      await server.end();
      trainer.kill('SIGKILL');
    }
  },
});
const onNodeName = "hone on Node's http";
const row = {
  metric: 'a frame to 500 sockets',
  figure: 'frame',
  unit: 'µs',
  better: 'less',
  peer: 'ws',
} as const;

export const scenario: Scenario = {
  name: 'ws',
  about: `server CPU time per frame to ${socketCount} sockets`,
  runs: { full: 4, quick: 2 },
  warmUps: { full: 1, quick: 0 },
  sides: [
    hone('hone', 'from the line in the journal, through the database, to the sockets', onUws, missingUws),
    {
      name: 'ws',
      about: () =>
        `ws ${createRequire(import.meta.url)('ws/package.json').version} on node:http, without compression`,
      trial: async ({ size }) => {
        const command = {
          command: process.execPath,
          args: [join(programs, 'ws_server.mjs')],
          withInput: true,
        };
        const server = await startServer(command);
        try {
          return await publish(server, size, (line) => server.process.stdin?.write(line));
        } finally {
          await server.end();
        }
      },
    },
    hone(onNodeName, 'the same with `ws`, each frame encoded once for all sockets', onNode),
  ],
  comparisons: [
    { ...row, goal: { share: 0.5 } },
    { ...row, ours: onNodeName, metric: `${row.metric}, ${onNodeName}`, goal: { share: 1.1 } },
  ],
};
