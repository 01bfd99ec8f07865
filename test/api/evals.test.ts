/** OpenAI's evals with its official client. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI, { toFile } from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { storeModel } from '../stored-model.ts';

const dataDir = temporaryFolder();
let service: TestService;
let client: OpenAI;
test.before(async () => {
  storeModel(dataDir);
  await start();
});
test.after(endAll);

async function start(): Promise<void> {
  service = await startService({ dataDir });
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
}

/** Graders in Python are enclosed on Linux alone. */
const onLinux = process.platform === 'linux' ? test : test.skip;

type Criteria = OpenAI.EvalCreateParams['testing_criteria'];
type DataSource = OpenAI.Evals.RunCreateParams['data_source'];
const exact = {
  type: 'string_check',
  name: 'Is it right?',
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
  pass_threshold: 0.5,
} as const;
const item_schema = {
  type: 'object',
  properties: { question: { type: 'string' }, answer: { type: 'string' } },
  required: ['answer'],
};
const create = (testing_criteria: Criteria = [exact], schema: Record<string, unknown> = item_schema) =>
  client.evals.create({
    name: 'Answers',
    data_source_config: { type: 'custom', item_schema: schema, include_sample_schema: true },
    testing_criteria,
  });
const given = (
  content: { item: Record<string, unknown>; sample?: Record<string, unknown> }[],
): DataSource => ({
  type: 'jsonl',
  source: { type: 'file_content', content },
});
const answered = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    item: { answer: `${at}` },
    sample: { output_text: at % 2 ? `${at}` : `no ${at}` },
  }));
const asked = (count: number, more: object = {}): DataSource =>
  ({
    type: 'completions',
    source: {
      type: 'file_content',
      content: Array.from({ length: count }, (_, at) => ({ item: { question: `q${at}`, answer: 'x' } })),
    },
    model: 'tiny',
    input_messages: {
      type: 'template',
      template: [
        { role: 'developer', content: 'Say ' },
        { role: 'user', content: { type: 'input_text', text: '{{ item.question }}!' } },
      ],
    },
    sampling_params: { temperature: 0, seed: 7, top_p: 0.9, max_completion_tokens: 4 },
    ...more,
  }) as DataSource;
const ended = (eval_id: string, id: string) =>
  until(async () => {
    const run = await client.evals.runs.retrieve(id, { eval_id });
    return ['completed', 'failed', 'canceled'].includes(run.status) ? run : null;
  }, 'the run ended') as Promise<OpenAI.Evals.RunRetrieveResponse>;
async function refusal(work: Promise<unknown>) {
  const error = await work.then(
    () => null,
    (thrown) => thrown as InstanceType<typeof OpenAI.APIError>,
  );
  assert.instance(error, OpenAI.APIError);
  const { status, param, message } = error as InstanceType<typeof OpenAI.APIError>;
  return { status, param, message };
}

test('an eval is created, listed, changed and deleted', async () => {
  const made = await create([exact, alike]);
  assert.match(made.id, /^eval_[0-9a-f]{32}$/);
  assert.equal([made.object, made.name, made.metadata], ['eval', 'Answers', null]);
  assert.equal(JSON.parse(JSON.stringify(made.testing_criteria)), [exact, alike]);
  const { schema } = made.data_source_config as { schema: Record<string, Record<string, unknown>> };
  assert.equal(schema.properties?.item, item_schema);
  assert.equal(schema.required, ['item', 'sample']);
  assert.equal(await client.evals.retrieve(made.id), made);
  const changed = await client.evals.update(made.id, { name: 'Other', metadata: { team: 'a' } });
  assert.equal([changed.name, changed.metadata], ['Other', { team: 'a' }]);
  const others = [made.id, (await create()).id, (await create()).id];
  const listed: string[] = [];
  for await (const one of client.evals.list({ limit: 2 })) listed.push(one.id);
  assert.equal(listed, others);
  const first = await client.evals.list({ limit: 1, order: 'desc' });
  assert.equal([first.data[0]?.id, first.has_more], [others[2], true]);
  const last = await client.evals.list({ limit: 1, order: 'desc', after: `${others[1]}` });
  assert.equal([last.data[0]?.id, last.has_more], [others[0], false]);
  assert.is((await refusal(client.evals.list({ after: 'eval_no' }).then((page) => page))).param, 'after');
  for (const id of others) {
    assert.equal(
      { ...(await client.evals.delete(id)) },
      { object: 'eval.deleted', deleted: true, eval_id: id },
    );
  }
  assert.is((await refusal(client.evals.retrieve(made.id))).status, 404);
  assert.equal((await client.evals.list()).data, []);
});

test('there are at most so many evals and files, which is told', async () => {
  const small = await startService({ limits: { evals: 1, evalFiles: 1 } });
  const other = new OpenAI({ baseURL: `${small.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const config = { type: 'custom', item_schema } as const;
  const makeEval = () => other.evals.create({ data_source_config: config, testing_criteria: [exact] });
  const makeFile = async () =>
    other.files.create({
      file: await toFile(Buffer.from('{"item": {"answer": "x"}}\n'), 'rows.jsonl'),
      purpose: 'evals',
    });
  for (const [make, remove, words] of [
    [makeEval, (id: string) => other.evals.delete(id), /There are 1 evals/],
    [makeFile, (id: string) => other.files.delete(id), /There are 1 files/],
  ] as const) {
    const { id } = await make();
    const told = await refusal(make());
    assert.is(told.status, 400);
    assert.match(told.message, words);
    await remove(id);
    await make();
  }
  await small.end();
});

test('rows with answers are scored by each criterion', async () => {
  const { id: eval_id } = await create([exact, alike]);
  const made = await client.evals.runs.create(eval_id, {
    name: 'given',
    metadata: { from: 'test' },
    data_source: given([
      { item: { answer: 'abcd' }, sample: { output_text: 'abcd' } },
      { item: { answer: 'abcd' }, sample: { output_text: 'abce' } },
      { item: { answer: 'abcd' }, sample: { output_text: 'xyz' } },
    ]),
  });
  assert.match(made.id, /^evalrun_/);
  assert.equal([made.status, made.eval_id, made.model, made.error], ['queued', eval_id, null, null]);
  const run = await ended(eval_id, made.id);
  assert.is(run.status, 'completed', JSON.stringify(run.error));
  assert.equal({ ...run.result_counts }, { total: 3, passed: 1, failed: 2, errored: 0 });
  assert.equal(JSON.parse(JSON.stringify(run.per_testing_criteria_results)), [
    { testing_criteria: 'Is it right?', passed: 1, failed: 2 },
    { testing_criteria: 'alike', passed: 2, failed: 1 },
  ]);
  assert.equal([run.per_model_usage, run.metadata], [[], { from: 'test' }]);
  const report = await fetch(run.report_url);
  const { data } = (await report.json()) as { data: OpenAI.Evals.Runs.OutputItemListResponse[] };
  assert.equal(
    data.map(({ status, datasource_item_id, results }) => [
      status,
      datasource_item_id,
      ...results.map(({ name, score, passed }) => [name, score, passed]),
    ]),
    [
      ['pass', 0, ['Is it right?', 1, true], ['alike', 1, true]],
      ['fail', 1, ['Is it right?', 0, false], ['alike', 0.75, true]],
      ['fail', 2, ['Is it right?', 0, false], ['alike', 0, false]],
    ],
  );
  const [first] = data;
  assert.equal(first?.datasource_item, { answer: 'abcd' });
  assert.equal(first?.sample.output, [{ role: 'assistant', content: 'abcd' }]);
  const about = { eval_id, run_id: made.id };
  assert.equal(
    JSON.parse(JSON.stringify(await client.evals.runs.outputItems.retrieve(first?.id as string, about))),
    first,
  );
  assert.is((await refusal(client.evals.runs.outputItems.retrieve('outputitem_no', about))).status, 404);
});

test('a model is asked by the template with the parameters of sampling', async () => {
  const { id: eval_id } = await create();
  const made = await client.evals.runs.create(eval_id, { data_source: asked(3) });
  const run = await ended(eval_id, made.id);
  assert.is(run.status, 'completed', JSON.stringify(run.error));
  assert.equal({ ...run.result_counts }, { total: 3, passed: 0, failed: 3, errored: 0 });
  const [usage] = run.per_model_usage;
  assert.equal([usage?.model_name, usage?.invocation_count, usage?.completion_tokens], ['tiny', 3, 12]);
  const [item] = (await client.evals.runs.outputItems.list(made.id, { eval_id })).data;
  const sample = item?.sample as OpenAI.Evals.Runs.OutputItemListResponse['sample'];
  assert.equal(JSON.parse(JSON.stringify(sample.input)), [
    { role: 'system', content: 'Say ' },
    { role: 'user', content: 'q0!' },
  ]);
  assert.equal(
    [sample.model, sample.finish_reason, sample.temperature, sample.top_p, sample.seed],
    ['tiny', 'length', 0, 0.9, 7],
  );
  assert.equal([sample.max_completion_tokens, sample.usage.completion_tokens, sample.error], [4, 4, null]);
  const direct = await client.chat.completions.create({
    model: 'tiny',
    messages: [
      { role: 'system', content: 'Say ' },
      { role: 'user', content: 'q0!' },
    ],
    ...{ temperature: 0, seed: 7, top_p: 0.9, max_completion_tokens: 4 },
  });
  assert.is(sample.output[0]?.content, direct.choices[0]?.message.content);
});

test('the kind responses takes the messages of a row, a format, and a file of rows', async () => {
  const { id: eval_id } = await create([{ ...exact, operation: 'ne' }], {});
  const rows = [0, 1].map((at) =>
    JSON.stringify({ item: { talk: [{ role: 'user', content: `q${at}` }], answer: '' } }),
  );
  const file = await client.files.create({
    file: await toFile(Buffer.from(rows.join('\n')), 'rows.jsonl'),
    purpose: 'evals',
  });
  assert.equal([file.purpose, file.filename, file.status], ['evals', 'rows.jsonl', 'processed']);
  assert.is(await (await client.files.content(file.id)).text(), rows.join('\n'));
  const listed = await client.files.list({ purpose: 'evals' });
  assert.equal(
    listed.data.map(({ id }) => id),
    [file.id],
  );
  const data_source = {
    type: 'responses',
    source: { type: 'file_id', id: file.id },
    model: 'tiny',
    input_messages: { type: 'item_reference', item_reference: 'item.talk' },
    sampling_params: {
      max_completion_tokens: 40,
      text: { format: { type: 'json_schema', name: 'yes', schema: { type: 'boolean' } } },
    },
  } as const;
  const made = await client.evals.runs.create(eval_id, { data_source });
  // It has its own copy of the rows.
  await client.files.delete(file.id);
  const run = await ended(eval_id, made.id);
  assert.equal([run.status, run.result_counts.passed], ['completed', 2], JSON.stringify(run.error));
  for (const { sample } of (await client.evals.runs.outputItems.list(made.id, { eval_id })).data)
    assert.match(`${sample.output[0]?.content}`, /^(true|false)$/);
  const gone = await refusal(client.evals.runs.create(eval_id, { data_source }));
  assert.is(gone.status, 404);
});

test('runs and output items come in pages, by status', async () => {
  const { id: eval_id } = await create();
  const made = await client.evals.runs.create(eval_id, { data_source: given(answered(5)) });
  const other = await client.evals.runs.create(eval_id, { data_source: given(answered(2)) });
  await ended(eval_id, made.id);
  await ended(eval_id, other.id);
  const runs: string[] = [];
  for await (const one of client.evals.runs.list(eval_id, { limit: 1 })) runs.push(one.id);
  assert.equal(runs, [made.id, other.id]);
  assert.equal((await client.evals.runs.list(eval_id, { status: 'failed' })).data, []);
  const places = async (query: Omit<OpenAI.Evals.Runs.OutputItemListParams, 'eval_id'>) => {
    const found: number[] = [];
    for await (const one of client.evals.runs.outputItems.list(made.id, { eval_id, ...query }))
      found.push(one.datasource_item_id);
    return found;
  };
  assert.equal(await places({ limit: 2 }), [0, 1, 2, 3, 4]);
  assert.equal(await places({ limit: 2, order: 'desc' }), [4, 3, 2, 1, 0]);
  assert.equal(await places({ status: 'pass' }), [1, 3]);
  assert.equal(await places({ status: 'fail', limit: 1 }), [0, 2, 4]);
  const foreign = (await client.evals.runs.outputItems.list(other.id, { eval_id })).data[0]?.id;
  assert.is((await refusal(places({ after: foreign as string }))).param, 'after');
  assert.equal(
    { ...(await client.evals.runs.delete(made.id, { eval_id })) },
    {
      object: 'eval.run.deleted',
      deleted: true,
      run_id: made.id,
    },
  );
  assert.is((await refusal(places({}))).status, 404);
});

test('a run is canceled, and one that was interrupted goes on after a restart', async () => {
  const { id: eval_id } = await create();
  const many = { sampling_params: { max_completion_tokens: 60, temperature: 0 } };
  const first = await client.evals.runs.create(eval_id, { data_source: asked(400, many) });
  const second = await client.evals.runs.create(eval_id, { data_source: asked(400, many) });
  assert.is((await client.evals.runs.cancel(first.id, { eval_id })).status, 'canceled');
  assert.is((await refusal(client.evals.runs.cancel(first.id, { eval_id }))).status, 400);
  const cancel = `/v1/evals/${eval_id}/runs/${first.id}/cancel`;
  assert.is((await service.call('POST', cancel)).status, 400, 'newer clients ask there');
  const scored = async () => {
    const { result_counts: counts } = await client.evals.runs.retrieve(second.id, { eval_id });
    return counts.passed + counts.failed;
  };
  await until(async () => (await scored()) > 0, 'rows were scored');
  await service.end('SIGKILL');
  await start();
  const before = await scored();
  assert.ok(before > 0 && before < 400, `${before} rows were scored`);
  const run = await ended(eval_id, second.id);
  assert.equal([run.status, run.result_counts.failed], ['completed', 400]);
  assert.is(run.per_model_usage[0]?.invocation_count, 400);
  assert.is((await client.evals.runs.retrieve(first.id, { eval_id })).status, 'canceled');
  await client.evals.delete(eval_id);
});

test('what is wrong with an eval or a run is told in the format of OpenAI', async () => {
  const custom = { type: 'custom', item_schema } as const;
  const evals: [object, RegExp, RegExp?][] = [
    [
      { data_source_config: { type: 'logs' }, testing_criteria: [exact] },
      /^data_source_config\.type$/,
      /logs/,
    ],
    [
      { data_source_config: { type: 'stored_completions' }, testing_criteria: [exact] },
      /^data_source_config\.type$/,
      /stored_completions/,
    ],
    [
      { data_source_config: { ...custom, item_schema: { type: 'no' } }, testing_criteria: [exact] },
      /item_schema$/,
    ],
    [
      { data_source_config: custom, testing_criteria: [{ type: 'vibes', name: 'v' }] },
      /^testing_criteria\.0\.type$/,
    ],
    [
      { data_source_config: custom, testing_criteria: [{ ...exact, name: undefined }] },
      /^testing_criteria\.0\.name$/,
    ],
    [{ data_source_config: custom, testing_criteria: [exact, exact] }, /^testing_criteria$/],
    [
      { data_source_config: custom, testing_criteria: [{ ...alike, pass_threshold: undefined }] },
      /^testing_criteria\.0/,
    ],
    [
      {
        data_source_config: custom,
        testing_criteria: [exact, { type: 'hone_regex', name: 'r', pattern: '(' }],
      },
      /^testing_criteria\.1$/,
    ],
    [{ data_source_config: custom, testing_criteria: [exact], share: 1 }, /^share$/],
  ];
  for (const [body, param, message = /./] of evals) {
    const told = await refusal(client.evals.create(body as OpenAI.EvalCreateParams));
    assert.is(told.status, 400, JSON.stringify(body));
    assert.match(`${told.param}`, param);
    assert.match(told.message, message);
  }

  const { id: eval_id } = await create();
  const row = { item: { answer: 'x' } };
  const runs: [object, number, RegExp | null, RegExp?][] = [
    [given([row]), 400, /^data_source\.source\.content\.0$/, /no sample\.output_text/],
    [
      given([{ item: { answer: 1 }, sample: { output_text: 'x' } }]),
      400,
      /content\.0$/,
      /answer must be string/,
    ],
    [{ type: 'jsonl', source: { type: 'file_id', id: 'file-no' } }, 404, null],
    [given([{ item: { answer: 'x' }, sample: [] as never }]), 400, /sample/],
    [{ type: 'completions', source: { type: 'stored_completions' }, model: 'tiny' }, 400, /source\.type$/],
    [{ type: 'responses', source: { type: 'responses' }, model: 'tiny' }, 400, /source\.type$/],
    [asked(1, { model: 'gpt-4.1' }), 404, null],
    [asked(1, { input_messages: undefined }), 400, /input_messages$/],
    [
      asked(2, {
        input_messages: { type: 'template', template: [{ role: 'user', content: '{{item.no}}' }] },
      }),
      400,
      /content\.0$/,
      /the columns are question, answer/,
    ],
    [
      asked(1, { input_messages: { type: 'item_reference', item_reference: 'item.answer' } }),
      400,
      /content\.0$/,
    ],
    [asked(1, { sampling_params: { tools: [{ type: 'web_search' }] } }), 400, /tools\.0\.type$/],
    [asked(1, { sampling_params: { best_of: 2 } }), 400, /best_of$/],
  ];
  for (const [data_source, status, param, message = /./] of runs) {
    const told = await refusal(client.evals.runs.create(eval_id, { data_source: data_source as DataSource }));
    assert.is(told.status, status, `${JSON.stringify(data_source)} ${told.message}`);
    if (param !== null) assert.match(`${told.param}`, param);
    assert.match(told.message, message);
  }
  const other = await create([{ ...exact, reference: '{{item.no}}' }]);
  const unknown = await refusal(client.evals.runs.create(other.id, { data_source: given(answered(1)) }));
  assert.match(unknown.message, /names the column no/);
  const file = await toFile(Buffer.from('{"item": 1}\n'), 'rows.jsonl');
  const upload = await refusal(client.files.create({ file, purpose: 'evals' }));
  assert.equal([upload.status, upload.param], [400, 'file']);
  assert.match(upload.message, /Line 1: item/);
});

test('judges are asked, and what they took is counted by model', async () => {
  const judge = createServer((request, response) => {
    const content = JSON.stringify({ reasoning: 'it is short', result: 'good' });
    const usage = { prompt_tokens: 5, completion_tokens: 2 };
    if (request.url?.startsWith('/v1/models/')) response.statusCode = 404;
    response.end(
      JSON.stringify(
        request.method === 'GET'
          ? { data: [{ id: 'judge-1' }] }
          : { choices: [{ message: { content } }], usage },
      ),
    );
  });
  await new Promise<void>((resolve) => judge.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = judge.address() as AddressInfo;
    const label: Criteria[number] & { base_url: string } = {
      type: 'label_model',
      name: 'style',
      model: 'judge-1',
      base_url: `http://127.0.0.1:${port}/v1`,
      input: [{ role: 'user', content: 'Rate {{sample.output_text}}' }],
      labels: ['good', 'bad'],
      passing_labels: ['good'],
    };
    assert.match((await refusal(create([{ ...label, model: 'gpt-4.1' }]))).message, /has no model gpt-4\.1/);
    const { id: eval_id } = await create([label]);
    const made = await client.evals.runs.create(eval_id, { data_source: given(answered(3)) });
    const run = await ended(eval_id, made.id);
    assert.equal([run.status, run.result_counts.passed], ['completed', 3], JSON.stringify(run.error));
    assert.equal(JSON.parse(JSON.stringify(run.per_model_usage)), [
      {
        model_name: 'judge-1',
        invocation_count: 3,
        prompt_tokens: 15,
        completion_tokens: 6,
        cached_tokens: 0,
        total_tokens: 21,
      },
    ]);
  } finally {
    judge.close();
  }
});

onLinux('an answer that cannot be had, or scored, is the error of its row', async () => {
  const { id: eval_id } = await create([
    { ...exact, name: 'first' },
    { type: 'python', name: 'code', source: 'def grade(sample, item):\n    return 1 / len(item["answer"])' },
  ]);
  const long = { question: 'x'.repeat(4000), answer: 'x' };
  const content = [
    { item: { question: 'a', answer: '' } },
    { item: long },
    { item: { question: 'b', answer: 'x' } },
  ];
  const source = { type: 'file_content', content };
  const made = await client.evals.runs.create(eval_id, { data_source: asked(0, { source }) });
  const run = await ended(eval_id, made.id);
  assert.equal({ ...run.result_counts }, { total: 3, passed: 0, failed: 1, errored: 2 }, JSON.stringify(run));
  const [first, second, third] = (await client.evals.runs.outputItems.list(made.id, { eval_id })).data;
  assert.match(`${first?.results[1]?.error}`, 'division by zero');
  assert.equal([second?.status, second?.results], ['error', []]);
  assert.match(`${second?.sample.error.message}`, 'context');
  assert.equal([third?.status, third?.results.map(({ passed }) => passed)], ['fail', [false, true]]);
});

test.run();
