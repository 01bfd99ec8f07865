import { join } from 'node:path';
import { createClient } from '../client/http-client.ts';
import { startService } from '../client/start-service.ts';
import { type Options, readOptions } from './options.ts';
import { askAll } from './questions.ts';
import { findRealModel } from './real-model.ts';
import { settingsFor, settingsForDates } from './settings.ts';
import { makeStarter } from './starter.ts';
import { renderTable } from './table.ts';
import { datesTask, supportTask } from './task.ts';
import { train } from './train.ts';

/** The shares of correct answers that the demo must reach. */
const leastTuned = 0.8;
const mostBase = 0.2;

/** Ends the service if the demo started it. */
let leave: () => Promise<void> = async () => undefined;

/** Runs the demo as a user of the API would. @returns the text of the last line. */
async function demo(options: Options): Promise<{ ok: boolean; line: string }> {
  const task = options.real ? datesTask(options.installDir) : supportTask(options.installDir);
  const starter = options.real ? null : (options.model ?? (await makeStarter(options)));
  const began = performance.now();
  const logPath = join(options.cacheDir, 'demo-service.log');
  // The starter model is too small for a second thread to help, and two threads of torch are slow next to a busy process.
  const env = { ...(options.model === null ? { OMP_NUM_THREADS: '1' } : {}), ...process.env };
  const service = await startService({ ...options, logPath, env });
  console.log(
    service.logPath === null
      ? `Using the service at ${service.local.url}`
      : `Started the service at ${service.local.url}; its log is ${logPath}`,
  );
  leave = service.leave;
  try {
    const client = createClient(service.local);
    const model = starter ?? (await findRealModel(client, options));
    const file = join(options.installDir, 'examples', task.file);
    const dataset = await client.upload(file, `hone-demo-${task.file}`);
    console.log(`Uploaded ${dataset.num_examples} ${task.rows}`);
    const wanted = { task: 'text-generation', model_name: model, dataset: dataset.filename };
    const { parameters } = await client.post<{ parameters: number | null }>('/api/estimate', wanted);
    const settings = options.real ? settingsForDates : settingsFor(parameters);
    const job = await train(client, { ...wanted, ...settings });
    const answered = await askAll(client, job.model_id, task);
    console.log(`${renderTable(answered, process.stdout.columns || 100)}\n`);
    const { model_path: gguf } = await client.get<{ model_path: string }>(
      `/api/playground/model_path?model_id=${job.model_id}`,
    );
    const base = answered.filter((row) => row.base.right).length;
    const tuned = answered.filter((row) => row.tuned.right).length;
    const seconds = Math.round((performance.now() - began) / 1000);
    const count = answered.length;
    return {
      ok: tuned >= leastTuned * count && base <= mostBase * count,
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
      console.log(
        `\ndemo: failed (${signal}); a training that has started continues; \`npm run stop\` stops it`,
      );
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
