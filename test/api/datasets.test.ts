import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  trainersOf,
  until,
} from '../service.ts';

let service: TestService;

test.before(async () => {
  service = await startService();
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

const lines = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).join('\n');

test('rows of other tools are named, and converted without losing a turn', async () => {
  const shapes: [string, string, unknown, unknown[]][] = [
    ['alpaca', 'Alpaca', { instruction: 'Say it', output: 'it' }, [{ input: 'Say it', output: 'it' }]],
    [
      'sharegpt',
      'ShareGPT',
      {
        conversations: [
          { from: 'human', value: 'U' },
          { from: 'gpt', value: 'A' },
        ],
      },
      [
        {
          messages: [
            { role: 'user', content: 'U' },
            { role: 'assistant', content: 'A' },
          ],
        },
      ],
    ],
  ];
  for (const [name, shape, row, converted] of shapes) {
    const uploaded = await service.upload(`${name}.jsonl`, lines(Array(12).fill(row)));
    assert.is(uploaded.body.validation.valid, false);
    assert.match(uploaded.body.validation.errors[0], shape);
    const { status, body } = await service.call('POST', `/api/datasets/${name}.jsonl/convert`);
    assert.is(status, 200, JSON.stringify(body));
    assert.is(body.filename, `${name}-converted.jsonl`);
    assert.is(body.validation.valid, true);
    assert.equal(body.rows.slice(0, converted.length), converted);
  }
  assert.is((await service.call('POST', '/api/datasets/support.jsonl/convert')).status, 400);
});

test('rows in formats of OpenAI that are not trained on as they are, are converted', async () => {
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const sent = async (name: string, row: object) =>
    client.files.create({
      file: await toFile(Buffer.from(`${JSON.stringify(row)}\n`.repeat(10)), `${name}.jsonl`),
      purpose: 'fine-tune',
    });
  const formats: Record<string, [row: object, stored: object]> = {
    developer: [
      {
        messages: [
          { role: 'developer', content: 'Be brief.' },
          { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
          { role: 'assistant', content: 'Hi' },
        ],
      },
      {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Hello' },
          { role: 'assistant', content: 'Hi' },
        ],
      },
    ],
    preferences: [
      {
        input: { messages: [{ role: 'user', content: 'Hello' }], tools: [], parallel_tool_calls: true },
        preferred_output: [{ role: 'assistant', content: 'Hi' }],
        non_preferred_output: [{ role: 'assistant', content: 'What?' }],
      },
      {
        prompt: [{ role: 'user', content: 'Hello' }],
        chosen: [{ role: 'assistant', content: 'Hi' }],
        rejected: [{ role: 'assistant', content: 'What?' }],
      },
    ],
  };
  const weather = { name: 'weather', parameters: { type: 'object', properties: {} } };
  const question = { role: 'user', content: 'Weather?' };
  formats.functions = [
    {
      messages: [
        question,
        { role: 'assistant', content: null, function_call: { name: 'weather', arguments: '{}' } },
        { role: 'function', name: 'weather', content: 'rain' },
        { role: 'assistant', content: 'Rain' },
      ],
      functions: [weather],
    },
    {
      messages: [
        question,
        {
          ...{ role: 'assistant', content: '' },
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
        { role: 'assistant', content: 'Rain' },
      ],
      tools: [{ type: 'function', function: weather }],
    },
  ];
  // What is trained as it is, stays as it is.
  const calling = { ...formats.functions[1], parallel_tool_calls: false };
  formats.tools = [calling, calling];
  for (const [name, [row, wanted]] of Object.entries(formats)) {
    const file = await sent(name, row);
    assert.equal([file.filename, file.status], [`${name}.jsonl`, 'processed']);
    const text = await (await client.files.content(file.id)).text();
    assert.is(file.bytes, Buffer.byteLength(text));
    assert.equal(JSON.parse(text.split('\n')[0] as string), wanted);
    await client.files.delete(file.id);
  }
  const unasked = {
    messages: [question, { role: 'tool', content: 'rain' }, { role: 'assistant', content: 'Rain' }],
  };
  const refused = await sent('unasked', unasked).catch((error) => error);
  assert.is(refused.status, 400);
  assert.match(refused.message, /Line 1: .*result of a tool that no earlier message calls/);
  assert.is((await service.call('GET', '/api/datasets/unasked.jsonl')).status, 404);
});

test('a preview shows the tokens of rows, which of them carry loss, and what is cut off', async () => {
  const { dataset: _dataset, ...request } = quickRequest({ max_seq_length: 32 });
  const [firstLine = '', ...others] = supportRows().split('\n');
  const long = JSON.stringify({ input: 'my parcel '.repeat(10_000), output: 'Shipping' });
  await service.upload('previewed.jsonl', [firstLine, long, ...others].join('\n'));
  const { status, body } = await service.call('POST', '/api/datasets/previewed.jsonl/preview', {
    ...request,
    rows: 2,
  });
  assert.is(status, 200, JSON.stringify(body));
  const first = JSON.parse(firstLine);
  const text = body.rows[0].tokens.map((token: Json) => token.text).join('');
  assert.ok(text.includes(first.input) && text.includes(first.output));
  const labelled = body.rows[0].tokens.filter((token: Json) => token.labelled);
  assert.match(labelled.map((token: Json) => token.text).join(''), first.output);
  assert.not.match(labelled.map((token: Json) => token.text).join(''), first.input);
  assert.is(body.rows.length, 2);
  assert.is(body.rows[1].tokens.length, 4_096, 'of a long row, not all are shown');
  assert.ok(body.rows[1].total_tokens > 10_000);
  for (const row of body.rows) {
    assert.equal(
      row.tokens.map((token: Json) => token.truncated),
      row.tokens.map((_: Json, place: number) => place >= 32),
    );
  }
  assert.is((await service.call('POST', '/api/datasets/none.jsonl/preview', request)).status, 404);
  assert.is(
    (
      await service.call('POST', '/api/datasets/support.jsonl/preview', {
        ...request,
        model_name: '/nowhere',
      })
    ).status,
    400,
  );
  assert.is(
    (await service.call('POST', '/api/datasets/support.jsonl/preview', { ...request, rows: 51 })).status,
    400,
  );
});

test('rows are read by length: in tokens of a model, which a preview shows, or in characters', async () => {
  await service.upload('ordered.jsonl', supportRows().split('\n').slice(0, 30).join('\n'));
  const url = '/api/datasets/ordered.jsonl';
  const model = quickRequest().model_name as string;
  const shown = await service.call('POST', `${url}/preview`, {
    ...{ task: 'text-generation', model_name: model, rows: 30 },
  });
  const totals: number[] = shown.body.rows.map(({ total_tokens: total }: Json) => total);
  const page = async (query: string) => (await service.call('GET', `${url}?${query}`)).body;
  const long = await page(`sort=-length&rows=10&from=5&model_name=${encodeURIComponent(model)}`);
  assert.equal([long.length_unit, long.next_from, long.total], ['tokens', 15, 30]);
  assert.equal(long.lengths, totals.toSorted((a, b) => b - a).slice(5, 15));
  assert.equal(
    long.lengths,
    long.lines.map((line: number) => totals[line - 1]),
  );
  const brief = await page('sort=length&rows=30');
  assert.is(brief.length_unit, 'characters');
  assert.equal(
    brief.lengths,
    brief.rows.map(({ input, output }: Json) => input.length + output.length),
  );
  assert.equal(
    brief.lengths,
    brief.lengths.toSorted((a: number, b: number) => a - b),
  );
  assert.equal([(await page('rows=1')).lengths, (await page('rows=1')).length_unit], [null, null]);
  assert.is((await service.call('GET', `${url}?sort=tokens`)).status, 400);
  assert.is((await service.call('GET', `${url}?sort=length&model_name=/nowhere`)).status, 400);
});

test('a preview that nobody waits for any more is ended, and one that takes too long is 503', async () => {
  const { dataset: _dataset, ...request } = quickRequest();
  const path = '/api/datasets/support.jsonl/preview';
  const leaving = new AbortController();
  const left = fetch(service.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal: leaving.signal,
  }).then(
    () => false,
    () => true,
  );
  const pid = await until(() => trainersOf(service.dataDir)[0], 'its process has begun');
  // So that it does not end by itself.
  process.kill(pid as number, 'SIGSTOP');
  leaving.abort();
  assert.ok(await left);
  await until(() => !trainersOf(service.dataDir).includes(pid as number), 'its process has ended');
  const next = await service.call('POST', path, request);
  assert.is(next.status, 200, JSON.stringify(next.body));
  await until(() => readdirSync(join(service.dataDir, 'jobs')).length === 0, 'nothing of them is left');
  const hasty = await startService({ limits: { previewMs: 1 } });
  await hasty.upload('support.jsonl', supportRows());
  const late = await hasty.call('POST', path, request);
  assert.is(late.status, 503, JSON.stringify(late.body));
  assert.match(late.body.detail, /timed out after 0\.001 s/);
  assert.equal(
    [...service.log, ...hasty.log].filter(({ level }) => level >= 50),
    [],
  );
  await hasty.end();
});

test('an estimate tells memory and disk part by part, and changes nothing', async () => {
  const { status, body } = await service.call('POST', '/api/estimate', quickRequest());
  assert.is(status, 200, JSON.stringify(body));
  assert.ok(body.parameters > 50_000 && body.parameters < 2_000_000);
  const { total_bytes: total, ...parts } = body.memory;
  assert.ok(
    Math.abs(total - Object.values(parts as Record<string, number>).reduce((sum, part) => sum + part, 0)) < 1,
  );
  assert.ok(Math.abs(body.simple_gb['4-bit'] - (body.parameters / 1e9) * 0.5 * 1.5) < 1e-9);
  assert.ok(Math.abs(body.simple_gb['32-bit'] - (body.parameters / 1e9) * 4 * 1.5) < 1e-9);
  assert.is(body.fits, true);
  assert.match(body.advice[0], '400 examples');
  const larger = (
    await service.call(
      'POST',
      '/api/estimate',
      quickRequest({ per_device_train_batch_size: 64, max_seq_length: 4096 }),
    )
  ).body;
  // Without a GPU, large batches are computed in parts: a row of 4,096 tokens beside two of 96.
  assert.ok(larger.memory.activations_bytes > 20 * body.memory.activations_bytes);
  const known = (await service.call('POST', '/api/estimate', quickRequest({ model_name: 'Qwen/Qwen3-8B' })))
    .body;
  assert.is(known.parameters, 8.2e9);
  assert.is((await service.call('POST', '/api/estimate', { task: 'x' })).status, 400);
  const small = `/api/datasets/support.jsonl?rows=0&model_name=${encodeURIComponent(tinyModel('llama'))}`;
  assert.match((await service.call('GET', small)).body.warnings[0], '500 are recommended.');
  assert.equal((await service.call('GET', '/api/jobs')).body.total, 0);
});

test.run();
