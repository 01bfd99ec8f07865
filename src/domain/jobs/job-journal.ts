import type { FrameType } from '../../contract/frames.ts';
import type { JobState } from '../../contract/jobs.ts';
import type { JournalLine } from '../../contract/journal.ts';
import type { JobChange } from '../../db/tables/jobs.ts';
import type { Emit } from '../events/frame-log.ts';
import { type Engine, engineWords } from '../job-record/engine.ts';
import { expectedEndOf, type Job, jobName, progressOf } from '../job-record/job.ts';
import { checkTransition } from '../job-record/job-states.ts';
import { advance } from '../job-record/timing/run-clock.ts';
import type { EndLine } from './run/run-outcome.ts';

/** The code of the trainer's warning that it will not make a GGUF although one was optional. */
const noGgufCode = 'no_gguf';

/** The changes from some journal lines, and the ending among them, if any. */
export interface Applied {
  readonly job: Job;
  readonly ending: EndLine | null;
}

/**
 * Applies journal lines to a job and emits a frame for each line that clients display.
 * @param takeTrace returns the hardware usage since the last step; `null` if nothing was sampled.
 * `done` and `failed` change nothing here, because a model may have to be moved into place first.
 */
export function applyLines(
  job: Job,
  lines: readonly JournalLine[],
  emit: Emit,
  takeTrace: () => Record<string, unknown> | null,
): Applied {
  let current = job;
  let ending: EndLine | null = null;
  const change = (fields: JobChange) => {
    current = { ...current, ...fields } as Job;
    current = { ...current, progress: progressOf(current) };
  };
  for (const line of lines) {
    if (current.clock !== null) current = { ...current, clock: advance(current.clock, line) };
    // It may be read long after it was written, if the service was not running.
    const tell = (type: FrameType, payload: Record<string, unknown>) =>
      emit(type, job.id, payload, line.time);
    switch (line.type) {
      case 'hello':
        if (current.state === 'starting') {
          checkTransition(current.state, 'running');
          change({ state: 'running' satisfies JobState });
        }
        tell('status', statusPayload(current));
        if (line.resumed_from_step !== null) {
          const { resumed_from_step: step } = line;
          tell('log', { level: 'info', kind: 'resume', step, message: `Resumed from step ${step}` });
        }
        break;
      case 'phase': {
        const entered = line.phase !== current.phase;
        change({ phase: line.phase, phaseProgress: line.progress, phaseDetail: line.detail });
        if (entered) tell('status', statusPayload(current));
        tell('progress', progressPayload(current));
        break;
      }
      case 'engine': {
        const engine: Engine = { name: line.name, nodes: line.nodes };
        change({ spec: { ...(current.spec as object), engine } });
        tell('log', {
          level: 'info',
          kind: 'engine',
          ...engine,
          message: `Training ${engineWords(engine)}`,
        });
        break;
      }
      case 'metric': {
        change({ lastMetric: line });
        const hardware = takeTrace();
        tell('metrics', {
          kind: 'train',
          ...withoutHead(line),
          progress: progressOf(current),
          expected_end: expectedEndOf(current),
          hardware: hardware ?? undefined,
        });
        break;
      }
      case 'eval':
        tell('metrics', { kind: 'eval', ...withoutHead(line) });
        break;
      case 'sample': {
        const { reference, file, scores, ...answer } = withoutHead(line);
        tell('log', {
          level: 'info',
          kind: 'sample',
          ...answer,
          reference: reference ?? undefined,
          file: file ?? undefined,
          scores: scores ?? undefined,
        });
        break;
      }
      case 'checkpoint':
        tell('log', {
          level: 'info',
          kind: 'checkpoint',
          ...withoutHead(line),
          message: `Checkpoint saved at step ${line.step}`,
        });
        break;
      case 'warning':
        // The record should show what is actually made.
        if (line.code === noGgufCode) change({ spec: { ...(current.spec as object), export: null } });
        tell('log', { level: 'warning', kind: 'warning', ...withoutHead(line) });
        break;
      case 'artifact': {
        const { kind, path, bytes, quantization } = line;
        const others = current.artifacts.filter((artifact) => artifact.path !== path);
        change({ artifacts: [...others, { kind, path, bytes, quantization }] });
        tell('export', withoutHead(line));
        break;
      }
      case 'done':
      case 'failed':
        ending = line;
        break;
    }
  }
  return { job: current, ending };
}

function withoutHead(line: JournalLine): Record<string, unknown> {
  const { seq: _seq, time: _time, type: _type, ...fields } = line;
  return fields;
}

/** The fields of a `status` frame. */
export function statusPayload(job: Job): Record<string, unknown> {
  return { state: job.state, ...progressPayload(job), discarded: job.discardRequested || undefined };
}

function progressPayload(job: Job): Record<string, unknown> {
  return {
    progress: progressOf(job),
    phase: job.phase,
    phase_progress: job.phaseProgress,
    detail: job.phaseDetail,
    expected_end: expectedEndOf(job),
    name: jobName(job.id),
  };
}
