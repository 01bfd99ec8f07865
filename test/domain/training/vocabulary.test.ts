import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { type ModelKind, unknownKind } from '../../../src/domain/base-models/gguf/gguf-verdict.ts';
import { judgeVocabulary } from '../../../src/domain/training/judge-vocabulary.ts';
import { type SettingsContext, settingsOf } from '../../../src/domain/training/settings.ts';
import { trainingRequest } from '../../../src/domain/training/training-request.ts';
import { createFaults } from '../../../src/faults.ts';

const context = { profile: 'high_end', defaultBatchSize: null, cuda: false, quantizes: true } as const;
const decoder = { ...unknownKind, architecture: 'LlamaForCausalLM' };

function issuesOf(changes: object, kind: ModelKind = decoder, goesOn = false, refused: string[] = []) {
  const faults = createFaults();
  const fields = { task: 'text-generation', model_name: 'a/b', dataset: 'd', ...changes };
  const { strategy = 'sft', provider = 'standard' } = fields as { strategy?: string; provider?: string };
  const settings = settingsOf(fields, context as unknown as SettingsContext);
  judgeVocabulary(
    { fields, refused: new Set(refused) },
    { settings, strategy, provider },
    kind,
    goesOn,
    faults,
  );
  return faults.issues().map(({ loc, msg }) => `${loc.at(-1)}: ${msg}`);
}

const both = [{ modules_to_save: ['lm_head'] }, { new_tokens: ['<a>'] }];

test('embeddings and new tokens go with every adapter of sft, and without them nothing is judged', () => {
  for (const asked of both)
    for (const adapter of ['lora', 'rslora', 'dora']) assert.equal(issuesOf({ ...asked, adapter }), []);
  assert.equal(issuesOf({ new_tokens: ['<a>'], adapter: 'full' }), []);
  assert.equal(issuesOf({ strategy: 'dpo', use_4bit: true, workers: 2 }), []);
  assert.equal(issuesOf({ new_tokens: ['<a>'] }, unknownKind), [], 'a model of which nothing is known yet');
  for (const asked of both) {
    const onGpu = { profile: 'mid_range', defaultBatchSize: null, cuda: true, quantizes: true } as const;
    assert.is(settingsOf(asked, onGpu).use_4bit, false, 'the profile’s 4 bits are left out');
    assert.is(settingsOf({ ...asked, use_4bit: true }, onGpu).use_4bit, true);
  }
});

test('what does not go with either is an error that says what to choose instead', () => {
  for (const asked of both) {
    const [setting = ''] = Object.keys(asked);
    for (const [changes, field, instead] of [
      [{ strategy: 'dpo' }, 'strategy', 'set strategy to sft'],
      [{ strategy: 'qlora' }, 'strategy', 'set strategy to sft'],
      [{ provider: 'accelerated' }, 'provider', 'set provider to standard'],
      [{ use_4bit: true }, 'use_4bit', 'set use_4bit to false'],
      [{ use_8bit: true }, 'use_8bit', 'set use_8bit to false'],
      [{ workers: 2 }, 'workers', 'set workers to 1'],
      [{ merge_adapter: true }, 'merge_adapter', 'merge the adapter with PEFT'],
    ] as const) {
      const [issue = '', ...others] = issuesOf({ ...asked, ...changes });
      assert.equal(others, [], JSON.stringify(changes));
      assert.ok(issue.startsWith(`${field}: `), issue);
      assert.match(issue, setting);
      assert.match(issue, instead);
      assert.equal(
        issuesOf({ ...asked, ...changes }, decoder, false, [field]),
        [],
        'a field that is unreadable',
      );
    }
    const stored = issuesOf(asked, { ...decoder, quantization: 'fp8' });
    assert.match(stored[0] ?? '', /^model_name: .*quantized \(fp8\); choose the 16-bit version/);
    const family = issuesOf(asked, { ...decoder, architecture: 'T5ForConditionalGeneration' });
    assert.match(family[0] ?? '', /^model_name: .*decoder of text.*choose another model/);
    const goesOn = issuesOf({ ...asked, merge_adapter: true }, decoder, true);
    assert.match(goesOn.join(), /^model_name: .*trained here; name its merged GGUF file/);
  }
});

test('a layer is trained in one way, and an embedding never has an adapter', () => {
  const targets = (...names: string[]) => ({ target_modules: names });
  assert.match(issuesOf(targets('embed_tokens', 'q_proj'))[0] ?? '', /"modules_to_save": \["embed_tokens"\]/);
  assert.match(
    issuesOf(targets('model.wte'))[0] ?? '',
    /^target_modules: model\.wte is an embedding.*\["wte"\]/,
  );
  assert.equal(issuesOf(targets('lm_head')), [], 'the trainer knows whether it is the embedding, too');
  const twice = issuesOf({ modules_to_save: ['lm_head'], ...targets('lm_head', 'q_proj') });
  assert.match(twice[0] ?? '', /^target_modules: .*name it in modules_to_save or in target_modules/);
  const rows = issuesOf({ new_tokens: ['<a>'], ...targets('lm_head') });
  assert.match(rows[0] ?? '', /^target_modules: .*modules_to_save instead of target_modules/);
});

test('lists are read strictly', () => {
  const refusals = (changes: object) => {
    const fields = { task: 'text-generation', model_name: 'a/b', dataset: 'd', ...changes };
    const { success, issues } = v.safeParse(trainingRequest, fields);
    return success ? null : issues.map(({ message }) => message).join();
  };
  for (const tokens of [['<a>'], ['end of answer', 'Ж', '👩‍🔬', '▁', '"']])
    assert.is(refusals({ new_tokens: tokens }), null, tokens.join());
  for (const [tokens, says] of [
    [[], 'at least one text'],
    [[''], 'must not be empty'],
    [[' a'], 'white space'],
    [['a\nb'], 'line breaks'],
    [['a\0'], 'control characters'],
    [['\ud800'], 'control characters'],
    [['a', 'b', 'a'], 'new_tokens has a text twice'],
    [['a'.repeat(65)], '64'],
    [Array.from({ length: 513 }, (_, at) => `t${at}`), '512'],
    [{ 0: 'a' }, 'Array'],
    ['a', 'Array'],
  ] as const)
    assert.match(refusals({ new_tokens: tokens }) ?? '', says, JSON.stringify(tokens).slice(0, 40));
  assert.is(refusals({ modules_to_save: ['embed_tokens', 'lm_head'] }), null);
  for (const names of [['q_proj'], ['lm_head', 'lm_head'], [], 'lm_head'])
    assert.is.not(refusals({ modules_to_save: names }), null, JSON.stringify(names));
});

test.run();
