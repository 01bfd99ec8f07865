import type { EvalRow } from '../fine-tuning/eval-files.ts';
import type { GradedRow, Score } from '../graders/graders.ts';
import type { PlaygroundAnswer } from '../playground/playground.ts';
import type { Asks } from './asks.ts';
import { type Criterion, resultOf } from './criteria.ts';
import { type EvalRun, nowSeconds, type OutputItem, type Sample } from './objects.ts';

/** A row of a run that waits for its score. */
export interface WaitingRow extends EvalRow {
  /** From 0. */
  readonly place: number;
}

/** A row with its answer. */
export interface Answered {
  readonly id: string;
  readonly row: WaitingRow;
  readonly sample: Sample;
  /** What graders get; `null` if there is no answer. */
  readonly graded: GradedRow['sample'] | null;
}

const noTokens = { prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0, total_tokens: 0 };

/** What is told of an answer before there is one. */
export const emptySample = (asks: Asks | null, input: Sample['input']): Sample => ({
  input,
  output: [],
  model: asks?.model ?? null,
  finish_reason: null,
  usage: noTokens,
  error: null,
  temperature: asks?.sampling.temperature ?? null,
  top_p: asks?.sampling.topP ?? null,
  max_completion_tokens: asks?.sampling.maxTokens ?? null,
  seed: asks?.sampling.seed ?? null,
});

/** The answer of a model. */
export function modelAnswer(
  asks: Asks,
  input: Sample['input'],
  answer: PlaygroundAnswer,
): Pick<Answered, 'sample' | 'graded'> {
  const { text, promptTokens, cachedTokens, generatedTokens, finishReason } = answer;
  const calls = answer.calls.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: { name, arguments: given },
  }));
  const isCall = calls.length > 0;
  return {
    sample: {
      ...emptySample(asks, input),
      output: [{ role: 'assistant', content: text, tool_calls: isCall ? calls : undefined }],
      finish_reason: isCall ? 'tool_calls' : finishReason,
      usage: {
        prompt_tokens: promptTokens,
        completion_tokens: generatedTokens,
        cached_tokens: cachedTokens,
        total_tokens: promptTokens + generatedTokens,
      },
    },
    graded: { output_text: text, output_tools: calls },
  };
}

/** The answer that a row has. */
export function givenAnswer({ sample: given }: EvalRow): Pick<Answered, 'sample' | 'graded'> {
  const text = given?.output_text ?? null;
  const output = text === null ? [] : [{ role: 'assistant', content: text }];
  return {
    sample: { ...emptySample(null, []), output },
    graded: { output_text: text ?? '', output_tools: given?.output_tools ?? [] },
  };
}

/** The item of a row. @param scores of its answer by the criteria, in their order; none without an answer. */
export function outputItemOf(
  run: EvalRun,
  { id, row, sample, graded }: Answered,
  criteria: readonly Criterion[],
  scores: readonly Score[],
): OutputItem {
  const results = scores.map((score, at) => resultOf(criteria[at] as Criterion, score));
  const isWrong = graded === null || scores.some(({ error }) => error !== null);
  return {
    id,
    object: 'eval.run.output_item',
    created_at: nowSeconds(),
    eval_id: run.eval_id,
    run_id: run.id,
    status: isWrong ? 'error' : results.every(({ passed }) => passed) ? 'pass' : 'fail',
    datasource_item_id: row.place,
    datasource_item: row.item,
    results,
    sample,
  };
}
