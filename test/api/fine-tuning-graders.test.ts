/** OpenAI's graders and reinforcement jobs with its official client. */
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService } from '../service.ts';

let service: TestService;
let client: OpenAI;
test.before(async () => {
  service = await startService({ warm: true });
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
});
test.after(endAll);

type Grader = OpenAI.FineTuning.Alpha.GraderRunParams['grader'];
const exact = {
  type: 'string_check',
  name: 'exact',
  input: '{{sample.output_text}}',
  reference: '{{item.answer}}',
  operation: 'eq',
} as const;
const alike = {
  type: 'text_similarity',
  name: 'alike',
  input: '{{sample.output_text}}',
  reference: '{{item.answer}}',
  evaluation_metric: 'fuzzy_match',
} as const;
// The types of the client have one grader here, its reference several by their keys.
const both = {
  type: 'multi',
  name: 'both',
  graders: { exact, alike },
  calculate_output: '(exact + alike) / 2',
} as unknown as Extract<Grader, { type: 'multi' }>;

const run = (grader: Grader, model_sample: string, item: object = { answer: 'abcd' }) =>
  client.fineTuning.alpha.graders.run({ grader, model_sample, item });
const raised = (errors: object) =>
  Object.entries(errors).flatMap(([name, value]) => (value === true ? [name] : []));

test('a grader is validated and comes back', async () => {
  assert.equal({ ...(await client.fineTuning.alpha.graders.validate({ grader: both })).grader }, both);
});

test('an answer is scored, and a multi grader tells the scores of its parts', async () => {
  const {
    reward,
    metadata,
    sub_rewards,
    model_grader_token_usage_per_model: usage,
  } = await run(exact, 'abcd');
  assert.equal([reward, sub_rewards, usage], [1, {}, {}]);
  const { errors, execution_time, ...told } = metadata;
  assert.equal(told, {
    ...{ name: 'exact', type: 'string_check', scores: {}, token_usage: null, sampled_model_name: null },
  });
  assert.ok(execution_time > 0);
  assert.is(Object.keys(errors).length, 14);
  assert.equal(raised(errors), []);
  assert.is((await run(alike, 'abce')).reward, 0.75);
  const multi = await run(both, 'abce');
  assert.equal([multi.reward, multi.sub_rewards], [0.375, { exact: 0, alike: 0.75 }]);
});

test('what prevents a score is an error of its kind', async () => {
  const cases: [Grader, string, object][] = [
    [exact, 'invalid_variable_error', {}],
    [{ ...exact, input: '{{sample.output_json.a}}' }, 'sample_parse_error', { answer: 'x' }],
    [{ ...both, calculate_output: '1 / exact' }, 'formula_parse_error', { answer: 'x' }],
    [
      { type: 'python', name: 'code', source: 'def grade(sample, item):\n    return item["absent"]' },
      'python_grader_runtime_error',
      {},
    ],
  ];
  for (const [grader, kind, item] of cases) {
    const { reward, metadata } = await run(grader, 'no JSON', item);
    assert.equal([reward, raised(metadata.errors)], [0, [kind]]);
    const details = metadata.errors.python_grader_runtime_error_details;
    if (kind === 'python_grader_runtime_error') assert.match(`${details}`, 'absent');
    else assert.is(details, null);
  }
});

test('a wrong definition is refused in the format of OpenAI', async () => {
  const cases: [Grader, RegExp][] = [
    [{ ...exact, operation: 'equals' as 'eq' }, /^grader\.operation/],
    [{ ...both, calculate_output: 'exact + other' }, /^grader$/],
  ];
  for (const [grader, param] of cases) {
    const validate = () => client.fineTuning.alpha.graders.validate({ grader });
    for (const ask of [validate, () => run(grader, 'x')]) {
      const error = await ask().then(
        () => null,
        (thrown) => thrown as InstanceType<typeof OpenAI.APIError>,
      );
      assert.instance(error, OpenAI.BadRequestError);
      assert.match(`${error?.param}`, param);
      assert.is(error?.type, 'invalid_request_error');
    }
  }
});

test.run();
