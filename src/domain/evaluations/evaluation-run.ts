import { asAppError } from '../../errors.ts';
import { modelIn, startEvaluation } from '../../trainer/evaluate.ts';
import { isFromHub } from '../../trainer/merged-folder.ts';
import {
  downloadSecrets,
  killTrainer,
  type Trainer,
  type TrainerCommand,
} from '../../trainer/processes/supervisor.ts';
import type { EvaluationRecords } from './evaluation-records.ts';
import { followEvaluation, type Outcome } from './follow-evaluation.ts';

interface Run {
  readonly id: number;
  readonly held: readonly number[] | null;
  readonly trainer: Trainer;
  /** Why it is being ended, if it is. */
  ending: 'removed' | 'yields' | null;
  readonly over: Promise<void>;
}

export interface EvaluationRun {
  /** The one that runs. */
  current(): Run | null;
  /** Starts one on the devices `held`. */
  start(id: number, held: Run['held'], environment: NodeJS.ProcessEnv): Promise<void>;
  /** Ends the one that runs, and resolves when its end is stored. */
  stop(ending: NonNullable<Run['ending']>): Promise<void>;
  /** Puts the running one back into the queue, after `closing`. */
  close(): Promise<void>;
}

export interface EvaluationRunOptions {
  readonly command: TrainerCommand;
  readonly hub: { readonly token: string | null };
  readonly heartbeatMs: number;
  readonly logger: { warn(fields: object, text: string): void };
}

/** The process of the evaluation that runs. @param onEnd called when it has ended, or could not be started. */
export function createEvaluationRun(
  { command, hub, heartbeatMs, logger }: EvaluationRunOptions,
  records: EvaluationRecords,
  closing: AbortSignal,
  onEnd: () => void,
): EvaluationRun {
  let run: Run | null = null;

  async function start(id: number, held: Run['held'], environment: NodeJS.ProcessEnv): Promise<void> {
    const folder = records.folderOf(id);
    let trainer: Trainer;
    try {
      const secrets = isFromHub(modelIn(folder)) ? downloadSecrets(command, hub.token) : null;
      trainer = await startEvaluation(command, folder, secrets, environment);
    } catch (error) {
      const reason = (error as Error).message;
      const advice = 'Run "npm run doctor" to see what is missing.';
      await records.end(id, { kind: 'failed', error: `It could not be started: ${reason}. ${advice}` });
      onEnd();
      return;
    }
    const followed = { folder, heartbeatMs, signal: closing };
    const listener = {
      progress: records.progress.bind(null, id),
      warning: records.warning.bind(null, id),
      badLine: (line: string, reason: string) => logger.warn({ line, reason }, 'A journal line was skipped'),
    };
    const over = followEvaluation(trainer, followed, listener)
      .catch((error): Outcome => ({ kind: 'failed', error: asAppError(error).message }))
      .then((outcome) => finish(id, outcome));
    run = { id, held, trainer, ending: null, over };
    records.started(id);
  }

  /** Ends a run, and continues with the queue; `close` ends those that it stops. Never rejects. */
  async function finish(id: number, outcome: Outcome | null): Promise<void> {
    if (closing.aborted && outcome === null) return;
    const ending = run?.ending ?? null;
    if (ending === 'yields' && outcome?.kind !== 'completed') await records.requeue(id);
    else if (ending !== 'removed')
      await records.end(id, outcome ?? { kind: 'failed', error: 'It was stopped.' });
    run = null;
    onEnd();
  }

  return {
    current: () => run,
    start,

    async stop(ending) {
      if (run === null) return;
      const { trainer, over } = run;
      run.ending = ending;
      // There is nothing to save.
      await killTrainer(trainer, 0);
      await over;
    },

    async close() {
      if (run === null) return;
      await killTrainer(run.trainer, 0);
      await run.over;
      // Its end was not stored, because the service is closing.
      if (run !== null && run.ending !== 'removed') await records.requeue(run.id);
    },
  };
}
