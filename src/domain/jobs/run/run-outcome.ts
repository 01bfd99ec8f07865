import { derivedExport } from '../../../contract/derived-export.ts';
import { type FailureCode, failures } from '../../../contract/failures.ts';
import type { JobState } from '../../../contract/jobs.ts';
import type { ExportOutcome, JournalLine } from '../../../contract/journal.ts';
import { lastLine } from '../../../contract/log-text.ts';
import type { JobChange } from '../../../db/tables/jobs.ts';
import type { ProcessExit } from '../../../trainer/processes/process.ts';
import type { JobSpec } from '../../../trainer/protocol.ts';
import type { Job } from '../../job-record/job.ts';
import type { Trained } from '../trained-file.ts';

/** The journal line with which a trainer reports its end. */
export type EndLine = Extract<JournalLine, { type: 'done' | 'failed' }>;

/** How a run ended. */
export type RunEnd =
  | { readonly kind: 'reported'; readonly line: EndLine; readonly logTail: string }
  /** The process is gone, and its journal has no end line. */
  | { readonly kind: 'unreported'; readonly exit: ProcessExit; readonly logTail: string }
  | { readonly kind: 'not_prepared' }
  | { readonly kind: 'not_started'; readonly reason: string }
  | { readonly kind: 'not_followed'; readonly reason: string };

/** What the service did to a run before it ended. */
export interface Intervention {
  readonly stopRequested: boolean;
  /** How long the trainer was silent before it was stopped; `null` if it was not stopped for this reason. */
  readonly stalledAfterMs: number | null;
}

/** What is stored about a run that ended: the job's state, and other columns. */
export interface RunOutcome {
  readonly state: Extract<JobState, 'completed' | 'stopped' | 'failed' | 'interrupted'>;
  readonly change: JobChange;
}

/** Determines the outcome of a run. */
export function outcomeOf(end: RunEnd, intervention: Intervention): RunOutcome {
  switch (end.kind) {
    case 'reported':
      return reported(end.line, end.logTail, intervention);
    case 'unreported':
      return unreported(end.exit, end.logTail, intervention);
    case 'not_prepared':
      return failed(
        'internal',
        'The service ended before this training could be prepared.',
        'Start it again.',
      );
    case 'not_started':
      return failed(
        'dependency_missing',
        `The trainer could not be started: ${end.reason}.`,
        'Run "npm run doctor" to see what is missing.',
      );
    case 'not_followed':
      return failed('internal', `The service lost track of the training: ${end.reason}.`);
  }
}

/**
 * The outcome of a run that took its last step: what failed or was killed afterwards was its export, which can be made
 * again from the model. One that was stopped stays so.
 */
export function keepTrained({ state, change }: RunOutcome, trained: Trained, job: Job): RunOutcome {
  if (state !== 'failed' && state !== 'interrupted') return { state, change };
  const { errorCode, errorMessage, errorAdvice, errorEvidence: _, ...exit } = change;
  const made = derivedExport(job.artifacts).files;
  const asked = (job.spec as Pick<JobSpec, 'export'> | null)?.export?.quantizations ?? [];
  const lost = asked.filter((type) => made.every(({ quantization }) => quantization !== type));
  const outcome: ExportOutcome = {
    state: 'failed',
    code: errorCode ?? 'internal',
    reason: errorMessage ?? failures.internal.message,
    advice:
      state === 'failed'
        ? (errorAdvice ?? null)
        : 'Export again; if memory ran out, close other programs first.',
    files: [
      ...made,
      ...lost.map((quantization) => ({
        quantization,
        state: 'failed' as const,
        reason: errorMessage ?? null,
      })),
    ],
  };
  return {
    state: 'completed',
    change: { ...exit, resultMetrics: trained.metrics, verification: null, export: outcome },
  };
}

function reported(
  line: EndLine,
  logTail: string,
  { stopRequested, stalledAfterMs }: Intervention,
): RunOutcome {
  if (line.type === 'failed') {
    const { state, change } = failed(line.code, line.message, line.advice);
    return {
      state,
      change: { ...change, errorEvidence: [line.evidence, logTail].filter(Boolean).join('\n') },
    };
  }
  if (line.outcome === 'completed') {
    const { metrics, verification, export: made } = line;
    return { state: 'completed', change: { resultMetrics: metrics, verification, export: made } };
  }
  if (stalledAfterMs !== null)
    return failed('stalled', 'The training gave no sign of life and was stopped.', failures.stalled.advice);
  if (stopRequested) return { state: 'stopped', change: {} };
  return interrupted(
    `The training was ended by a signal at step ${line.step}; its progress was saved.`,
    'Resume it to continue from there.',
  );
}

function unreported(
  exit: ProcessExit,
  logTail: string,
  { stopRequested, stalledAfterMs }: Intervention,
): RunOutcome {
  const last = lastLine(logTail);
  const quote = last ? ` The last line of its log: ${last}` : logTail === '' ? ' Its log is empty.' : '';
  const withExit = ({ state, change }: RunOutcome): RunOutcome => ({
    state,
    change: { ...change, exitCode: exit.code, exitSignal: exit.signal, errorEvidence: logTail || null },
  });
  if (stalledAfterMs !== null) {
    const seconds = Math.round(stalledAfterMs / 1000);
    return withExit(
      failed(
        'stalled',
        `The training gave no sign of life for ${seconds} s and was stopped.${quote}`,
        failures.stalled.advice,
      ),
    );
  }
  if (stopRequested) return withExit({ state: 'stopped', change: {} });
  if (exit.code !== null) {
    return withExit(
      failed(
        'internal',
        `The trainer ended with exit code ${exit.code} and no result.${quote}`,
        'See the log for the cause; resume to continue from the last checkpoint.',
      ),
    );
  }
  const how =
    exit.signal === null ? 'ended while the service was not running' : `was killed by ${exit.signal}`;
  const guess = exit.signal === 'SIGKILL' || exit.signal === null ? ', possibly out of memory' : '';
  return withExit(
    interrupted(
      `The trainer ${how}${guess}.${quote}`,
      'Resume it to continue from the last checkpoint; if memory ran out, set a smaller batch or max_seq_length.',
    ),
  );
}

const failed = (code: FailureCode, message: string, advice: string | null = null): RunOutcome => ({
  state: 'failed',
  change: { errorCode: code, errorMessage: message, errorAdvice: advice },
});

const interrupted = (message: string, advice: string): RunOutcome => ({
  state: 'interrupted',
  change: { errorCode: 'killed' satisfies FailureCode, errorMessage: message, errorAdvice: advice },
});
