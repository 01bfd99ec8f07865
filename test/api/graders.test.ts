/** Graders: stored, validated and tried on rows. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, tinyModel, until } from '../service.ts';

let service: TestService;
test.before(async () => {
  service = await startService();
});
test.after(endAll);

const route = '/api/graders';
const exact = {
  type: 'string_check',
  name: 'exact answer',
  input: '{{sample.output_text}}',
  reference: '{{item.output}}',
  operation: 'eq',
};
const refusedWith = async (body: unknown) => {
  const { status, body: told } = await service.call('POST', route, body);
  assert.is(status, 400, JSON.stringify(told));
  return told.detail as string;
};

test('a grader is stored, listed, replaced and deleted', async () => {
  const stored = await service.call('POST', route, exact);
  assert.is(stored.status, 200, JSON.stringify(stored.body));
  assert.equal(stored.body.grader, exact);
  assert.is((await service.call('POST', route, exact)).status, 409);
  const path = `${route}/${encodeURIComponent(exact.name)}`;
  const replaced = await service.call('PUT', path, { ...exact, operation: 'ilike' });
  assert.is(replaced.body.grader.operation, 'ilike');
  assert.is(replaced.body.created_at, stored.body.created_at);
  const renamed = await service.call('PUT', path, { ...exact, name: 'other' });
  assert.is(renamed.status, 400);
  assert.match(renamed.body.detail, 'name must be exact answer');
  await service.call('POST', route, { type: 'hone_length', name: 'brief', max: 20 });
  const { body } = await service.call('GET', route);
  assert.equal(
    body.graders.map(({ name, grader }: { name: string; grader: { type: string } }) => [name, grader.type]),
    [
      ['brief', 'hone_length'],
      ['exact answer', 'string_check'],
    ],
  );
  assert.equal((await service.call('GET', `${route}/brief`)).body.grader, {
    ...{ type: 'hone_length', name: 'brief', input: '{{sample.output_text}}' },
    ...{ unit: 'characters', max: 20 },
  });
  assert.is((await service.call('DELETE', `${route}/brief`)).status, 200);
  for (const method of ['GET', 'DELETE'] as const)
    assert.is((await service.call(method, `${route}/brief`)).status, 404);
  assert.is((await service.call('PUT', `${route}/brief`, { ...exact, name: 'brief' })).status, 404);
});

test('what is wrong with a definition is told', async () => {
  assert.match(await refusedWith({ ...exact, name: undefined }), 'name must be set');
  assert.match(await refusedWith({ ...exact, name: '../x' }), 'must have 1 to 64 letters');
  assert.match(await refusedWith({ ...exact, operation: 'equals' }), 'ilike');
  assert.match(await refusedWith({ ...exact, threshold: 1 }), 'threshold');
  assert.match(await refusedWith({ ...exact, input: '{{output}}' }), '{{output}} is no variable');
  assert.match(
    await refusedWith({ ...exact, input: '{{sample.text}}' }),
    'a sample has output_text, output_json, output_tools',
  );
  const similar = { ...exact, operation: undefined, type: 'text_similarity', evaluation_metric: 'bleu' };
  assert.match(await refusedWith({ ...similar, pass_threshold: 1.5 }), 'must be at most 1');
  assert.match(await refusedWith({ type: 'hone_length', name: 'l' }), 'min or max must be set');
  assert.match(await refusedWith({ type: 'hone_length', name: 'l', min: 3, max: 2 }), 'min must not be more');
  assert.match(
    await refusedWith({ type: 'hone_regex', name: 'r', pattern: '(' }),
    'is no regular expression',
  );
  assert.match(
    await refusedWith({ type: 'hone_json_schema', name: 's', schema: { type: 'no' } }),
    'is no JSON schema',
  );
  const multi = { type: 'multi', name: 'm', graders: { a: exact } };
  assert.match(
    await refusedWith({ ...multi, calculate_output: 'a + b' }),
    'names b, which is no grader of it',
  );
  assert.match(await refusedWith({ ...multi, calculate_output: 'a +' }), 'cannot be read');
  const nested = { ...multi, calculate_output: 'a' };
  await refusedWith({ ...nested, graders: { a: nested } });
  const judge = { type: 'label_model', name: 'j', model: 'm', input: [{ role: 'user', content: '?' }] };
  assert.match(
    await refusedWith({ ...judge, labels: ['good', 'bad'], passing_labels: ['fine'] }),
    'passing_labels must be some of labels',
  );
  assert.match(
    await refusedWith({ ...judge, type: 'score_model', range: [1, 0] }),
    'must have the smaller number first',
  );
});

test('rows are scored, each explained', async () => {
  const { body } = await service.call('POST', `${route}/test`, {
    grader: exact,
    rows: [
      { item: { output: '42' }, answer: '42' },
      { item: { output: '42' }, answer: '43' },
    ],
  });
  assert.equal(
    body.results.map(({ value, error, explanation }: Record<string, unknown>) => [value, error, explanation]),
    [
      [1, null, "'42' equals '42'"],
      [0, null, "'43' differs from '42'"],
    ],
  );
  assert.is(body.mean, 0.5);
  const stored = await service.call('POST', `${route}/test`, {
    grader: exact.name,
    rows: [{ item: { output: 'a' }, answer: 'b' }],
  });
  assert.is(stored.status, 200);
  const calls = await service.call('POST', `${route}/test`, {
    grader: { ...exact, input: '{{sample.output_tools[0].function.name}}' },
    rows: [{ item: { output: 'add' }, tool_calls: [{ function: { name: 'add', arguments: '{}' } }] }],
  });
  assert.is(calls.body.mean, 1);
});

test('a row that cannot be scored has its reason, and the others have scores', async () => {
  const formula = {
    type: 'multi',
    graders: { a: { ...exact, name: 'a' } },
    calculate_output: '1 / a',
  };
  const { body } = await service.call('POST', `${route}/test`, {
    grader: formula,
    rows: [
      { item: { output: '1' }, answer: '1' },
      { item: { output: '1' }, answer: '2' },
    ],
  });
  assert.equal([body.mean, body.errors], [0.5, 1]);
  assert.match(body.results[1].error, "The formula '1 / a' has no value with a = 0");
});

test('a column that is not there is told with its row before anything is scored', async () => {
  const { status, body } = await service.call('POST', `${route}/test`, {
    grader: exact,
    rows: [
      { item: { output: '1' }, answer: '1' },
      { item: { label: '1', input: 'x' }, answer: '2' },
    ],
  });
  assert.is(status, 400);
  assert.is(
    body.detail,
    'Row 2: the grader names the column output, which is not there: the columns are label, input. Add the column, or change the grader',
  );
  const unasked = await service.call('POST', `${route}/test`, { grader: exact, rows: [{ item: {} }] });
  assert.match(unasked.body.detail, 'Row 1 has no answer: add one, or set model to ask it');
  const unknown = await service.call('POST', `${route}/test`, {
    ...{ grader: exact, model: 'none', rows: [{ item: { input: 'x', output: 'y' } }] },
  });
  assert.is(unknown.status, 404);
  const nothing = await service.call('POST', `${route}/test`, {
    ...{ grader: 'none', rows: [{ item: {}, answer: '' }] },
  });
  assert.is(nothing.status, 404);
});

const rows = Array.from({ length: 12 }, (_, at) => ({
  ...{ input: `Question ${at}`, output: 'yes', label: at % 2 === 0 ? 'even' : 'odd' },
}));
const evaluate = (changes: object) =>
  service.call('POST', '/api/evaluations', {
    ...{ dataset: 'labelled.jsonl', base_model: tinyModel('llama'), rows: 6 },
    ...changes,
  });

test('a list is no object of a definition', async () => {
  const schema = { type: 'hone_json_schema', name: 'list', schema: [null] };
  const judge = {
    type: 'score_model',
    name: 'list',
    model: 'one',
    input: [{ role: 'user', content: 'Good?' }],
  };
  const multi = { type: 'multi', name: 'list', graders: { a: schema }, calculate_output: 'a' };
  for (const definition of [schema, multi, { ...multi, graders: [] }, { ...judge, sampling_params: [] }]) {
    const { status, body } = await service.call('POST', route, definition);
    assert.is(status, 400, JSON.stringify(body));
  }
});

test('an evaluation whose rows lack a column, or whose grader is unknown, does not start', async () => {
  const lines = rows.map((row) => JSON.stringify(row));
  await service.upload('labelled.jsonl', [...lines, '', '{"input": "x", "output": "y"}'].join('\n'));
  const even = {
    ...{ type: 'string_check', name: 'even', operation: 'eq', input: '{{item.label}}', reference: 'even' },
  };
  assert.is((await service.call('POST', route, even)).status, 200);
  const lacking = await evaluate({ rows: null, graders: ['even'] });
  assert.is(lacking.status, 400);
  assert.match(
    lacking.body.detail,
    'Line 14 of labelled.jsonl: the grader even names the column label, which is not there',
  );
  const unknown = await evaluate({ graders: ['even', 'none', 'even'] });
  assert.is(unknown.status, 400);
  assert.match(unknown.body.detail, 'There is no grader none. The grader even is named twice.');
  assert.is((await evaluate({ graders: Array(17).fill('even') })).status, 400);
  await service.upload('texts.jsonl', rows.map(({ input }) => JSON.stringify({ text: input })).join('\n'));
  const unanswered = await evaluate({ dataset: 'texts.jsonl', graders: ['even'] });
  assert.match(unanswered.body.detail, 'rows of the shape text are not answered');
  assert.equal((await service.call('GET', '/api/evaluations')).body.evaluations, []);
});

test('graders score the answers of an evaluation as they score rows that are tried', async () => {
  const near = {
    ...{ type: 'text_similarity', name: 'near', evaluation_metric: 'fuzzy_match' },
    ...{ input: '{{sample.output_text}}', reference: '{{item.output}} {{item.label}}' },
  };
  assert.is((await service.call('POST', route, near)).status, 200);
  const { body: started } = await evaluate({ graders: ['even', 'near'] });
  // What was asked for stays, whatever becomes of the grader.
  assert.is((await service.call('DELETE', `${route}/even`)).status, 200);
  let ended = started;
  await until(
    async () => {
      ended = (await service.call('GET', `/api/evaluations/${started.evaluation_id}`)).body;
      return ended.state === 'completed' || ended.state === 'failed';
    },
    'the evaluation has ended',
    300_000,
  );
  assert.is(ended.state, 'completed', ended.error);
  assert.is(ended.figures['grader:even'], 0.5);
  assert.is(ended.results[1].notes.even, "'odd' differs from 'even'");
  const { body: tried } = await service.call('POST', `${route}/test`, {
    grader: 'near',
    rows: ended.results.map(({ answer }: { answer: string }, at: number) => ({ item: rows[at], answer })),
  });
  assert.is(ended.figures['grader:near'], tried.mean);
  assert.equal(
    ended.results.map(({ figures }: { figures: Record<string, number> }) => figures['grader:near']),
    tried.results.map(({ value }: { value: number }) => value),
  );
});

test.run();
