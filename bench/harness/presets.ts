import {
  type PresetName,
  presetSettings,
  usualValidationShare,
} from '../../src/contract/training/presets.ts';
import { heldOutRows } from '../../src/contract/training/steps.ts';
import { callApi } from './api.ts';
import { makeDates } from './dates.ts';
import type { MeasuredServer } from './server.ts';
import { upload } from './service.ts';

/** How many rows each preset is tried with. */
export const presetRows = [60, 400, 2_000] as const;
/** The form's `rowsAtOnce` on a processor. */
const rowsAtOnce = 8;
const pollMs = 500;

/** What a training with a preset came to, on the rows that it held out. */
export interface PresetTrial {
  readonly base: number;
  readonly tuned: number;
  readonly epochs: number;
  readonly rate: number;
  readonly seconds: number;
}

/** Trains `model` on dates as the form does with `preset` and all other defaults. @throws unless it completes. */
export async function tryPreset(
  server: Pick<MeasuredServer, 'url'>,
  model: string,
  preset: PresetName,
  rows: number,
): Promise<PresetTrial> {
  const dataset = `dates-${rows}.jsonl`;
  const lines = makeDates(rows).map(([input, output]) => JSON.stringify({ input, output }));
  await upload(server, dataset, lines.join('\n'));
  const request = { task: 'text-generation', strategy: 'sft', model_name: model, dataset };
  const share = usualValidationShare(rows);
  const held = heldOutRows(rows, share);
  const { parameters } = await callApi(server, 'POST', '/api/estimate', request);
  const settings = presetSettings(preset, {
    strategy: 'sft',
    rows: rows - held,
    heldOutRows: held,
    parameters,
    secondsPerRow: null,
    rowsAtOnce,
  });
  const begun = performance.now();
  const started = await callApi(server, 'POST', '/api/finetune/start_training', {
    ...request,
    ...settings,
    eval_split: share,
  });
  for (;;) {
    const job = await callApi(server, 'GET', `/api/jobs/${started.job_id}`);
    if (job.state === 'completed') {
      const { base, tuned } = job.verdict.loss;
      const { num_train_epochs: epochs, learning_rate: rate } = settings ?? {};
      return {
        base,
        tuned,
        epochs: epochs ?? 0,
        rate: rate ?? 0,
        seconds: (performance.now() - begun) / 1_000,
      };
    }
    if (job.ended_at !== null) throw new Error(`The training is ${job.state}: ${JSON.stringify(job.error)}`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** One line about a trial. */
export const presetLine = (
  preset: PresetName,
  rows: number,
  { base, tuned, epochs, rate, seconds }: PresetTrial,
) =>
  `${preset}, ${rows} rows: ${epochs} epochs at ${rate}, held-out loss ${base.toFixed(3)} to ${tuned.toFixed(3)}, ${Math.round(seconds)} s`;
