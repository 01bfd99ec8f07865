import { startBar } from '../../client/bar.ts';
import { failureOf, followRun } from '../../client/follow-run.ts';
import { type Client, Refusal } from '../../client/http-client.ts';
import { AppError } from '../../errors.ts';
import type { Command, Fields, Invocation, RequestSchema } from '../command.ts';
import { findModel } from '../find-model.ts';
import { located } from '../flags.ts';
import { note, print, printJson } from '../output.ts';
import { readSettingsFile, type SettingsFile } from '../settings-file.ts';

/** What rows are trained on unless a request says so. */
const usualTask = 'text-generation';

/** A training request as a settings file, each field with its description. */
async function asSettingsFile(request: Fields, { schema }: RequestSchema): Promise<string> {
  const { stringify } = await import('yaml');
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => request[name] !== undefined)
    .map(([name, { description }]) => `# ${description}\n${stringify({ [name]: request[name] })}`)
    .join('');
}

/** Tells a refusal with the line or flag of each field. */
function explained(refusal: unknown, { fields }: Invocation, file: SettingsFile | null): unknown {
  if (!(refusal instanceof Refusal) || refusal.issues.length === 0) return refusal;
  const lines = refusal.issues.map(({ loc, msg }) => {
    const path = loc[0] === 'body' ? loc.slice(1) : loc;
    const isFlag = fields[path[0] as string] !== undefined;
    const place = isFlag ? null : file?.placeOf(path);
    return place == null ? msg : `${place}: ${msg}`;
  });
  return new AppError('invalid', lines.join('\n'), { cause: refusal });
}

async function follow(client: Client, jobId: string, json: boolean): Promise<number> {
  const job = await followRun(client, jobId, startBar('Training', process.stderr));
  if (json) printJson(job);
  if (job.state !== 'completed') {
    note(`${jobId} is ${job.state}. ${failureOf(job)}`);
    return 1;
  }
  if (!json) {
    const { name } = await findModel(client, job.model_id);
    if (job.verdict !== null) print(job.verdict.judgement.sentence);
    print(`${jobId} is completed. Its model is ${name}: hone chat ${name}`);
  }
  return 0;
}

export const train: Command = {
  name: 'train',
  about:
    'Trains a model on rows: a file, or a stored dataset. Settings that are not given take the values that are recommended for this machine. A training goes on when the command or the service ends; without a running service, the command follows it.',
  operands: ['ROWS'],
  examples: [
    'hone train rows.jsonl --model Qwen/Qwen3-0.6B --follow',
    'hone train rows.jsonl --model Qwen/Qwen3-0.6B --num-train-epochs 2 --learning-rate 1e-4 --eval-split 0.1',
    'hone train rows.jsonl --model Qwen/Qwen3-0.6B --print-settings > settings.yaml',
    'hone train rows.jsonl --settings settings.yaml --json',
  ],
  given: ['dataset'],
  renamed: { model_name: 'model' },
  flags: {
    settings: {
      about: 'Fields of the request in YAML or JSON, by the names that the API has. Flags go before them.',
      value: 'FILE',
    },
    follow: { about: 'Show the progress, and wait for the end.' },
    'print-settings': { about: 'Print the whole request with every default, and train nothing.' },
  },
  async run(invocation) {
    const { operands, fields, own, request, json, connect } = invocation;
    const file = own.settings === undefined ? null : await readSettingsFile(own.settings, request.schema);
    const body: Fields = { task: usualTask, ...file?.values, ...fields };
    if (operands[0] !== undefined) body.dataset = operands[0];
    for (const name of request.paths) if (body[name] !== undefined) body[name] = located(body[name]);
    if (body.dataset === undefined || body.model_name === undefined)
      throw new AppError(
        'invalid',
        body.dataset === undefined
          ? 'Which rows? "hone train ROWS --model NAME", or "dataset" in the settings file.'
          : 'Which model? Name one with --model, such as --model Qwen/Qwen3-0.6B.',
      );
    const { client, isOurs } = await connect();
    try {
      if (own['print-settings'] !== undefined) {
        const { request: whole } = await client.post<{ request: Fields }>('/api/estimate', body);
        if (json) printJson(whole);
        else print((await asSettingsFile(whole, request)).trimEnd());
        return 0;
      }
      const started = await client.post<{ job_id: string; message: string }>(
        '/api/finetune/start_training',
        body,
      );
      note(`${started.job_id}: ${started.message}`);
      if (own.follow !== undefined || isOurs) return await follow(client, started.job_id, json);
      if (json) printJson(started);
      else print(started.job_id);
      return 0;
    } catch (error) {
      throw explained(error, invocation, file);
    }
  },
};
