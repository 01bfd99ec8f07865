import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AppError } from '../../src/errors.ts';
import { readTemplate } from '../../src/inference/template/render.ts';

const directory = mkdtempSync(join(tmpdir(), 'hone-template-'));
const path = join(directory, 'template.json');

test.after(() => rmSync(directory, { recursive: true, force: true }));

function store(chatTemplate: string): void {
  const rest = { task: 'text-generation', source: 'model', context_length: 64, version: 1 };
  const tokens = { bos_token: '<s>', eos_token: '</s>', stop: ['</s>'] };
  writeFileSync(path, JSON.stringify({ chat_template: chatTemplate, ...tokens, ...rest }));
}

const talk = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'One?\nTwo!' },
];

test('renders as training did, with the generation prompt', async () => {
  store(
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] | trim }}{{ eos_token }}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}",
  );
  const template = await readTemplate(path);
  assert.is(template.render(talk), '<s><|system|>\nBe brief.</s>\n<|user|>\nOne?\nTwo!</s>\n<|assistant|>\n');
  assert.equal([template.stop, template.contextLength], [['</s>'], 64]);
});

test('blocks are trimmed as in Python, and frozen settings hold', async () => {
  store(
    '{%- set enable_thinking = false -%}{%- macro strftime_now(format) -%}01 Jan 2025{%- endmacro -%}{% if enable_thinking is defined and enable_thinking is false %}\n  quiet {{ strftime_now("%d") }}\n    {% endif %}\n{{ messages[-1].content }}',
  );
  assert.is((await readTemplate(path)).render(talk), '  quiet 01 Jan 2025\nOne?\nTwo!');
});

test('a template that rejects a conversation is reported', async () => {
  store("{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system role.') }}{% endif %}ok");
  const template = await readTemplate(path);
  assert.is(template.render(talk.slice(1)), 'ok');
  try {
    template.render(talk);
    assert.unreachable();
  } catch (error) {
    assert.instance(error, AppError);
    assert.is((error as AppError).kind, 'invalid');
    assert.match((error as AppError).message, /No system role/);
  }
});

test('a missing or damaged template is refused', async () => {
  for (const content of ['', '{}', '{"chat_template": 3}', JSON.stringify({ chat_template: '{% for %}' })]) {
    writeFileSync(path, content);
    const error = await readTemplate(path).catch((thrown: unknown) => thrown);
    assert.instance(error, AppError);
  }
});

test.run();
