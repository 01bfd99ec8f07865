/**
 * A real model on real text, as a person would use it: SmolLM2-135M-Instruct learns to write dates in the words of many
 * languages in their ISO form. It is asked over the API, with OpenAI's library and on the page, and its file is made
 * again in other types.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { settingsForDates } from '../../src/demo/settings.ts';
import { datesTask } from '../../src/demo/task.ts';
import { train } from '../jobs/evaluating.ts';
import { endAll, type Json, realModelMs, root, startService, type TestService, until } from '../service.ts';
import { closeBrowser, keepPicture, openPage } from '../ui/browser.ts';
import { realModel } from './real-model.ts';

const { questions, file, answerTokens } = datesTask(root);
/** Of 20 questions: what the demo demands. */
const [leastTuned, mostBase] = [16, 4];

let service: TestService;
let job: Json;

test.before(async () => {
  const base = await realModel('smollm2');
  service = await startService({ env: { OMP_NUM_THREADS: '2' } });
  await service.upload(file, readFileSync(join(root, 'examples', file)));
  const { export: _, ...settings } = settingsForDates;
  const request = {
    ...{ task: 'text-generation', model_name: base, dataset: file },
    ...settings,
    eval_split: 0.1,
  };
  job = await train(service, request, realModelMs);
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

/** How many questions are answered right by what `ask` returns. */
async function score(ask: (prompt: string) => Promise<string>): Promise<number> {
  let right = 0;
  for (const { prompt, isRight } of questions) right += isRight(await ask(prompt)) ? 1 : 0;
  return right;
}

const overApi = (path: string) => async (prompt: string) => {
  const asked = { model_id: job.model_id, prompt, max_length: answerTokens, temperature: 0, top_p: 1 };
  const { status, body } = await service.call('POST', path, asked);
  assert.is(status, 200, JSON.stringify(body));
  return body.generated_text as string;
};

test('it learns the task, and its file is verified', async () => {
  assert.is(job.verification.passed, true);
  assert.is(job.export.state, 'done');
  assert.ok(job.verdict.loss.tuned < job.verdict.loss.base / 4, JSON.stringify(job.verdict.loss));
  const tuned = await score(overApi('/api/playground/new'));
  const base = await score(overApi('/api/playground/base'));
  console.log(`figure: right answers of ${questions.length}: base ${base}, tuned ${tuned}`);
  console.log(
    `figure: held-out loss ${job.verdict.loss.base.toFixed(3)} to ${job.verdict.loss.tuned.toFixed(3)}`,
  );
  assert.ok(tuned >= leastTuned, `tuned: ${tuned}`);
  assert.ok(base <= mostBase, `base: ${base}`);
});

test("OpenAI's library gets the same answers", async () => {
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none' });
  const { data } = await client.models.list();
  const model = data.find(({ id }) => id.includes('dates'))?.id as string;
  const right = await score(async (content) => {
    const { choices } = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content }],
      max_completion_tokens: answerTokens,
      temperature: 0,
    });
    return choices[0]?.message.content ?? '';
  });
  assert.ok(right >= leastTuned, `right: ${right}`);
});

test('the page answers beside the base model', async () => {
  const { page, context, faults } = await openPage(service.url, `/playground/${job.model_id}`);
  const asked = questions[0] as (typeof questions)[number];
  await page.getByLabel('Temperature').fill('0');
  await page.getByLabel('Prompt', { exact: true }).fill(asked.prompt);
  await page.keyboard.press('Enter');
  const shown = await until(async () => {
    const text = (await page.locator('.exchange').last().textContent()) ?? '';
    return /\d tokens/.test(text) ? text : '';
  }, 'the answer is there');
  assert.ok(
    shown.split(/\s+/).some((word) => asked.isRight(word)),
    shown,
  );
  await keepPicture(page, 'real-playground');
  assert.equal(faults, []);
  await context.close();
});

test('its file is made again in other types, which answer, too', async () => {
  const { status, body } = await service.call('POST', `/api/models/${job.model_id}/export`, {
    quantizations: ['F16', 'Q6_K'],
  });
  assert.is(status, 202, JSON.stringify(body));
  const { state, files } = await until(
    async () => {
      const { body: now } = await service.call('GET', `/api/models/${job.model_id}/export`);
      return now.underway === null ? now : null;
    },
    'the export has ended',
    600_000,
  );
  assert.is(state, 'done', JSON.stringify(files));
  for (const type of ['F16', 'Q6_K']) {
    const made = files.find(({ quantization }: Json) => quantization === type);
    assert.is(made?.verified, true, JSON.stringify(files));
    console.log(`figure: ${type} costs ${(100 * made.loss_increase).toFixed(2)} %, mean KL ${made.mean_kl}`);
  }
  const right = await score(overApi('/api/playground/new'));
  assert.ok(right >= leastTuned, `right: ${right}`);
});

test.run();
