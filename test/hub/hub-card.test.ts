import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type CardFacts, writeCard } from '../../src/domain/models/hub-card.ts';

const model = {
  name: 'support',
  displayName: 'support · 3 epochs',
  notes: '',
  tags: ['ours', 'lora'],
  task: 'text-generation',
  strategy: 'sft',
  provider: 'standard',
  datasetName: 'rows.jsonl',
  createdAt: '2026-11-21T12:00:00.000Z',
  config: { lora_r: 16, reward_model: null, teacher: '/home/ada/models/wise' },
  metrics: { eval_loss: 0.5 },
  export: { state: 'done', files: [] },
  verification: { passed: true, tokens_differ: { text: 'a private row' } },
} as unknown as CardFacts['model'];
const card = (changes: Partial<CardFacts> = {}) =>
  writeCard({
    model,
    repository: 'ada/support',
    baseId: 'Qwen/Qwen3-0.6B',
    baseName: 'Qwen3-0.6B',
    license: 'apache-2.0',
    taskType: 'CAUSAL_LM',
    baseClass: null,
    ggufs: ['support-Q8_0.gguf'],
    hasModelfile: true,
    vision: null,
    onPublicHub: true,
    ...changes,
  });

test('llama.cpp loads the file by name from the public hub alone', () => {
  assert.match(card(), 'llama-cli -hf ada/support:Q8_0 -cnv');
  const elsewhere = card({ onPublicHub: false });
  assert.not.match(elsewhere, '-hf ada/support');
  assert.match(elsewhere, 'llama-cli -m support/support-Q8_0.gguf -cnv');
  assert.match(card({ ggufs: ['odd.gguf'] }), 'llama-cli -m support/odd.gguf -cnv');
  assert.not.match(card({ ggufs: [] }), 'llama-cli');
});

test('a card says by how many tokens a file was quantized', () => {
  const file = { quantization: 'Q4_K_M', state: 'done', reason: null, importance_tokens: 2048 } as const;
  const made = { ...model, export: { ...model.export, files: [file] } };
  const text = card({ model: made, ggufs: ['support-Q8_0.gguf', 'support-Q4_K_M.gguf'] });
  assert.match(
    text,
    '| `support-Q4_K_M.gguf` | base and adapter merged into one file, for llama.cpp; quantized with an importance matrix from 2048 tokens of its rows |',
  );
  assert.is(text.match(/importance matrix/g)?.length, 1);
});

test('a card names base, license, tags, settings and figures, and no row', () => {
  const text = card();
  for (const part of [
    'base_model: "Qwen/Qwen3-0.6B"',
    'license: "apache-2.0"',
    '[`Qwen/Qwen3-0.6B`](https://huggingface.co/Qwen/Qwen3-0.6B)',
    '| `lora_r` | `16` |',
    '| `teacher` | `wise` |',
    '| `eval_loss` | `0.5` |',
    'Trained on 2026-11-21.',
    '`Modelfile`',
  ]) {
    assert.ok(text.includes(part), part);
  }
  assert.not.match(text, 'private row');
  assert.not.match(text, 'reward_model');
  assert.is(text.match(/^ {2}- "lora"$/gm)?.length, 1);
});

test('a card says what its files are of, unless that is the trained adapter', () => {
  assert.not.match(card(), 'The files have');
  const chosen = { strength: 0.5, checkpoint: 40 };
  const text = card({ model: { ...model, export: { ...model.export, chosen } } });
  assert.match(
    text,
    'The files have 50% of the strength of the adapter of step 40; the metrics are those of',
  );
});

test('a local base is named without its folder, and what is not known is left out', () => {
  const text = card({ baseId: null, license: null });
  assert.match(text, '`Qwen3-0.6B` (a local model)');
  assert.not.match(text, 'base_model');
  assert.not.match(text, 'license:');
});

test.run();
