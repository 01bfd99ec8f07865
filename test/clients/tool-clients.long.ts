/**
 * The clients' own examples of tools, unchanged, against a real small model that was trained to call such tools.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { realModel } from '../real/real-model.ts';
import {
  endAll,
  type Json,
  realModelMs,
  root,
  startService,
  type TestService,
  temporaryFolder,
  untilEnded,
} from '../service.ts';
import { nodeWith, pythonWith, trainerPython } from './install.ts';
import { toolRows } from './rows.ts';

const here = join(root, 'test', 'clients');
const start = promisify(execFile);
const base = join(temporaryFolder(), 'base');
const rowsOfEach = 16;
const programMs = 300_000;
const python = (name: string) => join(here, 'programs', `${name}.py`);
const smolagents = ['smolagents[openai]==1.26.0'];

let service: TestService;
/** What a client needs to know, as its documentation has it. */
let env: NodeJS.ProcessEnv;

test.before(async () => {
  const gguf = await realModel('smollm2');
  const more = { ...process.env, PYTHONPATH: root };
  await start(trainerPython, [join(here, 'tool_base.py'), gguf, base], { env: more });
  service = await startService({ env: { OMP_NUM_THREADS: '2' } });
  const agent = pythonWith('smolagents', smolagents);
  const { stdout: agentPrompt } = await start(agent, [python('smolagents_tools'), '--prompt']);
  await service.upload('calls.jsonl', toolRows(rowsOfEach, agentPrompt.trimEnd()));
  const started = await service.call('POST', '/api/start_training', {
    ...{ task: 'text-generation', model_name: base, dataset: 'calls.jsonl', seed: 1, num_train_epochs: 2 },
    ...{ learning_rate: 1e-3, per_device_train_batch_size: 4, gradient_accumulation_steps: 1 },
    ...{ max_seq_length: 2048, export: { quantizations: ['Q8_0'] } },
  });
  assert.is((await untilEnded(service, realModelMs)).status, 'completed', JSON.stringify(started.body));
  const job: Json = (await service.call('GET', `/api/jobs/${started.body.job_id}`)).body;
  env = {
    ...process.env,
    ...{ OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'none', MODEL: job.model_id },
    OPENAI_AGENTS_DISABLE_TRACING: '1',
  };
});
test.after(endAll);

/** A model as small as this one begins a text with a space now and then. */
const trimmed = (given: Json): Json =>
  Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, typeof value === 'string' ? value.trim() : value]),
  );

interface Example {
  readonly program: string;
  readonly packages: readonly string[];
  /** The arguments of the calls, in their order, and what the last answer says. */
  readonly calls: readonly Json[] | ((calls: Json[]) => boolean);
  readonly text?: RegExp;
}

const nodePackages = [
  'openai@6.49.0',
  '@openai/agents@0.20.0',
  'ai@6.0.326',
  '@ai-sdk/openai@3.0.141',
  'zod@4.4.3',
];
const examples: readonly Example[] = [
  {
    ...{ program: 'openai_guide.py', packages: ['openai==3.54.0'] },
    ...{ calls: [{ sign: 'Aquarius' }], text: /otter/ },
  },
  {
    ...{ program: 'agents_function.py', packages: ['openai-agents==0.24.0'] },
    ...{ calls: [{ city: 'Tokyo' }], text: /Tokyo is sunny/ },
  },
  {
    ...{ program: 'langchain_tools.py', packages: ['langchain-openai==1.7.4'] },
    calls: [
      { a: 3, b: 12 },
      { a: 11, b: 49 },
    ],
    text: /36.*60/,
  },
  {
    ...{ program: 'pydantic_output.py', packages: ['pydantic-ai-slim[openai]==2.68.0'] },
    // Where they were is more than so small a model knows.
    calls: ([place]) => Object.keys(place).join() === 'city,country',
  },
  {
    ...{ program: 'instructor_tools.py', packages: ['instructor==1.17.0'] },
    calls: [{ name: 'John Doe', age: 30 }],
  },
  {
    ...{ program: 'smolagents_tools.py', packages: smolagents },
    ...{ calls: [{ location: 'Paris' }], text: /torrential rains/ },
  },
  {
    ...{ program: 'openai-node.mjs', packages: nodePackages },
    ...{ calls: [{}, { location: 'Boston' }], text: /50/ },
  },
  {
    ...{ program: 'agents-node.mjs', packages: nodePackages },
    ...{ calls: [{ city: 'Tokyo' }], text: /sunny/ },
  },
  {
    ...{ program: 'vercel.mjs', packages: nodePackages },
    ...{ calls: [{ location: 'San Francisco' }], text: /72/ },
  },
];

for (const { program, packages, calls, text } of examples)
  test(`${program} with ${packages.join(', ')}`, async () => {
    const path = join(here, 'programs', program);
    const [command, file] = program.endsWith('.py')
      ? [pythonWith(program.split('_')[0] as string, packages), path]
      : [process.execPath, nodeWith(packages, path)];
    const { stdout } = await start(command, [file], { env, timeout: programMs });
    const told = JSON.parse(stdout.trim().split('\n').at(-1) as string);
    console.log(`${program}: ${JSON.stringify(told)}`);
    if (typeof calls === 'function') assert.ok(calls(told.calls));
    else assert.equal(told.calls.map(trimmed), calls);
    if (text !== undefined) assert.match(told.text, text);
  });

test.run();
