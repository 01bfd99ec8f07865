import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { derivedExport } from '../../src/contract/derived-export.ts';
import { type CardFacts, writeCard } from '../../src/domain/models/hub-card.ts';
import { type Json, root } from '../service.ts';

const facts = (changes: Partial<CardFacts> = {}, model: Partial<CardFacts['model']> = {}): CardFacts => ({
  model: {
    id: 1,
    modelId: '00000000-0000-4000-8000-000000000000',
    jobId: 1,
    name: 'tiny-support',
    baseModel: 'someone/tiny',
    task: 'text-generation',
    provider: 'standard',
    strategy: 'sft',
    datasetName: 'support.jsonl',
    createdAt: '2026-01-01T00:00:00.000Z',
    sizeBytes: 1,
    path: '/models/x',
    config: { lora_r: 16, target_modules: ['q_proj', 'v_proj'], reward_model: 'plain', seed: null },
    metrics: { final_loss: 0.5, eval_loss: null },
    gain: null,
    verification: {
      passed: false,
      agreement: 1,
      tokens_equal: 0,
      reason: 'only 0 of 2 texts become the same tokens',
      tokens_differ: { text: 'My secret row', from_token: 0, trained: [1], gguf: [2] },
    },
    export: derivedExport([]),
    artifacts: [],
    displayName: 'support · 3 epochs · 2e-4',
    notes: 'A note',
    tags: [],
    ...model,
  },
  repository: 'alice/tiny-support',
  baseId: 'someone/tiny',
  baseName: 'someone/tiny',
  license: 'apache-2.0',
  taskType: 'CAUSAL_LM',
  ggufs: ['model-Q8_0.gguf'],
  hasModelfile: true,
  baseClass: null,
  vision: null,
  onPublicHub: true,
  ...changes,
});

function readCards(cards: readonly string[]): Json[] {
  const python = join(root, 'trainer', '.venv', 'bin', 'python');
  const input = JSON.stringify(cards);
  return JSON.parse(
    execFileSync(python, [join(root, 'test', 'hub', 'read_cards.py')], { input, encoding: 'utf8' }),
  );
}

/** What somebody could call a dataset, a folder or a licence to break out of where it is put. */
const hostile = [
  '"\nlicense: mit\n---\n# Owned',
  "'; rm -rf ~; echo '",
  '```\n# Owned\n<script>alert(1)</script>',
  '`<img src=x onerror=alert(1)>`',
  'a | b \\| c ]( [x](javascript:alert(1)) **bold** <b>',
  '\u2028\u2029\u0085\u0000\u001b[31m\u202eevil\ufeff',
  '---\n---\n\n- x\n\n***',
  'emoji 😀 and ünïcode',
];

const cards = [
  facts(),
  ...hostile.map((text) =>
    facts(
      { baseName: text, license: text },
      {
        name: text,
        displayName: text,
        notes: `First line\n${text}`,
        tags: [text],
        datasetName: text,
        config: { lora_r: 16, target_modules: ['q_proj'], reward_model: text },
      },
    ),
  ),
  ...hostile.map((text) => facts({ baseId: null, baseName: text }, { name: text, datasetName: text })),
  facts({ baseId: null, baseName: 'plain', license: null }),
  facts(
    { ggufs: [], hasModelfile: false, taskType: 'QUESTION_ANS' },
    { task: 'extractive-question-answering', verification: null },
  ),
  facts({ taskType: 'SEQ_2_SEQ_LM', ggufs: [] }, { task: 'summarization', metrics: {} }),
];
let read: Json[];

test.before(() => {
  read = readCards(cards.map(writeCard));
});

test('the metadata are what the hub indexes', () => {
  assert.equal(read[0].metadata, {
    base_model: 'someone/tiny',
    base_model_relation: 'adapter',
    license: 'apache-2.0',
    library_name: 'peft',
    pipeline_tag: 'text-generation',
    tags: ['hone', 'lora', 'gguf', 'sft', 'text-generation'],
  });
  assert.is(read.at(-2).metadata.pipeline_tag, 'question-answering');
  assert.not.ok(read.at(-2).metadata.tags.includes('gguf'));
  assert.is(read.at(-1).metadata.pipeline_tag, 'summarization');
  assert.is(read.at(-3).metadata.base_model, undefined);
  assert.is(read.at(-3).metadata.license, undefined);
});

test('a card has the name, notes and tags of its model', () => {
  const card = writeCard(
    facts({}, { displayName: 'Replies of October', notes: 'One\nTwo', tags: ['ready'] }),
  );
  assert.match(card, '\n`Replies of October`\n');
  assert.match(card, '```text\nOne\nTwo\n```');
  assert.match(card, '  - "text-generation"\n  - "ready"\n');
  assert.not.match(writeCard(facts({}, { notes: ' \n' })), '```text');
});

test('a card of a whole model loads it without PEFT', () => {
  const config = { adapter: 'full' };
  const whole = facts({ baseClass: 'LlamaForCausalLM' }, { config });
  const card = writeCard(whole);
  assert.match(card, 'model = LlamaForCausalLM.from_pretrained("alice/tiny-support")');
  assert.match(card, 'tokenizer.apply_chat_template(');
  assert.match(card, '| `model.safetensors`, `config.json` |');
  assert.not.match(card, 'peft');
  const { metadata } = readCards([card])[0] as Json;
  assert.equal([metadata.library_name, metadata.base_model_relation], ['transformers', 'finetune']);
  assert.not.ok(metadata.tags.includes('lora'));
  const t5 = facts({ baseClass: 'T5ForConditionalGeneration' }, { config, task: 'summarization' });
  assert.match(writeCard(t5), 'inputs = tokenizer("The text to summarize.", return_tensors="pt")');
});

test('a card gives a base model rows for new tokens before it loads the adapter', () => {
  const card = writeCard(facts({ baseId: null }, { config: { new_tokens: ['<team>'] } }));
  const [resized, loaded] = ['base.resize_token_embeddings(max(size', 'PeftModel.from_pretrained(base'];
  assert.ok(card.includes(resized) && card.indexOf(resized) < card.indexOf(loaded), card);
  assert.not.match(writeCard(facts({ baseId: null })), 'resize_token_embeddings');
});

test('a card loads an adapter of a text part with the class that it fits', () => {
  const card = writeCard(facts({ baseClass: 'Gemma3ForCausalLM', vision: 'mmproj-F16.gguf' }));
  assert.match(card, 'from transformers import AutoConfig, AutoTokenizer, Gemma3ForCausalLM');
  assert.match(
    card,
    'base = Gemma3ForCausalLM.from_pretrained("someone/tiny", config=config, key_mapping=names)',
  );
  assert.match(card, '| `mmproj-F16.gguf` |');
  const whole = writeCard(facts({ baseClass: 'Qwen3VLForConditionalGeneration' }));
  assert.match(whole, 'base = Qwen3VLForConditionalGeneration.from_pretrained("someone/tiny")');
});

test('differing tokens are reported without the row that shows them', () => {
  const text = read[0].texts.join('\n');
  assert.match(text, 'only 0 of 2 texts become the same tokens');
  assert.not.match(text, 'secret');
  assert.not.match(text, 'tokens_differ');
});

test('no name ends the metadata or becomes markup', () => {
  const [plain] = read;
  const local = read.at(-3);
  for (const [index, text] of hostile.entries()) {
    const onHub = read[1 + index];
    assert.is(onHub.metadata.license, text, 'the text survives as it is');
    assert.equal(Object.keys(onHub.metadata).sort(), Object.keys(plain.metadata).sort());
    for (const [card, model] of [
      [onHub, plain],
      [read[1 + hostile.length + index], local],
    ]) {
      assert.equal(card.types, model.types, JSON.stringify(text));
      assert.not.ok(
        card.inline.some((type: string) => /html|image|strong|em_/.test(type)),
        JSON.stringify(text),
      );
      const links = card.inline.filter((type: string) => type === 'link_open').length;
      assert.is(links, model.inline.filter((type: string) => type === 'link_open').length);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      assert.not.match(card.texts.join('\n'), /[\u0000-\u0009\u000b-\u001f\u0085\u2028\u2029\u202e]/);
    }
  }
});

test('a name in a shell command is quoted', () => {
  for (const [index, text] of hostile.entries()) {
    const block = read[1 + index].texts.find((content: string) => content.startsWith('curl '));
    const body = execFileSync('sh', ['-c', block.replace(/^curl [\s\S]*?-d /, 'printf %s ')], {
      encoding: 'utf8',
    });
    assert.is(JSON.parse(body).model, text);
  }
});

test('each kind of model has the snippet of its class', () => {
  const text = (card: Json) => card.texts.join('\n');
  assert.ok(text(read[0]).includes('AutoPeftModelForCausalLM'));
  assert.ok(text(read[0]).includes('llama-cli -hf alice/tiny-support:Q8_0'));
  assert.ok(text(read.at(-1)).includes('AutoPeftModelForSeq2SeqLM'));
  assert.ok(text(read.at(-2)).includes('AutoPeftModelForQuestionAnswering'));
  assert.not.ok(text(read.at(-2)).includes('llama-cli'));
  assert.ok(text(read.at(-3)).includes('PeftModel.from_pretrained(base'));
});

test.run();
