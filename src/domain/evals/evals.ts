import type { EvalPage } from '../../db/tables/evals.ts';
import { AppError } from '../../errors.ts';
import { refusal } from '../../faults.ts';
import { firstBroken } from '../../inference/schema/schema-errors.ts';
import type { Criterion } from './criteria.ts';
import { type Client, createEvalRuns, type EvalRuns, type EvalRunsOptions, missing } from './eval-runs.ts';
import { type Eval, newId, nowSeconds } from './objects.ts';

export type { EvalPage } from '../../db/tables/evals.ts';

/** A request for an eval. */
export interface NewEval {
  readonly name: string;
  readonly metadata: Eval['metadata'];
  readonly itemSchema: Readonly<Record<string, unknown>>;
  /** Whether criteria look at answers. */
  readonly includesSample: boolean;
  readonly criteria: readonly Criterion[];
}

/** OpenAI's evals, and their runs, which answer and score rows on this machine. Unknown IDs are `not_found`. */
export interface Evals {
  /** @throws AppError `invalid`, or `forbidden` for criteria that this client may not define. */
  create(request: NewEval, client: Client, signal: AbortSignal): Promise<Eval>;
  /** `null` if the item that a page is to follow is not in the list. */
  list(page: EvalPage & { readonly orderBy: 'created_at' | 'updated_at' }): Eval[] | null;
  get(id: string): Eval;
  update(id: string, change: Partial<Pick<Eval, 'name' | 'metadata'>>): Eval;
  /** Deletes an eval with its runs. */
  remove(id: string): Promise<void>;
  readonly runs: EvalRuns;
}

/** Graders in which more than their fields may be wrong, which a process finds out (trainer/grading/grade.py). */
const checkedTypes: ReadonlySet<string> = new Set([
  'multi',
  'python',
  'score_model',
  'label_model',
  'hone_json_schema',
  'hone_regex',
]);

const sampleSchema = {
  type: 'object',
  properties: { output_text: { type: 'string' }, output_tools: { type: 'array' } },
};

export interface EvalsOptions extends Omit<EvalRunsOptions, 'get'> {
  /** The most evals. */
  readonly limit: number;
}

export function createEvals(options: EvalsOptions): Evals {
  const { graders, limit } = options;
  const { evals } = options.store;

  function get(id: string): Eval {
    const found = evals.get(id) as Eval | null;
    if (found === null) throw missing('eval', id);
    return found;
  }
  const runs = createEvalRuns({ ...options, get });

  return {
    async create({ name, metadata, itemSchema, includesSample, criteria }, client, signal) {
      for (const one of criteria) graders.requireAllowed(one, client);
      if (evals.count() >= limit)
        throw new AppError('invalid', `There are ${limit} evals, and no more are kept: delete some of them.`);
      await firstBroken(itemSchema, []).catch((error) => {
        const msg = `is no JSON schema: ${error.message.slice(0, 300)}`;
        throw refusal([{ loc: ['body', 'data_source_config', 'item_schema'], msg, type: 'value_error' }]);
      });
      if (criteria.some(({ type }) => checkedTypes.has(type))) await graders.scoreAll(criteria, [], signal);
      const made: Eval = {
        id: newId('eval'),
        object: 'eval',
        created_at: nowSeconds(),
        name,
        data_source_config: {
          type: 'custom',
          schema: {
            type: 'object',
            properties: includesSample ? { item: itemSchema, sample: sampleSchema } : { item: itemSchema },
            required: includesSample ? ['item', 'sample'] : ['item'],
          },
        },
        testing_criteria: [...criteria],
        metadata,
      };
      evals.put(made, made.created_at);
      return made;
    },

    list: (page) =>
      page.after === null || evals.get(page.after) !== null ? (evals.list(page) as Eval[]) : null,
    get,

    update(id, change) {
      const changed = { ...get(id), ...change };
      evals.put(changed, nowSeconds());
      return changed;
    },

    async remove(id) {
      get(id);
      const underway = evals.runIds('in_progress', id);
      evals.remove(id);
      for (const one of underway) await runs.end(one);
    },

    runs,
  };
}
