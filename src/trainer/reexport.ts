import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { type Phase, phaseNames } from '../contract/jobs.ts';
import { artifactKinds, type ExportOutcome, type LineOf, type Verification } from '../contract/journal.ts';
import type { ExportForm } from '../contract/models/export-forms.ts';
import { AppError } from '../errors.ts';
import { findByArgument, isAlive, signalGroup } from './processes/process.ts';
import { type TrainerCommand, trainerEnvironment } from './processes/supervisor.ts';
import { exportOutcome, verification } from './protocol.ts';

/** What an export is doing: the share of a phase, 0 to 1. */
export interface ExportStep {
  readonly phase: Phase;
  readonly progress: number | null;
  readonly detail: string | null;
}

/** What an export has made, with paths relative to the model's folder. */
export interface Exported {
  readonly export: ExportOutcome;
  readonly verification: Verification | null;
  readonly artifacts: readonly Pick<LineOf<'artifact'>, 'kind' | 'path' | 'bytes' | 'quantization'>[];
}

/** What the files are made of instead of the model's adapter as it is. */
export interface Choice {
  /** The folder that gets all that changes of the model's. */
  readonly into: string;
  readonly strength: number;
  /** The folder of a checkpoint with the adapter's weights, or `null`. */
  readonly checkpoint: string | null;
}

const stepLine = v.object({
  phase: v.picklist(phaseNames),
  progress: v.nullable(v.number()),
  detail: v.nullable(v.string()),
});
const artifactLine = v.object({
  artifact: v.object({
    kind: v.picklist(artifactKinds),
    path: v.string(),
    bytes: v.number(),
    quantization: v.nullable(v.string()),
  }),
});
const endLine = v.object({ export: exportOutcome, verification: v.nullable(verification) });
const failedLine = v.object({
  failed: v.looseObject({ code: v.string(), message: v.string(), advice: v.nullable(v.string()) }),
});
const anyLine = v.pipe(v.string(), v.parseJson(), v.union([stepLine, artifactLine, endLine, failedLine]));

/** After this, a cancelled process is killed. */
const cancelPatienceMs = 15_000;
/** The last lines of its standard error, where a crash leaves its reason. */
const keptErrorLines = 20;

/**
 * Makes GGUF files and other forms of a model from its adapter and the base model, in a process of its own. On failure or cancellation
 * the model's folder is as it was, as it is with a `choice`.
 * @param specPath a specification in the shape of a job's.
 * @throws AppError `invalid` with the trainer's reason, and in `details` its failure code and advice; or when `signal` is
 *   aborted.
 */
export async function reexport(
  command: TrainerCommand,
  options: {
    readonly specPath: string;
    readonly modelDir: string;
    readonly types: readonly string[];
    readonly forms: readonly ExportForm[];
    readonly choice: Choice | null;
    readonly signal: AbortSignal;
    readonly onStep: (step: ExportStep) => void;
  },
): Promise<Exported> {
  const { specPath, modelDir, types, forms, choice, signal, onStep } = options;
  const args = ['-m', 'trainer', 'reexport', specPath, modelDir, types.join(',')];
  args.push(...forms.map((form) => `--${form.replace('_', '-')}`));
  if (choice !== null) args.push('--into', choice.into, '--strength', `${choice.strength}`);
  if (choice?.checkpoint != null) args.push('--checkpoint', choice.checkpoint);
  const artifacts: Exported['artifacts'][number][] = [];
  let end: v.InferOutput<typeof endLine> | null = null;
  let failure: v.InferOutput<typeof failedLine>['failed'] | null = null;
  const errors: string[] = [];
  // In a group of its own, so that the programs that it runs can be killed with it.
  const child = spawn(command.pythonPath, args, {
    cwd: modelDir,
    env: trainerEnvironment(command, null),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    windowsHide: true,
  });
  let patience: NodeJS.Timeout | undefined;
  const cancel = () => {
    child.kill('SIGTERM');
    patience = setTimeout(() => kill(child.pid), cancelPatienceMs);
  };
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel, { once: true });
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = v.safeParse(anyLine, text);
    if (!line.success) return;
    if ('phase' in line.output) onStep(line.output);
    else if ('artifact' in line.output) artifacts.push(line.output.artifact);
    else if ('export' in line.output) end = line.output;
    else failure = line.output.failed;
  });
  createInterface({ input: child.stderr }).on('line', (text) => {
    errors.push(text);
    if (errors.length > keptErrorLines) errors.shift();
  });
  try {
    const [code, killedBy] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    if (signal.aborted) throw new AppError('invalid', 'The export was cancelled.');
    if (end !== null && code === 0) return { ...(end as v.InferOutput<typeof endLine>), artifacts };
    throw failureOf(failure, code, killedBy, errors);
  } finally {
    clearTimeout(patience);
    signal.removeEventListener('abort', cancel);
  }
}

function failureOf(
  told: v.InferOutput<typeof failedLine>['failed'] | null,
  code: number | null,
  killedBy: NodeJS.Signals | null,
  errors: readonly string[],
): AppError {
  if (told !== null) {
    return new AppError('invalid', told.message, { details: { code: told.code, advice: told.advice } });
  }
  const cause = errors.join('\n');
  if (killedBy !== null) {
    const guess = killedBy === 'SIGKILL' ? ', possibly because memory ran out' : '';
    const advice = 'Close other programs, or export fewer types at once.';
    const message = `The export was killed by ${killedBy}${guess}.`;
    return new AppError('invalid', message, { cause, details: { code: 'killed', advice } });
  }
  const last = errors.findLast((line) => line.trim() !== '');
  return new AppError(
    'invalid',
    `The export ended with exit code ${code} and no result.${last === undefined ? '' : ` Its last words: ${last}`}`,
    { cause, details: { code: 'internal', advice: 'Run "npm run doctor" to see what is missing.' } },
  );
}

/** Kills a process with those that it has started. */
function kill(pid: number | undefined): void {
  if (pid !== undefined) signalGroup(pid, 'SIGKILL');
}

/** Kills the process that a killed service left making files by the specification at `specPath`. */
export async function killReexport(specPath: string): Promise<void> {
  const found = await findByArgument(specPath);
  if (found !== null && (await isAlive(found))) kill(found.pid);
}
