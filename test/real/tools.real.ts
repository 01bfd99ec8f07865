/**
 * A real model whose chat template has no tools, SmolLM2-135M-Instruct, learns to call two tools in the syntax of Hermes
 * (`tool_syntax`), and is asked by OpenAI's library.
 */
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { score, train } from '../jobs/evaluating.ts';
import { endAll, type Json, realModelMs, startService, type TestService } from '../service.ts';
import { realModel } from './real-model.ts';

const cities =
  'Bern Oslo Rome Lima Cairo Paris Delhi Tokyo Quito Seoul Hanoi Dakar Accra Minsk Sofia Riga Kiev Doha Baku Bonn'.split(
    ' ',
  );
const [unseenCities, unseenAmounts] = [
  ['Berlin', 'Vienna', 'Lagos', 'Madrid'],
  [37, 512, 86, 240],
];
const coins = ['EUR', 'USD', 'CHF', 'GBP', 'JPY'];
const inWords = [
  (city: string) => `What is the weather in ${city}?`,
  (city: string) => `Is it raining in ${city}?`,
];
const ofMoney = [
  (amount: number, from: string, to: string) => `How much are ${amount} ${from} in ${to}?`,
  (amount: number, from: string, to: string) => `Convert ${amount} ${from} to ${to}.`,
];

const text = { type: 'string' };
const tool = (name: string, description: string, properties: Record<string, object>) => ({
  type: 'function' as const,
  function: {
    name,
    description,
    parameters: { type: 'object', properties, required: Object.keys(properties) },
  },
});
const tools = [
  tool('weather', 'The weather in a city.', { city: text }),
  tool('convert', 'Converts money.', { amount: { type: 'number' }, from: text, to: text }),
];

interface Question {
  readonly content: string;
  readonly name: string;
  readonly given: object;
}
const ofCity = (city: string, at: number): Question => ({
  content: inWords[at % 2]?.(city) ?? '',
  ...{ name: 'weather', given: { city } },
});
function ofAmount(amount: number, at: number): Question {
  const [from, to] = [coins[at % 5], coins[(at * 2 + 1) % 5 === at % 5 ? (at + 1) % 5 : (at * 2 + 1) % 5]];
  return {
    content: ofMoney[at % 2]?.(amount, from as string, to as string) ?? '',
    ...{ name: 'convert', given: { amount, from, to } },
  };
}
const learned = [
  ...cities.flatMap((city) => [ofCity(city, 0), ofCity(city, 1)]),
  ...cities.flatMap((_, at) => [ofAmount(10 + 13 * at, at), ofAmount(15 + 29 * at, at + 1)]),
];
const unseen = [...unseenCities.map(ofCity), ...unseenAmounts.map(ofAmount)];

const callOf = ({ name, given }: Question, id: string) => ({
  ...{ id, type: 'function' as const, function: { name, arguments: JSON.stringify(given) } },
});
/** Every other row has the result of the call and an answer. */
const rows = learned.map((question, at) => ({
  tools,
  messages: [
    { role: 'user', content: question.content },
    { role: 'assistant', content: null, tool_calls: [callOf(question, 'call_1')] },
    ...(at % 4 === 0
      ? [
          { role: 'tool', tool_call_id: 'call_1', content: 'sunny, 21 °C' },
          { role: 'assistant', content: 'It is sunny at 21 °C.' },
        ]
      : []),
  ],
}));

let service: TestService;
let base: string;
let job: Json;
test.before(async () => {
  base = await realModel('smollm2');
  service = await startService({ env: { OMP_NUM_THREADS: '2' } });
  await service.upload('tools.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
  const request = {
    ...{ task: 'text-generation', model_name: base, dataset: 'tools.jsonl', tool_syntax: 'hermes' },
    ...{ strategy: 'sft', provider: 'standard', max_seq_length: 512, lora_r: 16, lora_alpha: 32, seed: 42 },
    ...{ num_train_epochs: 3, per_device_train_batch_size: 4, gradient_accumulation_steps: 1 },
    ...{ learning_rate: 1e-3, use_4bit: false, gradient_checkpointing: false, eval_split: 0 },
  };
  job = await train(service, request, realModelMs);
});
test.after(endAll);

test('it calls the right tool with the right arguments for questions that it has not seen', async () => {
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none' });
  const { data } = await client.models.list();
  const model = data.find(({ id }) => id.includes('tools'))?.id as string;
  let right = 0;
  for (const question of unseen) {
    const messages = [{ role: 'user' as const, content: question.content }];
    const { choices } = await client.chat.completions.create({ model, messages, tools, temperature: 0 });
    const [call, ...others] = choices[0]?.message.tool_calls ?? [];
    const made = call?.type === 'function' ? call.function : undefined;
    const isRight = made?.name === question.name && others.length === 0;
    if (isRight && JSON.stringify(JSON.parse(made.arguments)) === JSON.stringify(question.given)) right += 1;
    else console.log(`${question.content}: ${JSON.stringify(choices[0]?.message)}`);
  }
  console.log(`figure: right calls of ${unseen.length}: ${right}`);
  assert.ok(right >= 6, `right: ${right}`);
  assert.is(job.export.state, 'done');
});

test('evaluations compare its calls with those of its base model, asked in the same syntax', async () => {
  const questions = [0, 1].flatMap((way) => [
    ...unseenCities.map((city) => ofCity(city, way)),
    ...unseenAmounts.map((amount, at) => ofAmount(amount, at + way)),
  ]);
  const asked = questions.map((question) => ({
    tools,
    messages: [
      { role: 'user', content: question.content },
      { role: 'assistant', content: null, tool_calls: [callOf(question, 'call_1')] },
    ],
  }));
  await service.upload('unseen.jsonl', asked.map((row) => JSON.stringify(row)).join('\n'));
  const before = await score(service, { dataset: 'unseen.jsonl', base_model: base, tool_syntax: 'hermes' });
  const after = await score(service, { dataset: 'unseen.jsonl', model: job.model_id });
  assert.is(before.rows_digest, after.rows_digest);
  const told = ({ figures }: Json) => [figures.right_tool, figures.right_arguments];
  console.log(`figure: right tool and arguments of the base and tuned: ${told(before)}, ${told(after)} %`);
  assert.ok(after.figures.right_arguments >= 75 && before.figures.right_arguments <= 25);
});

test.run();
