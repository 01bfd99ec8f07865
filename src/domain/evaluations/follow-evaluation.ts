import { lastLine } from '../../contract/log-text.ts';
import { type RowResult, readResults } from '../../trainer/evaluate.ts';
import { followTrainer, killTrainer, type Trainer } from '../../trainer/processes/supervisor.ts';
import type { Progress } from './evaluation.ts';

/** How the process of an evaluation ended. */
export type Outcome =
  | {
      readonly kind: 'completed';
      readonly figures: Readonly<Record<string, number | null>>;
      readonly results: RowResult[];
    }
  | { readonly kind: 'failed'; readonly error: string };

/** Who is told of an evaluation while it runs. */
export interface Listener {
  progress(progress: Progress): void;
  warning(message: string): void;
  badLine(line: string, reason: string): void;
}

/** How long a process that has told its outcome may take to end. */
const lingerMs = 5_000;

/**
 * Follows the process of an evaluation to its end.
 * @param signal stops following, but not the process.
 * @returns `null` if it was stopped.
 */
export async function followEvaluation(
  trainer: Trainer,
  options: { readonly folder: string; readonly heartbeatMs: number; readonly signal: AbortSignal },
  listener: Listener,
): Promise<Outcome | null> {
  const { folder: jobDir, heartbeatMs, signal } = options;
  let isStalled = false;
  const onBadLine = (line: string, reason: string) => listener.badLine(line.slice(0, 500), reason);
  for await (const event of followTrainer(trainer, { jobDir, offset: 0, heartbeatMs, signal, onBadLine })) {
    if (event.kind === 'stalled') {
      isStalled = true;
      void killTrainer(trainer, 0);
    } else if (event.kind === 'end') {
      if (isStalled) return { kind: 'failed', error: 'It gave no sign of life and was stopped.' };
      const { code, signal: killedBy } = event.exit;
      const how =
        killedBy === null
          ? `ended with exit code ${code}`
          : `was killed by ${killedBy}, possibly out of memory`;
      const last = lastLine(event.logTail);
      const quote = last ? ` The last line of its log: ${last}` : '';
      return { kind: 'failed', error: `Its process ${how}.${quote}` };
    } else {
      for (const line of event.lines) {
        if (line.type === 'phase')
          listener.progress({ phase: line.phase, share: line.progress, detail: line.detail });
        else if (line.type === 'warning') listener.warning(line.message);
        else if (line.type !== 'done' && line.type !== 'failed') continue;
        else {
          // The next one needs its memory.
          await killTrainer(trainer, lingerMs);
          if (line.type === 'failed')
            return { kind: 'failed', error: [line.message, line.advice].filter(Boolean).join(' ') };
          if (line.outcome !== 'completed') return null;
          return { kind: 'completed', figures: line.metrics, results: readResults(jobDir) };
        }
      }
    }
  }
  return null;
}
