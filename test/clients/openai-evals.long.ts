/** A script of graders, reinforcement fine-tuning and evals with the current client of OpenAI for Python. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  root,
  startService,
  type TestService,
  temporaryFolder,
  tinyModel,
} from '../service.ts';
import { pythonWith } from './install.ts';

const folder = temporaryFolder();
const files = ['train.jsonl', 'valid.jsonl'].map((name) => join(folder, name));
const programMs = 600_000;

let service: TestService;
test.before(async () => {
  const rows = Array.from({ length: 16 }, (_, at) => ({
    messages: [{ role: 'user', content: `What is ${at} and ${at}?` }],
    answer: `${2 * at}`,
  }));
  for (const file of files) writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  service = await startService({ warm: true });
});
test.after(endAll);

test('OpenAI’s client for Python grades, trains by reinforcement and runs evals', async () => {
  const { stdout } = await promisify(execFile)(
    pythonWith('openai', ['openai==3.57.0']),
    [join(root, 'test', 'clients', 'programs', 'openai_evals.py'), tinyModel('qwen3', 'chatml'), ...files],
    {
      env: { ...process.env, OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'none' },
      timeout: programMs,
    },
  );
  const told: Json = JSON.parse(stdout.trim().split('\n').at(-1) as string);
  const { events, results, checkpoints, ...others } = told;
  assert.equal(others, {
    validated: 'multi',
    graded: [0.375, { right: 0, close: 0.75 }, false],
    refused: [
      [400, 'grader.operation', 'invalid_request_error'],
      [400, 'grader', 'invalid_request_error'],
    ],
    created: ['fine_tuning.job', true, 'reinforcement'],
    job: [true, 'succeeded', null, true],
    eval: ['eval', 'Answers', ['Answers']],
    updated: true,
    given: [
      'completed',
      [3, 1, 2, 0],
      [
        ['right', 1, 2],
        ['close', 2, 1],
      ],
      [
        ['pass', [true, true]],
        ['fail', [false, true]],
        ['fail', [false, false]],
      ],
      ['abcd', 'abce', 'xyz'],
    ],
    item: true,
    failed: [2, 1],
    completions: ['completed', true, 3, ['q0', 'q1', 'q2'], [true, true, true]],
    responses: ['completed', true, 3, ['q0', 'q1', 'q2'], [true, true, true]],
    runs: ['given', 'completions', 'responses'],
    cancel: 400,
    no_file: 'invalid_request_error',
    deleted: [true, true, true],
    gone: 404,
  });
  for (const message of [
    /^Base model: validation loss=.*, validation mean reward=\d/,
    /^Step 4\/4: training loss=.*, train mean reward=\d/,
    /^New fine-tuned model created: ft:qwen3-chatml:hone:rewarded:[0-9a-f]{8}$/,
    /^The job has successfully completed$/,
  ])
    assert.ok(
      events.some((one: string) => message.test(one)),
      `${message} in ${events.join('\n')}`,
    );
  assert.is(results.length, 5, results.join('\n'));
  assert.match(results[0], /^step,.*train_mean_reward,valid_mean_reward,/);
  assert.equal(
    checkpoints.map(([step]: [number]) => step),
    [4],
  );
  assert.type(checkpoints[0][1].train_mean_reward, 'number');
});

test.run();
