import { graderExample } from '../../../domain/graders/grader-definition.ts';

const id = 'eval_6b0d1f3e5a7c9b1d';
const item = { ticket: 'You took the fee two times.', output: 'Billing' };
const model = 'Qwen3-0.6B-support';
const tokens = { prompt_tokens: 21, completion_tokens: 2, cached_tokens: 0, total_tokens: 23 };

export const evalExample = {
  id,
  object: 'eval',
  created_at: 1_795_262_500,
  name: 'Labels',
  data_source_config: {
    type: 'custom',
    schema: {
      type: 'object',
      properties: {
        item: {
          type: 'object',
          properties: { ticket: { type: 'string' }, output: { type: 'string' } },
          required: ['ticket', 'output'],
        },
        sample: {
          type: 'object',
          properties: { output_text: { type: 'string' }, output_tools: { type: 'array' } },
        },
      },
      required: ['item', 'sample'],
    },
  },
  testing_criteria: [graderExample],
  metadata: null,
};

const messages = [
  { role: 'system', content: 'Name the department.' },
  { role: 'user', content: '{{item.ticket}}' },
];
export const runExample = {
  id: 'evalrun_8f1d3c5b7a9e0f2d',
  object: 'eval.run',
  created_at: 1_795_262_510,
  eval_id: id,
  name: 'tuned',
  status: 'completed',
  model,
  data_source: {
    type: 'completions',
    source: { type: 'file_content', content: [{ item }] },
    input_messages: { type: 'template', template: messages },
    model,
    sampling_params: { temperature: 0, max_completion_tokens: 16 },
  },
  metadata: null,
  error: null,
  report_url: `http://localhost:8000/v1/evals/${id}/runs/evalrun_8f1d3c5b7a9e0f2d/output_items`,
  result_counts: { total: 1, passed: 1, failed: 0, errored: 0 },
  per_testing_criteria_results: [{ testing_criteria: graderExample.name, passed: 1, failed: 0 }],
  per_model_usage: [{ model_name: model, invocation_count: 1, ...tokens }],
};

const outputItem = {
  id: 'outputitem_2c4e6a8b0d1f3e5a',
  object: 'eval.run.output_item',
  created_at: 1_795_262_512,
  eval_id: id,
  run_id: runExample.id,
  status: 'pass',
  datasource_item_id: 0,
  datasource_item: item,
  results: [
    {
      name: graderExample.name,
      type: graderExample.type,
      score: 1,
      passed: true,
      sample: null,
      error: null,
      explanation: "'Billing' equals 'Billing'",
    },
  ],
  sample: {
    input: [messages[0], { role: 'user', content: item.ticket }],
    output: [{ role: 'assistant', content: 'Billing' }],
    model,
    finish_reason: 'stop',
    usage: tokens,
    error: null,
    temperature: 0,
    top_p: 1,
    max_completion_tokens: 16,
    seed: null,
  },
};

const listOf = <T extends { readonly id: string }>(one: T) => ({
  object: 'list',
  data: [one],
  first_id: one.id,
  last_id: one.id,
  has_more: false,
});
const one = '/v1/evals/{eval_id}';
const runs = `${one}/runs`;
const run = `${runs}/{run_id}`;
const canceled = { ...runExample, status: 'canceled' };

/** An answer of each route of evals, for the OpenAPI document. */
export const evalExamples: Readonly<Record<string, unknown>> = {
  'POST /v1/evals': evalExample,
  'GET /v1/evals': listOf(evalExample),
  [`GET ${one}`]: evalExample,
  [`POST ${one}`]: { ...evalExample, name: 'Labels of tickets' },
  [`DELETE ${one}`]: { object: 'eval.deleted', deleted: true, eval_id: id },
  [`POST ${runs}`]: {
    ...runExample,
    status: 'queued',
    result_counts: { total: 1, passed: 0, failed: 0, errored: 0 },
    per_testing_criteria_results: [{ testing_criteria: graderExample.name, passed: 0, failed: 0 }],
    per_model_usage: [],
  },
  [`GET ${runs}`]: listOf(runExample),
  [`GET ${run}`]: runExample,
  [`POST ${run}`]: canceled,
  [`POST ${run}/cancel`]: canceled,
  [`DELETE ${run}`]: { object: 'eval.run.deleted', deleted: true, run_id: runExample.id },
  [`GET ${run}/output_items`]: listOf(outputItem),
  [`GET ${run}/output_items/{output_item_id}`]: outputItem,
};
