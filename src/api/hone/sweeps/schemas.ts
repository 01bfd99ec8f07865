import * as v from 'valibot';
import { jobStates } from '../../../contract/jobs.ts';
import { directions, sweepStates } from '../../../contract/sweeps.ts';

const value = v.union([v.number(), v.string(), v.boolean()]);
const parameters = v.record(v.string(), value);
const trial = v.object({
  /** From 1. */
  number: v.number(),
  /** null after the job was deleted. */
  job_id: v.nullable(v.string()),
  /** What people call its job; null after that was deleted. */
  display_name: v.nullable(v.string()),
  /** That of its job; `culled`: stopped because others were better at the same point. */
  state: v.picklist([...jobStates, 'culled', 'deleted']),
  parameters,
  /** The metric at its end; null unless it is completed. */
  value: v.nullable(v.number()),
  /** The metric in its latest evaluation. */
  last_value: v.nullable(v.number()),
  step: v.number(),
  total_steps: v.nullable(v.number()),
});
const summary = {
  sweep_id: v.string(),
  state: v.picklist(sweepStates),
  /** Why it failed. */
  error: v.nullable(v.string()),
  model_name: v.string(),
  dataset: v.string(),
  task: v.string(),
  metric: v.string(),
  direction: v.picklist(directions),
  culling: v.boolean(),
  /** How many trials are wanted. */
  trials: v.number(),
  started: v.number(),
  ended: v.number(),
  created_at: v.string(),
  ended_at: v.nullable(v.string()),
  best: v.nullable(trial),
};
export const sweepSummary = v.object(summary);
export const sweepList = v.object({ sweeps: v.array(sweepSummary) });
export const sweep = v.object({
  ...summary,
  /** The training request that the trials share. */
  request: v.looseObject({}),
  space: v.record(
    v.string(),
    v.union([
      v.object({ choices: v.array(value) }),
      v.object({ low: v.number(), high: v.number(), log: v.boolean() }),
    ]),
  ),
  seed: v.number(),
  trials_started: v.array(trial),
  /** The steps of all trials, and those that they would have without culling. */
  steps: v.object({ made: v.number(), planned: v.number() }),
  /**
   * The share of the variance in the ranks of the results that each setting explains alone, and their rank correlation;
   * with culling, of the first evaluations instead of the results. Empty for fewer than four.
   */
  importance: v.array(
    v.object({ field: v.string(), share: v.number(), correlation: v.nullable(v.number()) }),
  ),
  /** What `POST /api/start_training` takes to train the best parameters, with the export of `request`. */
  best_request: v.nullable(v.looseObject({})),
});
export type Sweep = v.InferInput<typeof sweep>;
