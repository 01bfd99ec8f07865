/** A real small model on this machine writes rows about PDF files: the schema holds its answers, and quotations are checked. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { layOutOllama } from '../gguf-caches.ts';
import {
  endAll,
  type Json,
  realModelMs,
  startService,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { smallPdf } from '../small-pdf.ts';
import { realModel } from './real-model.ts';

const home = temporaryFolder();
let service: TestService;

const pages = [
  ['The monthly fee of the library is twelve euros.', 'Students under twenty pay half of the price.'],
  ['The harbour master is Ms Okafor.', 'Diesel is sold at the northern jetty only.'],
  ['Two turtles live in the largest tank of the aquarium.', 'It was closed for repairs in 1998.'],
  ['The museum of clocks opens at ten.', 'Its oldest clock was made in Augsburg in 1571.'],
];

test.before(async () => {
  const env = { HOME: home, XDG_CACHE_HOME: '', HF_HOME: '', HF_HUB_CACHE: `${home}/hub`, OLLAMA_MODELS: '' };
  service = await startService({ env });
});
test.after(endAll);

test('every answer has the shape that was asked for, and every kept quotation stands on its page', async () => {
  const gguf = layOutOllama(home, await realModel('smollm2'));
  const { models } = (await service.call('GET', '/api/base_models')).body;
  const { answers_as: model } = models.find((one: Json) => one.model === gguf);
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(smallPdf(pages))]), 'town.pdf');
  assert.is((await fetch(`${service.url}/api/documents`, { method: 'POST', body: form })).status, 200);
  const asked = { name: 'town', kind: 'question-answer', model, rows_per_passage: 2, max_tokens: 400 };
  const { status, body } = await service.call('POST', '/api/document_rows', asked);
  assert.is(status, 200, JSON.stringify(body));
  const made = await until(
    async () => {
      const { body: now } = await service.call('GET', `/api/document_rows/${body.id}`);
      return ['queued', 'running'].includes(now.state) ? null : now;
    },
    'the rows',
    realModelMs,
  );
  console.log(JSON.stringify({ ...made, request: undefined }));
  assert.is(made.answered, pages.length);
  assert.is(made.useless.malformed, 0);
  assert.is(made.useless.rejected, 0, made.last_problem);
  assert.ok(made.tokens.prompt > 100 && made.tokens.answer > 50);
  if (made.datasets.training === null) return;
  const text = await (await fetch(`${service.url}/api/datasets/${made.datasets.training}/file`)).text();
  for (const line of text.trim().split('\n')) {
    const { page, quotation, file, input, output } = JSON.parse(line);
    assert.is(file, 'town.pdf');
    assert.ok(pages[page - 1]?.join('\n').includes(quotation), line);
    assert.ok(input !== '' && output !== '');
  }
});

test.run();
