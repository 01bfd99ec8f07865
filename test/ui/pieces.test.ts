import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { recommendedFor } from '../../src/contract/settings.ts';
import { trainingRequest } from '../../src/domain/training/training-request.ts';
import { toServiceError } from '../../ui/api/request.ts';
import {
  formatBytes,
  formatDuration,
  formatMemory,
  formatNumber,
  formatPercent,
} from '../../ui/elements/format.ts';
import {
  answererFields,
  answererName,
  canAnswer,
  canScale,
  firstWords,
  type ModelFacts,
  weightsOf,
} from '../../ui/pages/playground/answerer.ts';
import { contextUse } from '../../ui/pages/playground/chat/context-meter.ts';
import { differences, type Piece } from '../../ui/pages/playground/differences.ts';
import {
  derivedHint,
  groupsFor,
  rangeText,
  readSetting,
  readSettings,
  type SettingField,
  settingField,
  valueIfLeftOut,
} from '../../ui/settings/setting-values.ts';
import { withoutBegunStop } from '../../ui/state/playground/begun-stop.ts';
import { RunSeries } from '../../ui/state/runs/series.ts';
import { findEntries } from '../../ui/views/shell/find-entries.ts';

const fields = ['rlhf', 'grpo'].flatMap((strategy) => groupsFor(strategy)).flatMap((group) => group.fields);
/** What says in a request what answers. */
const sentFields = (...given: Parameters<typeof answererFields>) =>
  JSON.parse(JSON.stringify(answererFields(...given)));
const required = { task: 'text-generation', model_name: 'owner/name', dataset: 'a.jsonl' };
const accepts = (name: string, value: unknown) =>
  v.safeParse(trainingRequest, { ...required, [name]: value }).success;

test('every field of the form is a field of the request, and each bound is the service’s own', () => {
  const judge = (field: SettingField, value: number) => {
    const read = readSetting(field, String(value));
    const ours = 'value' in read;
    assert.is(ours, accepts(field.name, value), `${field.name} = ${value}: the form says ${ours}`);
  };
  for (const field of fields) {
    assert.ok(field.name in trainingRequest.entries, field.name);
    if (field.kind !== 'number' && field.kind !== 'integer') continue;
    const { min, max, special } = field;
    for (const bound of [min, max, special?.value]) {
      if (bound === undefined) continue;
      const near = field.kind === 'integer' ? [-1, 0, 1] : [-0.001, 0, 0.001];
      for (const by of near) judge(field, bound + by);
    }
    judge(field, -2);
    assert.is.not(rangeText(field), '', field.name);
  }
});

test('every setting of a request has a field in the form of some strategy', () => {
  const inForm = new Set(
    ['sft', 'qlora', 'dpo', 'rlhf', 'grpo', 'distill']
      .flatMap((strategy) => groupsFor(strategy))
      .flatMap((group) => group.fields.map(({ name }) => name)),
  );
  const without = Object.keys(trainingRequest.entries).filter((name) => !inForm.has(name as never));
  // What is chosen elsewhere on the page, or by whoever calls the API.
  const elsewhere =
    'task model_name merge_adapter dataset validation_dataset provider strategy export queue compute_specs report_to project'.split(
      ' ',
    );
  assert.equal(without.sort(), elsewhere.sort());
});

test('an empty field means the recommended value, and text that is not a number is an error', () => {
  const field = fields.find(({ name }) => name === 'lora_r') as SettingField;
  assert.equal(readSetting(field, ' '), { value: undefined });
  assert.ok('fault' in readSetting(field, 'many'));
  assert.ok('fault' in readSetting(field, '1.5'));
  assert.ok('fault' in readSetting(field, 'Infinity'));
});

test('with full, the form has no settings of low-rank adapters, and sends none', () => {
  const names = groupsFor('sft', 'full').flatMap((group) => group.fields.map(({ name }) => name));
  const hidden = [...new Set(fields.map(({ name }) => name))].filter((name) => !names.includes(name));
  assert.equal(hidden.filter((name) => name.startsWith('lora_') || name.startsWith('target_')).sort(), [
    'lora_alpha',
    'lora_dropout',
    'lora_r',
    'target_experts',
    'target_modules',
  ]);
  assert.ok(names.includes('adapter'));
  const texts = { adapter: 'full', lora_r: '8', learning_rate: '1e-4' };
  assert.equal(readSettings({ settings: texts, strategy: 'sft' }), { adapter: 'full', learning_rate: 1e-4 });
  assert.equal(recommendedFor({ adapter: 'full' }), { learning_rate: 2e-5, use_4bit: false });
  assert.equal(recommendedFor({}), {});
  assert.equal(recommendedFor({ new_tokens: '<a>', modules_to_save: '' }), { use_4bit: false });
  assert.equal(recommendedFor({ new_tokens: '' }), {});
});

test('a derived field shows what the form makes it, and its hint says from what', () => {
  const alpha = settingField('lora_alpha', 'sft') as SettingField;
  const shown = (settings: Record<string, string>) =>
    valueIfLeftOut(alpha, { settings, strategy: 'sft' }, { lora_r: 16, lora_alpha: 32 });
  assert.is(shown({}), 32);
  assert.is(shown({ lora_r: '8' }), 16);
  assert.is(shown({ lora_r: 'many' }), 32);
  assert.is(derivedHint(alpha), 'Default: 2 × LoRA rank.');
  const rank = settingField('lora_r', 'sft') as SettingField;
  assert.is(valueIfLeftOut(rank, { settings: { lora_r: '8' }, strategy: 'sft' }, { lora_r: 16 }), 16);
  assert.is(derivedHint(rank), '');
});

test('errors in every format, and the page of a proxy, become messages', () => {
  assert.is(toServiceError('GET /a', 404, '{"detail":"There is none."}').message, 'There is none.');
  assert.is(toServiceError('GET /a', 404, '{"error":{"message":"No model."}}').message, 'No model.');
  const refused = toServiceError(
    'POST /a',
    400,
    '{"detail":[{"loc":["body","lora_r"],"msg":"too small","type":"x"}]}',
  );
  assert.equal(refused.faults, [{ field: 'lora_r', message: 'too small' }]);
  assert.is(refused.message, 'too small');
  const strange = toServiceError('GET /a', 502, '<html>Bad gateway</html>');
  assert.is(strange.message, 'The service answered with status 502.');
  assert.match(strange.detail, 'Bad gateway');
});

test('numbers are readable, and an unknown is never invented', () => {
  assert.equal(
    [null, Number.NaN, 0, 0.0002, 1.23456, 12345, 2e8].map((value) => formatNumber(value)),
    ['–', '–', '0', '2e-4', '1.23', '12,345', '2e8'],
  );
  assert.equal([null, 950, 1_220_000].map(formatBytes), ['–', '950 B', '1.22 MB']);
  assert.is(formatMemory(24 * 2 ** 30), '24.0 GB');
  assert.equal(
    [null, Number.NaN, 0, 0.00312, 0.98234, 0.99999, 1].map((value) => formatPercent(value)),
    ['–', '–', '0%', '0.312%', '98.2%', '99.9%', '100%'],
  );
  assert.equal([null, 59.6, 61, 3_700, 200_000].map(formatDuration), [
    '–',
    '1 min 0 s',
    '1 min 1 s',
    '1 h 2 min',
    '2 d 7 h',
  ]);
});

test('a series keeps steps in order, and replaces what a resumed run wrote again', () => {
  const series = new RunSeries();
  for (let step = 1; step <= 6; step += 1) series.add({ step, loss: step });
  series.add({ step: 4, loss: 40 });
  assert.equal(series.steps, [1, 2, 3, 4, 5, 6]);
  assert.equal(series.columns.loss, [1, 2, 3, 40, 5, 6]);
  series.addEval({ step: 4, metrics: { eval_loss: 2 } });
  series.addEval({ step: 2, metrics: { eval_loss: 3 } });
  series.addEval({ step: 4, metrics: { eval_loss: 1 } });
  assert.equal(
    series.evals.map(({ step, metrics }) => [step, metrics?.eval_loss]),
    [
      [2, 3],
      [4, 1],
    ],
  );
});

test('figures of a strategy, of evaluations and of the machine stand at their steps', () => {
  const series = new RunSeries();
  series.add({ step: 1, loss: 3 });
  series.add({ step: 2, loss: 2, extra: { kl: 0.5 } });
  series.addEval({ step: 2, metrics: { eval_loss: 2.5 } });
  series.addEval({ step: 4, metrics: { eval_loss: 1.5 } });
  const hardware = { gpu_peak_bytes: 8, gpu_mean_utilization_percent: 50, gpu_watt_hours: 0.1 };
  series.add({ step: 4, loss: 1, hardware: { ...hardware, seconds: 2, cpu_mean_percent: null } });
  series.add({ step: 3, loss: 1.5, extra: { kl: 0.25 } });
  assert.equal(series.steps, [1, 2, 3, 4]);
  assert.equal(series.extras.get('kl'), [null, 0.5, 0.25, null]);
  assert.equal(series.columns.gpu_watts, [null, null, null, 180]);
  assert.ok(series.filled.has('gpu_percent') && !series.filled.has('cpu_percent'));
  // The evaluation of step 4 came before the step itself, as it may over a new connection.
  series.addEval({ step: 4, metrics: { eval_loss: 1.5 } });
  assert.equal(series.evaluated.get('eval_loss'), [null, 2.5, null, 1.5]);
  series.clear();
  assert.equal([series.steps.length, series.extras.size, series.evaluated.size], [0, 0, 0]);
});

test('a run that grows without end stays within a bound, its newest step and its evaluations kept', () => {
  const series = new RunSeries();
  series.addEval({ step: 100_000, metrics: { eval_loss: 2 } });
  for (let step = 1; step <= 400_000; step += 1) {
    series.add({ step, loss: 1, extra: { kl: step } });
    if (step === 200_000) series.addEval({ step, metrics: { eval_loss: 1 } });
  }
  const { steps, seconds, extras, evaluated, columns } = series;
  assert.ok(steps.length <= 150_000 && steps.length > 50_000);
  assert.is(steps.at(-1), 400_000);
  for (const column of [seconds, columns.loss, extras.get('kl'), evaluated.get('eval_loss')]) {
    assert.is(column?.length, steps.length);
  }
  assert.ok(steps.every((step, index) => index === 0 || step > (steps[index - 1] as number)));
  assert.ok(extras.get('kl')?.every((value, index) => value === steps[index]));
  assert.is(evaluated.get('eval_loss')?.filter((value) => value !== null).length, 2);
});

test('the words in which two texts differ are marked, and texts with little in common are not', () => {
  const [left, right] = differences('We will mail you the invoice.', 'We will soon mail the invoice.') ?? [
    [],
    [],
  ];
  const marked = (pieces: readonly Piece[]) =>
    pieces.filter(({ differs }) => differs).map(({ text }) => text);
  assert.is(left.map(({ text }) => text).join(''), 'We will mail you the invoice.');
  assert.is(right.map(({ text }) => text).join(''), 'We will soon mail the invoice.');
  assert.equal([marked(left), marked(right)], [[' you'], [' soon']]);
  assert.is(differences('same', 'same'), null);
  assert.is(differences('one two three four five', 'six seven eight nine five'), null);
  assert.is(differences('', 'something'), null);
  const long = 'word '.repeat(3_000);
  assert.is(differences(long, `${long}more`), null, 'too long to compare');
});

test('a model offers the weights that it has, and says when it must be loaded first', () => {
  const whole: ModelFacts = {
    ...{
      name: 'support',
      dataset: 'support.jsonl',
      hasChatTemplate: true,
      contextTokens: 64,
      systemPrompt: null,
      tools: [],
      toolsFault: null,
      runId: null,
    },
    ...{ isTrained: false, hasAdapter: true, quantizations: ['Q8_0', 'Q4_0'], steps: [1000], isBase: false },
  };
  const trained = { ...whole, isTrained: true, hasAdapter: false, quantizations: [], steps: [2] };
  const offered = (one: ModelFacts) => weightsOf(one).map(({ value }) => value);
  assert.equal(offered(whole), ['', 'file:Q8_0', 'file:Q4_0', 'step:1000', 'base']);
  assert.equal(offered(trained), ['', 'step:2', 'base'], 'no file');
  const alone = { ...whole, hasAdapter: false, quantizations: ['Q8_0'], steps: [] };
  assert.equal(offered(alone), ['', 'file:Q8_0'], 'its base cannot be had');

  const answerer = { modelId: 'id', weights: 'step:1000', scale: 0.5 };
  assert.is(answererName(whole, answerer), 'support · Checkpoint at step 1,000 · strength 0.50');
  assert.is(answererName(trained, answerer), 'support · Fine-tuned');
  assert.equal(sentFields(whole, answerer), { model: 'id', checkpoint: 1000, scale: 0.5 });
  assert.equal(sentFields(whole, { ...answerer, weights: 'base' }), { model: 'id', as_base: true });
  assert.equal(sentFields(trained, answerer), { model: 'id' }, 'weights that it no longer has');
  const inFile = { ...answerer, weights: 'file:Q4_0' };
  assert.equal(sentFields(whole, inFile), { model: 'id', file: 'Q4_0' });
  assert.is(answererName(whole, inFile), 'support · Q4_0 file');
  assert.ok(canScale(whole, answerer) && !canScale(whole, { ...answerer, weights: 'base' }));
  assert.not(canScale(trained, answerer));
  assert.match(firstWords(trained, answerer), 'loading the model');
  assert.match(firstWords(whole, answerer), 'preparing the checkpoint');
  assert.is(firstWords(whole, { ...answerer, weights: '' }), 'generating…');
});

test('the context in use is that of the latest answer whose tokens are known, and of the fullest side', () => {
  const whole: ModelFacts = {
    ...{
      name: 'support',
      dataset: 'support.jsonl',
      hasChatTemplate: true,
      contextTokens: 64,
      systemPrompt: null,
      tools: [],
      toolsFault: null,
      runId: null,
    },
    ...{ isTrained: false, hasAdapter: true, quantizations: [], steps: [], isBase: false },
  };
  const sideOf = (facts: Partial<ModelFacts>) => ({
    ...{ answerer: { modelId: 'id', weights: '', scale: 1 }, error: null },
    facts: { ...whole, ...facts },
  });
  const answered = (promptTokens: number | null, tokens: number | null) => ({
    ...{ name: 'support', first: '', text: 'Yes.', busy: false, error: null, stopped: false },
    answer: tokens === null ? null : { tokens, promptTokens, generationMs: 1, firstTokenMs: 1 },
  });
  const said = (...sides: ReturnType<typeof answered>[]) => ({
    ...{ id: 'a', after: '', system: '', prompt: 'Yes?', results: [] },
    sides,
  });
  const [small, large] = [sideOf({}), sideOf({ contextTokens: 1000 })];
  assert.is(contextUse([], [small]), null);
  assert.equal(contextUse([said(answered(20, 10))], [small]), { tokens: 30, most: 64, isLeast: false });
  assert.equal(contextUse([said(answered(20, 10)), said(answered(null, null))], [small]), {
    ...{ tokens: 30, most: 64, isLeast: true },
  });
  const pair = [said(answered(30, 10), answered(99, 1))];
  assert.equal(contextUse(pair, [small, large]), { tokens: 40, most: 64, isLeast: false });
  assert.equal(contextUse(pair, [sideOf({ hasChatTemplate: false }), large])?.tokens, 100);
  assert.is(contextUse(pair, [sideOf({ contextTokens: null })]), null);
});

test('an answer goes on before what may be the beginning of a stop string', () => {
  for (const [text, stops, left] of [
    ['One. ##', ['###'], 'One. '],
    ['One. ###', ['###'], 'One. #'],
    ['One, EN', ['OR', 'END', 'N!'], 'One, '],
    ['One', ['END', ''], 'One'],
    ['#', ['##'], ''],
    ['', ['##'], ''],
  ] as const)
    assert.is(withoutBegunStop(text, stops), left, text);
});

test('a run without a model offers its checkpoints, the latest first', () => {
  const run: ModelFacts = {
    ...{
      name: 'train_7',
      dataset: 'support.jsonl',
      hasChatTemplate: true,
      contextTokens: 64,
      systemPrompt: null,
      tools: [],
      toolsFault: null,
      runId: 'train_7',
    },
    ...{ isTrained: false, hasAdapter: true, quantizations: [], steps: [4, 8], isBase: false },
  };
  assert.equal(
    weightsOf(run).map(({ value }) => value),
    ['step:8', 'step:4', 'base'],
  );
  const latest = { modelId: 'id', weights: '', scale: 1 };
  assert.equal(sentFields(run, latest), { model: 'id', checkpoint: 8 });
  const base = { ...latest, weights: 'base' };
  assert.equal(sentFields(run, base), { model: 'id', checkpoint: 8, scale: 0 });
  assert.match(firstWords(run, base), 'preparing the checkpoint');
  assert.ok(canAnswer(run));
  assert.not(canAnswer({ ...run, steps: [] }));
  assert.equal(weightsOf({ ...run, steps: [] }), []);
});

test('what is searched is found by every word, those that begin a name or a word first', () => {
  const entries = ['retrain', 'My train', 'train', 'Other', 'İstanbul 🚂train', 'schließen'].map((name) => ({
    ...{ key: name, kind: 'Run', name, choose: () => undefined },
    details: name === 'Other' ? ['train_7', 'owner/Base'] : ['owner/base'],
  }));
  const find = (query: string) => findEntries(entries, query).map(({ name }) => name);
  assert.equal(find('  TRAIN '), ['train', 'My train', 'İstanbul 🚂train', 'retrain', 'Other']);
  assert.equal(find('base train_7'), ['Other']);
  assert.equal(find('my in'), ['My train']);
  assert.equal(find('ß'), ['schließen']);
  assert.equal(find('.*'), []);
  assert.equal(
    find(' '),
    entries.map(({ name }) => name),
  );
});

test.run();
