/** How a journal is followed that grows faster than it can be stored. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readJournal } from '../../src/trainer/journal.ts';
import { followTrainer } from '../../src/trainer/processes/supervisor.ts';
import { temporaryFolder } from '../folders.ts';

const steps = 5_000;
/** What a browser takes at once without falling behind. */
const mostLines = 1_000;

test('a long journal is read in small parts, with time for everything else in between', async () => {
  const jobDir = temporaryFolder();
  const unknown = { learning_rate: null, grad_norm: null, tokens_per_second: null, eta_seconds: null };
  const lines = Array.from({ length: steps }, (_, index) => ({
    ...{ seq: index, time: '2026-05-04T09:00:00.000Z', type: 'metric', step: index + 1, total_steps: steps },
    ...{ epoch: 1, total_epochs: 1, loss: 1, tokens: 1, elapsed_seconds: 1, memory_bytes: null, extra: {} },
    ...unknown,
  }));
  writeFileSync(join(jobDir, 'journal.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const stop = new AbortController();
  const events = followTrainer(null, {
    ...{ jobDir, offset: 0, heartbeatMs: 60_000, signal: stop.signal },
    onBadLine: (text, reason) => assert.unreachable(`${reason}: ${text}`),
  });
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const parts: { readonly lines: number; readonly turns: number }[] = [];
  for await (const event of events) {
    if (event.kind !== 'lines') continue;
    parts.push({ lines: event.lines.length, turns });
    if (parts.reduce((total, part) => total + part.lines, 0) === steps) stop.abort();
  }
  isOver = true;
  assert.ok(parts.length > 1);
  assert.ok(Math.max(...parts.map((part) => part.lines)) <= mostLines);
  for (const [index, part] of parts.entries()) {
    if (index > 0) assert.ok(part.turns > (parts[index - 1] as typeof part).turns, `before part ${index}`);
  }
});

test('a line that is longer than a part is read whole', () => {
  const path = join(temporaryFolder(), 'journal.jsonl');
  const message = 'x'.repeat(5_000);
  const line = { seq: 0, time: '2026-05-04T09:00:00.000Z', type: 'warning', code: 'long', message };
  writeFileSync(path, `${JSON.stringify(line)}\n`);
  const never = () => assert.unreachable();
  assert.equal(
    readJournal(path, 0, never, 1_000).lines.map(({ type }) => type),
    ['warning'],
  );
  writeFileSync(path, JSON.stringify(line));
  assert.equal(readJournal(path, 0, never, 1_000), { lines: [], offset: 0 }, 'it is still being written');
});

test.run();
