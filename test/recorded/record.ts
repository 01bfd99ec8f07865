/*
 * Runs real trainings of many kinds, one after the other, on this machine:
 *   node --import tsx test/recorded/record.ts DIR [PART OF]
 * With PART and OF, only every so many base models, from PART on. `keep.ts` makes the fixture of them.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeInputs } from '../../bench/harness/inputs.ts';
import { platformCacheDir } from '../../src/config.ts';
import { realModel } from '../real/real-model.ts';
import { endAll, type Json, root, startService, type TestService, tinyModel } from '../service.ts';

type Request = Readonly<Record<string, unknown>>;

const folder = process.argv[2] as string;
const sampleMs = 100;
const samplesPerLook = 5;
const only = (...quantizations: string[]) => ({ export: { quantizations } });
const none = { export: 'none' };

/** A model of a shape with random weights, and rows for it. */
async function made(service: TestService, shape: string): Promise<Request> {
  const dir = join(folder, shape);
  if (!existsSync(dir)) {
    mkdirSync(dir, { recursive: true });
    await makeInputs('training_inputs.py', ['quick', shape], { dir, size: 'quick' });
  }
  await upload(service, `${shape}.jsonl`, join(dir, 'rows.jsonl'));
  return { model_name: join(dir, 'model'), dataset: `${shape}.jsonl` };
}

const upload = async (service: TestService, name: string, path: string) =>
  void (await service.upload(name, readFileSync(path)));

/** Requests by base model. The first of each is that model's first training on the machine. */
async function requests(service: TestService): Promise<Request[][]> {
  for (const name of ['dates', 'support', 'preferences', 'summarization', 'question-answering'])
    await upload(service, `${name}.jsonl`, join(root, 'examples', `${name}.jsonl`));
  const common = {
    task: 'text-generation',
    per_device_train_batch_size: 8,
    gradient_accumulation_steps: 1,
    max_seq_length: 512,
    device: 'cpu',
  };
  const of = (base: Request, changes: Request[]) =>
    changes.map((change) => ({ ...common, ...base, ...change }));
  const support = { dataset: 'support.jsonl', max_seq_length: 256 };
  const starter = join(platformCacheDir(process.env, process.platform), 'starter-68f50904b2b3');
  return [
    of({ ...support, model_name: starter, learning_rate: 3e-3 }, [
      { num_train_epochs: 4, eval_split: 0.1, ...only('Q8_0') },
      { num_train_epochs: 3, eval_split: 0.1, eval_steps: 40 },
      { num_train_epochs: 5, eval_split: 0.2, ...only('Q8_0', 'Q4_K_M') },
      { num_train_epochs: 10, eval_split: 0, ...none },
      { num_train_epochs: 4, eval_split: 0.1, dataset: 'dates.jsonl' },
      { num_train_epochs: 6, eval_split: 0.1, save_steps: 50 },
      { num_train_epochs: 3, per_device_train_batch_size: 2, eval_split: 0, ...only('F16') },
    ]),
    of(await made(service, 'input-output'), [
      { max_steps: 20, eval_split: 0, ...only('Q8_0') },
      {
        max_steps: 15,
        per_device_train_batch_size: 2,
        gradient_accumulation_steps: 4,
        eval_split: 0.1,
        eval_steps: 5,
      },
      { max_steps: 20, eval_split: 0.05, strategy: 'qlora', ...none },
      { max_steps: 30, eval_split: 0.05, eval_steps: 10, save_steps: 10, keep_best: true },
      { max_steps: 30, eval_split: 0.05, ...none },
      { max_steps: 15, eval_split: 0.05, strategy: 'qlora', ...only('F16', 'Q4_K_M') },
      { num_train_epochs: 1, eval_split: 0.1, lora_r: 64, lora_alpha: 64 },
    ]),
    of({ ...support, model_name: tinyModel('qwen3', 'chatml') }, [
      { num_train_epochs: 4, eval_split: 0.1 },
      { num_train_epochs: 6, eval_split: 0.1, strategy: 'dpo', dataset: 'preferences.jsonl' },
      { max_steps: 400, eval_split: 0.1, eval_steps: 100 },
      { num_train_epochs: 8, eval_split: 0, ...only('Q8_0', 'F16') },
      { max_steps: 40, strategy: 'rlhf', eval_split: 0.1, dataset: 'preferences.jsonl' },
      { max_steps: 600, eval_split: 0.1, eval_steps: 150, ...none },
    ]),
    of({ ...(await made(service, 'summary')), task: 'summarization' }, [
      { max_steps: 30, eval_split: 0.05 },
      { max_steps: 40, eval_split: 0 },
      { num_train_epochs: 2, eval_split: 0.1, dataset: 'summarization.jsonl' },
      { max_steps: 40, eval_split: 0.05, eval_steps: 15, per_device_train_batch_size: 4 },
      { max_steps: 60, eval_split: 0.1, dataset: 'summarization.jsonl' },
    ]),
    of({ ...(await made(service, 'question')), task: 'extractive-question-answering' }, [
      { max_steps: 30, eval_split: 0 },
      { max_steps: 40, eval_split: 0.1, eval_steps: 15, per_device_train_batch_size: 4 },
      { num_train_epochs: 2, eval_split: 0.1, dataset: 'question-answering.jsonl' },
      { max_steps: 40, eval_split: 0.2 },
      { num_train_epochs: 3, eval_split: 0.2, dataset: 'question-answering.jsonl' },
    ]),
    of(await made(service, 'messages'), [
      { max_steps: 15, eval_split: 0.05 },
      { max_steps: 15, eval_split: 0.05, packing: true },
      { max_steps: 20, eval_split: 0, golden_prompts: ['Hello', 'Who are you?', 'What now?'] },
      { max_steps: 20, eval_split: 0.05, ...only('Q8_0', 'Q5_K_M', 'Q4_K_M') },
      { max_steps: 15, eval_split: 0.05, gradient_checkpointing: true },
    ]),
    of({ ...(await made(service, 'preference')), strategy: 'dpo' }, [
      { max_steps: 8, eval_split: 0.05 },
      { max_steps: 16, eval_split: 0.05, per_device_train_batch_size: 4, ...only('Q8_0') },
      { max_steps: 12, eval_split: 0, ...none },
      { max_steps: 4, strategy: 'rlhf', eval_split: 0.05, ...none },
      { max_steps: 10, eval_split: 0.05, eval_steps: 5 },
    ]),
    of({ ...support, model_name: tinyModel('llama', 'chatml') }, [
      { num_train_epochs: 3, eval_split: 0.1, ...none },
      { num_train_epochs: 5, eval_split: 0.1, eval_steps: 50, ...only('Q8_0') },
      { num_train_epochs: 6, eval_split: 0.3, ...none },
      { num_train_epochs: 3, eval_split: 0, per_device_train_batch_size: 2, ...none },
      { num_train_epochs: 4, eval_split: 0.1, strategy: 'dpo', dataset: 'preferences.jsonl', ...none },
      { num_train_epochs: 6, eval_split: 0.1, ...only('Q8_0', 'Q4_K_M') },
    ]),
    of({ model_name: tinyModel('t5'), task: 'summarization', dataset: 'summarization.jsonl' }, [
      { num_train_epochs: 12, eval_split: 0.1 },
      { num_train_epochs: 20, eval_split: 0.1 },
      { num_train_epochs: 15, eval_split: 0.2, eval_steps: 30, save_steps: 30 },
      { num_train_epochs: 20, eval_split: 0 },
      { num_train_epochs: 12, eval_split: 0.3, per_device_train_batch_size: 4 },
      { max_steps: 300, eval_split: 0.1, eval_steps: 100 },
    ]),
    of({ ...support, model_name: await realModel('smollm2'), per_device_train_batch_size: 2 }, [
      { max_steps: 8, eval_split: 0.02, ...only('Q8_0') },
      { max_steps: 15, eval_split: 0, ...none },
      { max_steps: 12, eval_split: 0.02, dataset: 'dates.jsonl', ...none },
    ]),
    of({ ...support, model_name: tinyModel('llama', 'chatml'), eval_split: 0.1 }, [
      { num_train_epochs: 3, strategy: 'qlora', ...none },
      { max_steps: 30, strategy: 'rlhf', dataset: 'preferences.jsonl', ...none },
      { num_train_epochs: 4, strategy: 'qlora', eval_steps: 50, ...only('Q8_0') },
      { max_steps: 40, strategy: 'rlhf', dataset: 'preferences.jsonl', ...only('Q8_0') },
      { num_train_epochs: 5, strategy: 'qlora', ...none },
    ]),
  ];
}

/** Takes turns, so that load that others put on the machine meets all of them. */
function inTurn<T>(lists: readonly (readonly T[])[]): T[] {
  const most = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: most }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}

/**
 * How long the processes of a service's trainings have waited for a processor, in milliseconds: of each process its thread that
 * works most. The processes of a run wait for each other, so their times add up.
 */
function waiting(service: number): () => number {
  const waited = new Map<number, number>();
  const look = (pid: number) => {
    try {
      const threads = readdirSync(`/proc/${pid}/task`).map((thread) =>
        readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ').map(Number),
      );
      const [, wait] = threads.sort(([one = 0], [other = 0]) => other - one)[0] as number[];
      if (pid !== service) waited.set(pid, Math.max(waited.get(pid) ?? 0, (wait as number) / 1e6));
      for (const thread of readdirSync(`/proc/${pid}/task`))
        readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
          .split(' ')
          .filter(Boolean)
          .map(Number)
          .forEach(look);
    } catch {
      // It has ended.
    }
  };
  return () => {
    look(service);
    return [...waited.values()].reduce((sum, ms) => sum + ms, 0);
  };
}

const data = join(folder, 'data');
mkdirSync(data, { recursive: true });
const service = await startService({ dataDir: data, warm: true });
const waited = waiting(service.process.pid as number);
const [part, of] = process.argv.slice(3).map(Number);
const families = (await requests(service)).filter((_, at) => of === undefined || at % of === part);
for (const request of inTurn(families)) {
  // As the page does before a start.
  await service.call('GET', '/api/finetune/load_settings');
  const load = loadavg()[0];
  const { status, body } = await service.call('POST', '/api/finetune/start_training', request);
  if (status !== 200) throw new Error(JSON.stringify({ request, body }));
  const samples: [number, number][] = [];
  let job: Json = null;
  while (job === null || job.ended_at === null) {
    if (samples.length % samplesPerLook === 0)
      job = (await service.call('GET', `/api/jobs/${body.job_id}`)).body;
    samples.push([Date.now(), Math.round(waited())]);
    await sleep(sampleMs);
  }
  const seconds = (Date.parse(job.ended_at) - Date.parse(job.started_at)) / 1000;
  const said = {
    job: job.job_id,
    state: job.state,
    seconds,
    load,
    error: job.error?.message,
    waited: samples,
  };
  appendFileSync(join(folder, 'runs.jsonl'), `${JSON.stringify(said)}\n`);
  console.log(
    job.job_id,
    job.state,
    seconds,
    'waited',
    ((samples.at(-1)?.[1] ?? 0) - (samples[0]?.[1] ?? 0)) / 1000,
    job.error?.message ?? '',
  );
}
await endAll();
