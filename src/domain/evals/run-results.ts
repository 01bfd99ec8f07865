import type { EvalRun, ModelUsage, OutputItem } from './objects.ts';

const counted = [
  'invocation_count',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'total_tokens',
] as const;

/** A run with further items, and the tokens that they and their judges took. */
export function withItems(
  run: EvalRun,
  items: readonly OutputItem[],
  judges: Readonly<Record<string, Readonly<Record<string, number>>>>,
): EvalRun {
  const count = (status: OutputItem['status']) => items.filter((item) => item.status === status).length;
  const { total, passed, failed, errored } = run.result_counts;
  const results = items.flatMap((item) => item.results);
  const taken: ModelUsage[] = [
    ...items.flatMap(({ sample: { model, usage } }) =>
      model === null ? [] : [{ model_name: model, invocation_count: 1, ...usage }],
    ),
    ...Object.entries(judges).map(
      ([model_name, { requests = 0, prompt_tokens = 0, completion_tokens = 0 }]) => ({
        model_name,
        invocation_count: requests,
        prompt_tokens,
        completion_tokens,
        cached_tokens: 0,
        total_tokens: prompt_tokens + completion_tokens,
      }),
    ),
  ];
  return {
    ...run,
    result_counts: {
      total,
      passed: passed + count('pass'),
      failed: failed + count('fail'),
      errored: errored + count('error'),
    },
    per_testing_criteria_results: run.per_testing_criteria_results.map((one) => {
      const own = results.filter(({ name }) => name === one.testing_criteria);
      const passing = own.filter((result) => result.passed).length;
      return { ...one, passed: one.passed + passing, failed: one.failed + own.length - passing };
    }),
    per_model_usage: summed([...run.per_model_usage, ...taken]),
  };
}

/** One entry for each model. */
function summed(usages: readonly ModelUsage[]): ModelUsage[] {
  const byModel = new Map<string, ModelUsage>();
  for (const one of usages) {
    const sum = { ...(byModel.get(one.model_name) ?? one) };
    if (byModel.has(one.model_name)) for (const name of counted) sum[name] += one[name];
    byModel.set(one.model_name, sum);
  }
  return [...byModel.values()];
}
