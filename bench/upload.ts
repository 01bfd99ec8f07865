import { createReadStream, mkdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { runMeasured } from './harness/measured.ts';
import { programs, python } from './harness/places.ts';
import type { Scenario, Size, Trial } from './harness/scenario.ts';
import { type MeasuredServer, startHone, startServer } from './harness/server.ts';

/*
 * An upload of almost 500 MiB, the maximum size, with every row checked: MB per second of server CPU time, and growth
 * of the server's memory. Hone parses the form, checks the rows, and writes and syncs the file. The peers: multer with
 * JSON.parse on every line, which writes nothing; and a Python program that reads the file's lines from disk with
 * `json`, without a server.
 */

const megabytes: Record<Size, number> = { full: 520, quick: 50, test: 2 };
const file = (dir: string) => join(dir, 'rows.jsonl');
const boundary = '----bench-boundary';
const rowCounts = new Map<string, number>();

/** Rows of about 700 bytes, as in a dataset of support answers; some have escapes, some non-ASCII letters. */
async function writeRows(path: string, bytes: number): Promise<number> {
  const words = 'the parcel has not come yet and I would like to know where it is now please'.split(' ');
  const out = await open(path, 'w');
  let rows = 0;
  let written = 0;
  while (written < bytes) {
    const lines: string[] = [];
    for (let count = 0; count < 500; count += 1, rows += 1) {
      const text = (length: number, shift: number) =>
        Array.from({ length }, (_, at) => words[(rows * shift + at * at) % words.length]).join(' ');
      const input = `${text(60, 7)}${rows % 5 === 0 ? ' – “straße”\n' : '.'}`;
      lines.push(JSON.stringify({ input, output: `order ${rows}: ${text(70, 11)}` }));
    }
    const { bytesWritten } = await out.write(`${lines.join('\n')}\n`);
    written += bytesWritten;
  }
  await out.close();
  return rows;
}

/** Sends the file like a browser, as one part of a form, and returns the response. */
function send(url: string, path: string): Promise<{ status: number; body: { num_examples: number } }> {
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="rows.jsonl"\r\nContent-Type: application/octet-stream\r\n\r\n`;
  const tail = `\r\n--${boundary}--\r\n`;
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/api/upload_dataset`, {
      method: 'POST',
      headers: {
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': head.length + statSync(path).size + tail.length,
      },
    });
    sent.once('error', reject);
    sent.once('response', async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) });
    });
    sent.write(head);
    const rows = createReadStream(path, { highWaterMark: 2 ** 18 });
    rows.once('error', reject);
    rows.once('end', () => sent.end(tail));
    rows.pipe(sent, { end: false });
  });
}

/** Uploads once, and measures the server's resource usage. */
async function upload(server: MeasuredServer, path: string, warmUp: string): Promise<Trial> {
  await send(server.url, warmUp);
  const { bytes } = server.memory();
  const before = server.cpuSeconds();
  const { status, body } = await send(server.url, path);
  if (status !== 200) throw new Error(`The upload returned ${status}: ${JSON.stringify(body)}`);
  const seconds = Math.max(server.cpuSeconds() - before, 0.01);
  const { peakBytes } = server.memory();
  return {
    figures: {
      rate: statSync(path).size / 1e6 / seconds,
      growth: Math.max(0, (peakBytes ?? 0) - bytes) / 1e6,
    },
    answer: body.num_examples,
  };
}

export const scenario: Scenario = {
  name: 'upload',
  about: 'the largest upload, every row checked',
  runs: { full: 3, quick: 3 },
  prepare: async ({ dir, size }) => {
    rowCounts.set(dir, await writeRows(file(dir), megabytes[size] * 1e6));
    await writeRows(`${file(dir)}.small`, 1e6);
  },
  sides: [
    {
      name: 'hone',
      about: 'form, rows and file in one stream',
      trial: async ({ dir, number }) => {
        const dataDir = join(dir, `data-${number}`);
        mkdirSync(dataDir);
        const server = await startHone(dataDir);
        try {
          const trial = await upload(server, file(dir), `${file(dir)}.small`);
          if (trial.answer !== rowCounts.get(dir)) throw new Error(`${trial.answer} rows were found`);
          return trial;
        } finally {
          await server.end();
          // Its page cache memory is reused by the next trial: in a virtual machine, untouched memory is expensive.
          rmSync(dataDir, { recursive: true });
        }
      },
    },
    {
      name: 'json',
      about: 'json.loads of CPython on every line of the file, without a server',
      trial: async ({ dir }) => {
        const { stdout, cpuSeconds, peakBytes } = await runMeasured(python, [
          join(programs, 'json_lines.py'),
          file(dir),
        ]);
        return {
          figures: { rate: statSync(file(dir)).size / 1e6 / cpuSeconds, growth: peakBytes / 1e6 },
          answer: Number(stdout),
        };
      },
    },
    {
      name: 'multer',
      about: () =>
        `multer ${createRequire(import.meta.url)('multer/package.json').version} on node:http, and JSON.parse on every line`,
      trial: async ({ dir }) => {
        const server = await startServer({
          command: process.execPath,
          args: [join(programs, 'multer_server.mjs')],
        });
        try {
          return await upload(server, file(dir), `${file(dir)}.small`);
        } finally {
          await server.end();
        }
      },
    },
  ],
  comparisons: [
    {
      metric: 'checked per CPU second',
      figure: 'rate',
      unit: 'MB',
      better: 'more',
      peer: 'json',
      goal: { times: 2 },
    },
    {
      metric: 'checked per CPU second',
      figure: 'rate',
      unit: 'MB',
      better: 'more',
      peer: 'multer',
      goal: { times: 2 },
    },
    {
      metric: 'checked per CPU second',
      figure: 'rate',
      unit: 'MB',
      better: 'more',
      peer: null,
      goal: { atLeast: 200 },
    },
    {
      metric: 'memory growth',
      figure: 'growth',
      unit: 'MB',
      better: 'less',
      peer: null,
      goal: { atMost: 100 },
    },
    { metric: 'memory growth', figure: 'growth', unit: 'MB', better: 'less', peer: 'multer', goal: null },
  ],
};
