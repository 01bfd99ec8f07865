import { join } from 'node:path';
import { createClient } from './client.ts';
import { type Options, readOptions } from './options.ts';
import { askAll, readQuestions } from './questions.ts';
import { startService } from './service.ts';
import { makeStarter } from './starter.ts';
import { renderTable } from './table.ts';
import { train } from './train.ts';

/** What the demo must reach: right answers of ten. */
const leastTuned = 8;
const mostBase = 2;

/** A small model made from nothing bears, and needs, a rate that a grown one would not survive. */
const starterSettings = { num_train_epochs: 6, per_device_train_batch_size: 8, learning_rate: 3e-3 };
const hubSettings = { num_train_epochs: 2, per_device_train_batch_size: 4, learning_rate: 5e-4 };

const commonSettings = {
  task: 'text-generation',
  strategy: 'sft',
  provider: 'standard',
  gradient_accumulation_steps: 1,
  max_seq_length: 256,
  lora_r: 16,
  lora_alpha: 32,
  lr_scheduler_type: 'cosine',
  warmup_ratio: 0.03,
  use_4bit: false,
  gradient_checkpointing: false,
  eval_split: 0,
  seed: 42,
  export: { quantizations: ['Q8_0'] },
};

/** Ends the service that the demo started, once there is one. */
let leave: () => Promise<void> = async () => undefined;

/** The main job, as a user of the API would do it. @returns the last line, without its head. */
async function demo(options: Options): Promise<{ ok: boolean; line: string }> {
  const model = options.model ?? (await makeStarter(options));
  const began = performance.now();
  const service = await startService(options);
  leave = service.leave;
  try {
    const client = createClient(service.url);
    const file = join(options.installDir, 'examples', 'support.jsonl');
    const dataset = await client.upload(file, 'hone-demo-support.jsonl');
    console.log(`Uploaded ${dataset.num_examples} messages of customers, each with its team and a reply`);
    const job = await train(client, {
      ...commonSettings,
      ...(options.model === null ? starterSettings : hubSettings),
      model_name: model,
      dataset: dataset.filename,
    });
    const answered = await askAll(client, job.model_id, readQuestions(options.installDir));
    console.log(`${renderTable(answered, process.stdout.columns || 100)}\n`);
    const { model_path: gguf } = await client.get<{ model_path: string }>(
      `/api/playground/model_path?model_id=${job.model_id}`,
    );
    const base = answered.filter((row) => row.base.right).length;
    const tuned = answered.filter((row) => row.tuned.right).length;
    const seconds = Math.round((performance.now() - began) / 1000);
    const count = answered.length;
    return {
      ok: tuned >= leastTuned && base <= mostBase,
      line: `base=${base}/${count} tuned=${tuned}/${count} model_id=${job.model_id} gguf=${gguf} seconds=${seconds}`,
    };
  } finally {
    await leave();
  }
}

async function main(): Promise<void> {
  const { ok, line } = await demo(readOptions(process.argv.slice(2), process.env));
  console.log(`demo: ${ok ? 'ok' : 'failed'} ${line}`);
  process.exitCode = ok ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void leave().then(() => {
      console.log(`\ndemo: failed (${signal}); a training that has begun goes on, \`npm run stop\` stops it`);
      process.exit(1);
    });
  });
}

main().catch((error) => {
  const [first, ...details] = (error as Error).message.split('\n');
  if (details.length > 0) console.log(details.join('\n'));
  console.log(`demo: failed ${first}`);
  process.exit(1);
});
