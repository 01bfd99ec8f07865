/** OpenAI's graders and reinforcement jobs with its official client. */
import OpenAI, { toFile } from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, tinyModel, until } from '../service.ts';

let service: TestService;
let client: OpenAI;
test.before(async () => {
  service = await startService({ warm: true });
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
});
test.after(endAll);

/** Graders in Python are enclosed on Linux alone. */
const onLinux = process.platform === 'linux' ? test : test.skip;

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

onLinux('what prevents a score is an error of its kind', async () => {
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

onLinux('a reinforcement job trains on prompts with a grader, and is told as it was asked for', async () => {
  const rows = Array.from({ length: 10 }, (_, at) => ({
    messages: [
      { role: 'developer', content: 'Answer with a number.' },
      ...(at % 2
        ? [
            { role: 'user', content: 'Hello' },
            { role: 'assistant', content: 'Hello!' },
          ]
        : []),
      { role: 'user', content: `What is ${at} and ${at}?` },
    ],
    answer: `${2 * at}`,
  }));
  const content = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const upload = async (name: string) =>
    client.files.create({ file: await toFile(Buffer.from(content), name), purpose: 'fine-tune' });
  const [training, validation] = [await upload('train.jsonl'), await upload('valid.jsonl')];
  const kept = await (await client.files.content(training.id)).text();
  assert.equal(JSON.parse(kept.split('\n')[0] as string), {
    prompt: [
      { role: 'system', content: 'Answer with a number.' },
      { role: 'user', content: 'What is 0 and 0?' },
    ],
    answer: '0',
  });
  // Not every client may define it: this one is on this machine.
  const grader = {
    type: 'python',
    name: 'long',
    source: 'def grade(sample, item):\n    return len(sample["output_text"]) / 100 + len(item["answer"])',
  } as const;
  const response_format = {
    type: 'json_schema',
    json_schema: { name: 'few', schema: { type: 'array', items: { enum: [1, 22, 333] }, maxItems: 3 } },
  };
  const hyperparameters = { n_epochs: 0.2, batch_size: 1, learning_rate_multiplier: 2, eval_interval: 2 };
  const asked = {
    model: tinyModel('qwen3', 'chatml'),
    training_file: training.id,
    validation_file: validation.id,
  };
  const wrong = { ...grader, source: 'def grade(sample, item:' };
  const refused = await client.fineTuning.jobs
    .create({ ...asked, method: { type: 'reinforcement', reinforcement: { grader: wrong } } })
    .catch((error) => error);
  assert.equal([refused.status, refused.param], [400, 'method.reinforcement.grader'], `${refused}`);
  const formats: [object, string][] = [
    [{ type: 'json_object' }, 'type'],
    [
      { type: 'json_schema', json_schema: { name: 'no', schema: { type: 'array', items: { type: 'vec' } } } },
      'json_schema.schema.items.type',
    ],
  ];
  for (const [wrongFormat, place] of formats) {
    const reinforcement = { grader, response_format: wrongFormat };
    const told = await client.fineTuning.jobs
      .create({ ...asked, method: { type: 'reinforcement', reinforcement } })
      .catch((error) => error);
    assert.equal(
      [told.status, told.param],
      [400, `method.reinforcement.response_format.${place}`],
      `${told}`,
    );
  }
  const { id } = await client.fineTuning.jobs.create({
    ...asked,
    method: {
      type: 'reinforcement',
      reinforcement: {
        grader,
        hyperparameters: { ...hyperparameters, compute_multiplier: 1, reasoning_effort: 'default' },
        // The client does not know it, the guide does.
        ...{ response_format },
      },
    },
  });
  const ended = (await until(
    async () => {
      const job = await client.fineTuning.jobs.retrieve(id);
      return ['succeeded', 'failed', 'cancelled'].includes(job.status) ? job : null;
    },
    'the job ended',
    300_000,
  )) as OpenAI.FineTuning.FineTuningJob;
  assert.is(ended.status, 'succeeded', JSON.stringify(ended.error));
  const { type, reinforcement } = ended.method ?? {};
  assert.equal([type, { ...reinforcement?.grader }], ['reinforcement', grader]);
  assert.equal({ ...reinforcement?.hyperparameters }, hyperparameters);
  assert.equal((reinforcement as unknown as Record<string, unknown>).response_format, response_format);
  const events = (await client.fineTuning.jobs.listEvents(id, { limit: 100 })).data;
  const figures = /^Step 2\/2: training loss=-?\d\S*, train mean reward=\d/;
  assert.ok(events.some(({ message }) => figures.test(message)));
  assert.ok(events.some(({ message }) => /^Base model: .*validation mean reward=\d/.test(message)));
  const answers = events.filter(({ message }) => message.startsWith('Sample answer at step'));
  assert.ok(answers.length > 0);
  for (const { data } of answers)
    for (const one of JSON.parse((data as { text: string }).text)) assert.ok([1, 22, 333].includes(one));
  const of = (step: number, name: string) =>
    events
      .map(({ data }) => data as Record<string, number>)
      .find((data) => data.step === step && name in data)?.[name];
  const [header, , last = ''] = (
    await (await client.files.content(ended.result_files[0] as string)).text()
  ).split('\n');
  assert.is(
    header,
    'step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy,train_mean_reward,valid_mean_reward,full_valid_mean_reward,completion_tokens_mean',
  );
  // The grader gives a hundredth of the length, and that of the reference.
  const rewards = [
    'train_mean_reward',
    'valid_mean_reward',
    'full_valid_mean_reward',
    'completion_tokens_mean',
  ];
  assert.equal(
    last.split(',').slice(5).map(Number),
    rewards.map((name) => of(2, name)),
  );
  assert.ok((of(2, 'valid_mean_reward') ?? 0) >= 1);
  const [checkpoint] = (await client.fineTuning.jobs.checkpoints.list(id)).data;
  const { train_mean_reward } = { ...checkpoint?.metrics } as Record<string, number>;
  assert.is(train_mean_reward, of(2, 'train_mean_reward'));
});

test.run();
