import { setTimeout as sleep } from 'node:timers/promises';
import { fetchLocal, type LocalService, readLocalService } from '../client/local-service.ts';
import type { Config } from '../config.ts';
import { readInstance } from '../db/instance.ts';
import type { Move } from '../domain/moving/move.ts';
import { AppError } from '../errors.ts';
import { readSecret } from './read-secret.ts';

const usage = 'Use "hone import openai", with --list to list only.';
const path = '/api/move/openai';
/** How often the state of a move is read. */
const pollMs = 500;

/**
 * `hone import openai`: moves fine-tuning files and jobs, and evals, from OpenAI, through the running service.
 * @returns the exit code.
 * @throws AppError `invalid` for another command, `unavailable` without a running service.
 */
export async function runImport(config: Config): Promise<number> {
  const [source, ...rest] = config.operands;
  if (source !== 'openai' || rest.length > 0) throw new AppError('invalid', usage);
  const service = readLocalService(config.dataDir);
  if (service === null || service.pid !== readInstance(config.dataDir)?.pid) {
    throw new AppError(
      'unavailable',
      'Hone is not running. Start it with "npm start" in another terminal, then run this again.',
    );
  }
  const key = config.environment.OPENAI_API_KEY?.trim() || (await readSecret('OpenAI API key (not shown): '));
  if (key === '') throw new AppError('invalid', 'No API key: type it, pipe it in, or set OPENAI_API_KEY.');
  if (config.listOnly) {
    const listed = await call(service, 'POST', `${path}/list`, { api_key: key });
    tell(listed);
    return listed.error === null ? 0 : 1;
  }
  await call(service, 'POST', path, { api_key: key });
  let interrupted = false;
  process.once('SIGINT', () => {
    interrupted = true;
    void call(service, 'DELETE', path).catch(() => undefined);
  });
  const move = await follow(service);
  tell(move);
  return interrupted ? 130 : move.state === 'completed' ? 0 : 1;
}

/** Waits for the end of a move and shows its progress. */
async function follow(service: LocalService): Promise<Move> {
  let shown = '';
  for (;;) {
    const move = await call(service, 'GET', path);
    if (move.state !== 'listing' && move.state !== 'downloading') return move;
    const { files_done, files_total, bytes_done, bytes_total } = move.progress;
    const text =
      move.state === 'listing'
        ? 'listing jobs, files and evals …'
        : `${files_done} of ${files_total} files, ${megabytes(bytes_done)} of ${megabytes(bytes_total)}`;
    if (text !== shown) process.stderr.write(`hone: ${text}\n`);
    shown = text;
    await sleep(pollMs);
  }
}

async function call(
  service: LocalService,
  method: string,
  where: string,
  body?: Record<string, unknown>,
): Promise<Move> {
  const response = await fetchLocal(service, where, {
    method,
    headers: { 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  }).catch((cause) => {
    throw new AppError('unavailable', `The service at ${service.url} does not respond. Start it again.`, {
      cause,
    });
  });
  const answer = (await response.json()) as Move & { detail?: string };
  if (response.ok) return answer;
  throw new AppError('invalid', answer.detail ?? `The service answered ${response.status}.`);
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Prints files, jobs and what can be trained, and evals. */
function tell({ state, error, files, jobs, evals }: Move): void {
  const lines = files.map(({ id, filename, state: at, dataset, problem }) =>
    [
      `${filename || id}: `,
      at === 'stored' ? `dataset ${dataset}` : at === 'unavailable' ? 'not available' : 'not downloaded',
      problem === null || at === 'listed' ? '' : `. ${problem}`,
    ].join(''),
  );
  for (const job of jobs) {
    lines.push(
      '',
      `${job.id} (${[job.model, job.method, job.status].filter(Boolean).join(', ')})${job.fine_tuned_model === null ? '' : `: ${job.fine_tuned_model}`}`,
    );
    if (job.proposal === null) lines.push(`  ${job.problem}`);
    else {
      lines.push('  The equal training here, for the page or POST /api/start_training:');
      lines.push(
        `  ${JSON.stringify(job.proposal.request)}`,
        ...job.proposal.notes.map((note) => `  ${note}`),
      );
    }
  }
  if (evals.length > 0) lines.push('');
  for (const { id, name, state: at, runs, problem } of evals) {
    const where =
      at === 'stored'
        ? `in /v1/evals, with ${runs === 1 ? '1 run' : `${runs} runs`}`
        : at === 'listed'
          ? 'not downloaded'
          : 'not available';
    lines.push(`${name === '' ? id : `${id} (${name})`}: ${where}${problem === null ? '' : `. ${problem}`}`);
  }
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  if (error !== null) process.stderr.write(`hone: ${error.message}\n`);
  else
    process.stderr.write(
      `hone: ${state}, ${files.length} files, ${jobs.length} jobs and ${evals.length} evals.\n`,
    );
}
