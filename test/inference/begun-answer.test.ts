import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { joinTokens } from '../../src/inference/template/join-tokens.ts';
import { readTemplate } from '../../src/inference/template/render.ts';

const directory = mkdtempSync(join(tmpdir(), 'hone-begun-'));
const path = join(directory, 'template.json');
test.after(() => rmSync(directory, { recursive: true, force: true }));

/** A turn, of whose answers some templates keep the reasoning. */
const turns = (answer: string) =>
  `{% for m in messages %}{% if m.role == 'assistant' %}${answer}</s>{% else %}<u>{{ m.content | trim }}</s>{% endif %}{% endfor %}`;
const thoughts = '{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}';
const tags = { switch: null, open: '<think>', close: '</think>', final: null };

async function begun(
  chatTemplate: string,
  thinking: object | null,
  answer: object,
  asked?: boolean,
): Promise<string[]> {
  const rest = { bos_token: null, eos_token: '</s>', stop: ['</s>'], context_length: 64 };
  writeFileSync(path, JSON.stringify({ chat_template: chatTemplate, thinking, ...rest }));
  const messages = [
    { role: 'user', content: 'One?' },
    { role: 'assistant', content: '', ...answer },
  ];
  const { prompt, rest: text } = (await readTemplate(path)).renderBegun(messages, asked);
  return [prompt, text];
}

test('an answer goes on behind its prompt as it stands, without the end of its turn', async () => {
  const template = `${turns('<a>{{ m.content | trim }}')}{% if add_generation_prompt %}<a>{% endif %}`;
  assert.equal(await begun(template, null, { content: ' Two \n' }), ['<u>One?</s><a>', ' Two \n']);
  const spaced = `${turns('[/INST] {{ m.content }}')}{% if add_generation_prompt %}[/INST]{% endif %}`;
  assert.equal(await begun(spaced, null, { content: 'Two' }), ['<u>One?</s>[/INST]', ' Two']);
});

test('reasoning is written as in training, whether the prompt begins it or not, and may be cut itself', async () => {
  const plain = { ...tags, opens: false, opens_on: false };
  const kept = `${turns(`<a>${thoughts}{{ m.content }}`)}{% if add_generation_prompt %}<a>{% endif %}`;
  const prompt = '<u>One?</s><a>';
  const whole = { content: 'Two', reasoning_content: 'One is odd.' };
  assert.equal(await begun(kept, plain, whole), [prompt, '<think>\nOne is odd.\n</think>\n\nTwo']);
  const cut = { reasoning_content: 'One is' };
  assert.equal(await begun(kept, plain, cut), [prompt, '<think>\nOne is']);
  assert.equal(await begun(kept, plain, { content: 'Two' }), [prompt, 'Two']);
  // A template that begins the reasoning, and leaves out that of answers.
  const opening = `${turns('<a>{{ m.content }}')}{% if add_generation_prompt %}<a><think>\n{% endif %}`;
  const opens = { ...tags, opens: true, opens_on: true };
  assert.equal(await begun(opening, opens, cut), [`${prompt}<think>\n`, 'One is']);
  assert.equal(await begun(opening, opens, whole), [`${prompt}<think>\n`, 'One is odd.\n</think>\n\nTwo']);
  // What was asked without reasoning goes on without it.
  const closed = `${prompt}<think>\n\n</think>\n\n`;
  assert.equal(await begun(opening, opens, { content: 'Two' }, false), [closed, 'Two']);
  const none = begun(kept.replace(thoughts, ''), null, cut);
  assert.match(await none.catch(({ message }) => message), 'does not take up reasoning');
});

test('the tokens are those of one text, unless the tokenizer would join the prompt with the answer', () => {
  const tokenize = (text: string) =>
    (text.match(/ab|./g) ?? []).map((piece) => piece.charCodeAt(0) * piece.length);
  assert.equal(joinTokens({ prompt: 'xa', rest: 'yab' }, tokenize), tokenize('xayab'));
  assert.equal(joinTokens({ prompt: 'xa', rest: 'bab' }, tokenize), [...tokenize('xa'), ...tokenize('bab')]);
});

test.run();
