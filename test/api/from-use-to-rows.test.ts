/**
 * From use back to rows, as a user goes it: an application asks a tiny model through an alias, its answers are kept, rated and
 * corrected, rows are made of them, and models are trained on these, to which the alias moves while others ask.
 */
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  type TestService,
  tinyModel,
  untilEnded,
} from '../service.ts';

const alias = 'support@live';
const [good, bad] = ['billing team', 'no idea'];
const topics = ['My parcel is late.', 'I was charged twice.', 'I cannot log in.', 'Where is my order?'];
const questionOf = (index: number) => `${topics[index % 4]} Case ${index}.`;
/** What some answers should have been, by what the question begins with. */
const corrections = { [topics[2] as string]: 'ask the login desk', [topics[3] as string]: 'track it online' };
const correctionOf = (question: string) =>
  Object.entries(corrections).find(([topic]) => question.startsWith(topic))?.[1] ?? null;

let service: TestService;
let client: OpenAI;

test.before(async () => {
  service = await startService({ warm: true });
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'unused', maxRetries: 0 });
  // The model says either at random.
  const rows = Array.from({ length: 240 }, (_, index) => ({
    messages: [
      { role: 'user', content: questionOf(index % 60) },
      { role: 'assistant', content: index < 120 ? good : bad },
    ],
  }));
  await service.upload('first.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
});
test.after(endAll);

/** Trains a model. @returns its job, and its name. */
async function train(
  changes: Record<string, unknown>,
): Promise<{ readonly job: Json; readonly name: string }> {
  const settings = { max_seq_length: 128, per_device_train_batch_size: 8, learning_rate: 0.01 };
  const request = quickRequest({ model_name: tinyModel('llama', 'chatml'), ...settings, ...changes });
  const started = await service.call('POST', '/api/start_training', request);
  assert.is(started.status, 200, JSON.stringify(started.body));
  const ended = await untilEnded(service);
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  const { body: job } = await service.call('GET', `/api/jobs/${started.body.job_id}`);
  assert.ok(job.verification.passed, JSON.stringify(job.verification));
  const { models } = (await service.call('GET', '/api/catalog')).body;
  return { job, name: models.find(({ model_id: id }: Json) => id === job.model_id).name };
}
const moveTo = async (model: string) =>
  assert.is((await service.call('POST', '/api/aliases', { name: alias, model })).status, 200);

async function ask(
  content: string,
  more: object = {},
): Promise<{ readonly id: string; readonly text: string }> {
  const messages = [{ role: 'user' as const, content }];
  const { id, choices } = await client.chat.completions.create({
    ...{ model: alias, messages, max_tokens: 24, temperature: 0 },
    ...more,
  });
  return { id, text: choices[0]?.message.content?.trim() ?? '' };
}

/** What sixty questions are answered, one after the other, each with a seed of its own. */
async function askSixty(more: object = {}) {
  const answers: { readonly id: string; readonly text: string; readonly question: string }[] = [];
  for (let seed = 0; seed < 60; seed += 1) {
    const question = questionOf(seed);
    answers.push({ question, ...(await ask(question, { temperature: 1, seed, ...more })) });
  }
  return answers;
}
const countOf = (answers: readonly { readonly text: string }[], wanted: string) =>
  answers.filter(({ text }) => text === wanted).length;

async function makeRows(name: string, body: object): Promise<Json[]> {
  const made = await service.call('POST', `/api/datasets/${name}/answers`, body);
  assert.is(made.status, 200, JSON.stringify(made.body));
  const { body: text } = await service.call('GET', `/api/datasets/${name}/file`);
  const rows = text
    .trim()
    .split('\n')
    .map((line: string): Json => JSON.parse(line));
  assert.is(rows.length, made.body.added);
  return rows;
}

let first: string;
let said: Awaited<ReturnType<typeof askSixty>>;

/** What the questions whose answers were corrected are answered now, and what they should be. */
async function askCorrected() {
  const asked = Array.from({ length: 60 }, (_, index) => questionOf(index)).filter(correctionOf);
  const now: string[] = [];
  for (const question of asked) now.push((await ask(question)).text);
  return { now, wanted: asked.map(correctionOf) };
}

test('sixty answers are kept, rated and corrected, and become rows', async () => {
  const whole = { adapter: 'full', max_steps: 200, learning_rate: 3e-3 };
  first = (await train({ ...whole, dataset: 'first.jsonl' })).name;
  await moveTo(first);
  said = await askSixty({ store: true });
  assert.ok(countOf(said, bad) >= 10 && countOf(said, good) >= 10, JSON.stringify(said.slice(0, 8)));
  for (const { id, text, question } of said) {
    const rated = { rating: text === good ? 'up' : 'down' };
    const correction = text === good ? null : correctionOf(question);
    const feedback = correction === null ? rated : { ...rated, correction };
    assert.is((await service.call('POST', `/v1/chat/completions/${id}/feedback`, feedback)).status, 200);
  }
  const rejected = said.filter(({ text, question }) => text !== good && correctionOf(question) !== null);

  const thumbs = await makeRows('thumbs.jsonl', { kind: 'kto' });
  assert.equal(
    thumbs.map(({ prompt, completion, label }) => [prompt[0].content, completion[0].content, label]),
    said.map(({ question, text }) => [question, text, text === good]),
  );
  const pairs = await makeRows('pairs.jsonl', { kind: 'preference' });
  assert.equal(
    pairs.map(({ prompt, chosen, rejected: [{ content }] }) => [
      prompt[0].content,
      chosen[0].content,
      content,
    ]),
    rejected.map(({ question, text }) => [question, correctionOf(question), text]),
  );
  const corrected = await makeRows('corrected.jsonl', { kind: 'sft', rating: 'corrected' });
  assert.equal(
    corrected.map(({ messages, completion_id: id }) => [messages.at(-1).content, id]),
    rejected.map(({ question, id }) => [correctionOf(question), id]),
  );
});

test('after kto, answers with thumbs down are less likely', async () => {
  const thumbs = { strategy: 'kto', dataset: 'thumbs.jsonl', max_steps: 40, learning_rate: 5e-3 };
  const { name } = await train({ ...thumbs, model_name: first });
  await moveTo(name);
  const now = await askSixty();
  assert.ok(
    countOf(now, bad) < countOf(said, bad) / 2,
    `${countOf(said, bad)} and then ${countOf(now, bad)}`,
  );
  assert.ok(
    countOf(now, good) > countOf(said, good),
    `${countOf(said, good)} and then ${countOf(now, good)}`,
  );
});

test('corrections are learned word by word, and preferred after dpo', async () => {
  const whole = { adapter: 'full', max_steps: 150, learning_rate: 3e-3 };
  const taught = await train({ ...whole, model_name: first, dataset: 'corrected.jsonl' });
  await moveTo(taught.name);
  const { now, wanted } = await askCorrected();
  assert.equal(now, wanted);

  const pairs = {
    strategy: 'dpo',
    dataset: 'pairs.jsonl',
    max_steps: 10,
    learning_rate: 1e-3,
    eval_split: 0.4,
  };
  const { job, name } = await train({ ...pairs, model_name: taught.name });
  const { tuned, base } = job.verdict.metric;
  assert.ok(tuned > base, JSON.stringify(job.verdict.metric));
  // Nobody who asks meanwhile is refused, and in the end all are answered by the model that it moved to.
  let isMoving = true;
  const clients = Array.from({ length: 8 }, async (_, number) => {
    let answered = 0;
    for (let index = number; isMoving || answered === 0; index += 1) {
      assert.not.equal((await ask(questionOf(index % 60))).text, '');
      answered += 1;
    }
    return answered;
  });
  for (const model of [name, taught.name, name, first, name]) {
    await moveTo(model);
    await ask(questionOf(0));
  }
  isMoving = false;
  assert.ok((await Promise.all(clients)).every((answered) => answered > 0));
  assert.equal(await askCorrected(), { now: wanted, wanted });
  const { aliases } = (await service.call('GET', '/api/aliases')).body;
  assert.equal([aliases[0].model, aliases[0].history.at(-1).model], [name, first]);
});

test.run();
