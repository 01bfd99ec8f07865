/** What a run gained, with the real trainer: measured on held-out rows before the first step and at the end, and told first. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { score, train } from '../jobs/evaluating.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  tinyModel,
} from '../service.ts';
import { closeBrowser, openPage } from './browser.ts';

let service: TestService;
const rows = supportRows().trim().split('\n');
const heldOut = rows.slice(0, 10).map((line) => JSON.parse(line) as { input: string; output: string });
const kept = [4, 8, 12];
const request = (changes: object = {}) =>
  quickRequest({
    ...{ task: 'summarization', learning_rate: 1e-2, max_steps: 12, save_steps: 4, save_total_limit: 5 },
    ...{ validation_dataset: 'held-out.jsonl', max_seq_length: 192, ...changes },
  });

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', `${rows.slice(10, 74).join('\n')}\n`);
  await service.upload('held-out.jsonl', `${rows.slice(0, 10).join('\n')}\n`);
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

test('base and tuned model are measured on the same rows, and three of them are answered by all', async () => {
  const job = await train(service, request());
  const { verdict } = job;
  const journal: Json[] = readFileSync(join(service.dataDir, 'jobs', 'train_1', 'journal.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const lines = journal.filter(({ type }) => type === 'eval' || type === 'metric');
  assert.equal([lines[0].type, lines[0].step, lines[1].type], ['eval', 0, 'metric'], 'before the first step');
  assert.equal([verdict.verified, verdict.reason, verdict.metric.name], [true, null, 'rougeL']);
  assert.ok(verdict.loss.tuned < verdict.loss.base);

  const of = { dataset: 'held-out.jsonl', model: job.model_id };
  const base = await score(service, { ...of, as_base: true });
  const tuned = await score(service, of);
  assert.is(base.rows_digest, tuned.rows_digest);
  const near = (one: number, other: number) => assert.ok(Math.abs(one - other) < 1e-6, `${one} ≠ ${other}`);
  near(verdict.metric.base, base.figures.rougeL);
  near(verdict.metric.tuned, tuned.figures.rougeL);

  assert.equal(
    verdict.prompts.map(({ prompt, reference }: Json) => [prompt, reference]),
    heldOut.slice(0, 3).map(({ input, output }) => [input, output]),
  );
  const answers = (evaluation: Json) => evaluation.results.slice(0, 3).map(({ answer }: Json) => answer);
  const told = (read: (prompt: Json) => string) => verdict.prompts.map(read);
  assert.equal(
    told(({ base }) => base),
    answers(base),
  );
  assert.equal(
    told(({ tuned }) => tuned),
    answers(tuned),
  );
  for (const step of kept) {
    const found = await score(service, { ...of, checkpoint: step });
    assert.equal(
      told(({ checkpoints }) => checkpoints.find((one: Json) => one.step === step)?.text),
      answers(found),
      `step ${step}`,
    );
  }
  for (const { file } of verdict.prompts) assert.is(file.quantization, 'Q8_0');
  assert.ok(told(({ file }) => file.text).every((text: string) => text.length > 0));

  const { page, context, faults } = await openPage(service.url, '/training/train_1');
  const card = page.locator('.verdict-card');
  await card.waitFor();
  const sentence = await card.innerText();
  const figures = `Evaluation loss ${verdict.loss.base.toFixed(2)} → ${verdict.loss.tuned.toFixed(2)} · ROUGE-L`;
  assert.match(sentence, /^File verified/);
  assert.match(sentence, figures);
  assert.match(sentence, / · (\d+ s|\d+ min.*)$/m);
  assert.is(await card.locator('.verdict-prompt').count(), 3);
  const first = await card.locator('.verdict-prompt').first().innerText();
  for (const text of [heldOut[0]?.input, heldOut[0]?.output, answers(tuned)[0]])
    assert.ok(first.includes(text), text);
  await card.getByText('Checkpoints and file').first().click();
  for (const name of [...kept.map((step) => `Step ${step}`), 'Q8_0 file'])
    assert.ok(await card.getByText(name, { exact: true }).first().isVisible(), name);
  await card.getByRole('link', { name: 'Try it' }).waitFor();
  await card.getByRole('link', { name: 'Files' }).waitFor();
  assert.equal(faults, []);
  await context.close();
});

test('the prompts of the caller are asked instead, of each of them', async () => {
  const golden = ['Where is my parcel?', 'I was charged twice.', 'Hello', 'Who are you?'];
  const { verdict } = await train(service, request({ golden_prompts: golden, max_steps: 8 }));
  assert.equal(
    verdict.prompts.map(({ prompt, reference }: Json) => [prompt, reference]),
    golden.map((prompt) => [prompt, null]),
  );
  for (const { base, tuned, checkpoints, file } of verdict.prompts) {
    assert.ok([base, tuned, file.text].every((text) => typeof text === 'string'));
    assert.equal(
      checkpoints.map(({ step }: Json) => step),
      [4, 8],
    );
  }
});

test('any dataset is scored: text by its perplexity, questions by exact match and F1, preferences by the win rate', async () => {
  const jsonl = (many: readonly object[]) => many.map((row) => `${JSON.stringify(row)}\n`).join('');
  await service.upload('text.jsonl', jsonl(heldOut.map(({ input }) => ({ text: input }))));
  await service.upload(
    'questions.jsonl',
    jsonl(heldOut.map(({ input, output }) => ({ context: input, question: 'Who?', answer: output }))),
  );
  await service.upload(
    'pairs.jsonl',
    jsonl(heldOut.map(({ input, output }) => ({ prompt: input, chosen: output, rejected: 'No.' }))),
  );
  const answered = ['exact_match', 'f1', 'rouge1', 'rouge2', 'rougeL'];
  for (const [dataset, names] of [
    ['text.jsonl', ['loss', 'perplexity']],
    ['questions.jsonl', ['loss', 'perplexity', ...answered]],
    ['pairs.jsonl', ['loss', 'perplexity', 'win_rate', 'win_rate_per_token']],
  ] as const) {
    for (const subject of [{ model: 'train_1', checkpoint: 4 }, { base_model: tinyModel('llama') }]) {
      const { figures } = await score(service, { dataset, ...subject });
      assert.equal(Object.keys(figures).sort(), [...names].sort(), `${dataset} ${JSON.stringify(subject)}`);
      assert.ok(Math.abs(Math.log(figures.perplexity) - figures.loss) < 1e-6);
    }
  }
});

test.run();
