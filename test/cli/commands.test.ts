/** The commands that are clients of the service, as a script runs them: with pipes, against a real service. */
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import {
  endAll,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
} from '../service.ts';
import { runHone } from './run-hone.ts';

const folder = temporaryFolder();
let service: TestService;
let model = '';

const hone = (args: readonly string[], more: { env?: NodeJS.ProcessEnv; input?: string } = {}) =>
  runHone(args, {
    cwd: folder,
    input: more.input ?? '',
    env: { SERVICE_DATA_DIR: service.dataDir, HOME: folder, ...more.env },
  });
/** The JSON that a command printed, which must have succeeded. */
async function json(args: readonly string[]) {
  const { code, out, errors } = await hone([...args, '--json']);
  assert.is(code, 0, errors);
  return JSON.parse(out);
}

test.before(async () => {
  const { dataset: _dataset, model_name: _model, ...settings } = quickRequest();
  writeFileSync(join(folder, 'rows.jsonl'), supportRows());
  const lines = Object.entries(settings).map(([name, value]) => `${name}: ${value}`);
  writeFileSync(join(folder, 'settings.yaml'), `# quick\n${lines.join('\n')}\n`);
  service = await startService({ warm: true });
});
test.after(endAll);

test('lists are empty at first, and still have their headings', async () => {
  const { code, out } = await hone(['runs']);
  assert.is(code, 0);
  assert.match(out, /^RUN +STATE +DONE +LOSS +MODEL +CREATED +NAME\n$/);
  assert.equal(await json(['models']), { models: [] });
  assert.is((await hone(['logs'])).errors, 'hone: There is no training yet.\n');
});

test('the whole request has every default, and is a settings file', async () => {
  const asked = ['train', 'rows.jsonl', '--model', tinyModel('llama'), '--lora-r', '4', '--print-settings'];
  const { code, out, errors } = await hone(asked);
  assert.is(code, 0, errors);
  assert.match(out, /# The capacity of the adapter\..*\nlora_r: 4\n/);
  const request = parse(out);
  assert.is(request.dataset, join(folder, 'rows.jsonl'));
  assert.is(request.lora_alpha, 8, 'derived from the rank');
  assert.is(request.strategy, 'sft');
  assert.equal(request.export, { quantizations: ['Q8_0'] });
  writeFileSync(join(folder, 'whole.yaml'), out);
  const again = await hone(['train', '--settings', 'whole.yaml', '--print-settings']);
  assert.is(again.out, out);
  assert.equal((await json(['runs'])).jobs, [], 'nothing was trained');
});

test('a training is followed to its model, with plain lines in a pipe', async () => {
  const args = [
    'train',
    'rows.jsonl',
    '--model',
    tinyModel('llama'),
    '--settings',
    'settings.yaml',
    '--follow',
  ];
  const { code, out, errors } = await hone([...args, '--learning_rate=0.003']);
  assert.is(code, 0, errors);
  const name = /^train_1 is completed\. Its model is (\S+): hone chat \1$/m.exec(out)?.[1];
  assert.ok(name, out);
  model = name as string;
  assert.match(errors, /^Training +completed, final loss \d/m);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no sequence of a terminal may be there
  assert.not.match(out + errors, /\x1b/);
  const { settings } = (await service.call('GET', '/api/jobs/train_1')).body;
  assert.equal([settings.max_steps, settings.learning_rate], [6, 0.003], 'of the file, and of the flag');
  const { out: listed } = await hone(['models']);
  assert.match(listed, new RegExp(`^1 +${model} +.*rows\\.jsonl`, 'm'));
  assert.equal((await json(['runs', '--state', 'completed', '--limit', '1'])).total, 1);
  assert.equal((await json(['runs', '--state', 'failed'])).jobs, []);
});

test('logs and events of a training', async () => {
  const { code, out } = await hone(['logs', '-f']);
  assert.is(code, 0);
  assert.is(out, (await service.call('GET', '/api/jobs/train_1/log')).body);
  assert.ok(
    (await json(['logs', 'train_1'])).events.some(({ state }: { state?: string }) => state === 'completed'),
  );
});

test('a model answers a prompt of the command line and of a pipe', async () => {
  const flags = ['--temperature', '0', '--max-tokens', '8'];
  const asked = await hone(['chat', model, 'My parcel has not come.', ...flags]);
  assert.is(asked.code, 0, asked.errors);
  assert.ok(asked.out.length > 1);
  const piped = await hone(['chat', '1', ...flags], { input: 'My parcel has not come.\n' });
  assert.is(piped.out, asked.out);
  const { choices } = await json(['chat', model, 'My parcel has not come.', ...flags]);
  assert.is(`${choices[0].message.content}\n`, asked.out);
});

test('an evaluation prints its figures', async () => {
  const { code, out, errors } = await hone(['eval', 'rows.jsonl', '--model', model, '--rows', '3']);
  assert.is(code, 0, errors);
  assert.match(out, /^Loss +\d+\.\d+$/m);
});

test('exports: a GGUF file that is made, the adapter, LM Studio and Ollama', async () => {
  const made = await hone(['export', model, '--to', 'gguf:F16', '--out', 'given']);
  assert.is(made.code, 0, made.errors);
  assert.is(made.out, `${join(folder, 'given', `${model}-F16.gguf`)}\n`);
  assert.is(readFileSync(made.out.trim()).subarray(0, 4).toString(), 'GGUF');
  const adapter = await hone(['export', model, '--to', 'adapter', '--out', 'given']);
  assert.ok(existsSync(join(adapter.out.trim(), 'adapter_model.safetensors')), adapter.errors);

  const merged = await hone(['export', model, '--to', 'merged', '--out', 'given']);
  assert.is(merged.out, `${join(folder, 'given', `${model}-merged`)}\n`, merged.errors);
  const files = readdirSync(merged.out.trim());
  for (const name of ['README.md', 'config.json', 'model.safetensors', 'tokenizer.json'])
    assert.ok(files.includes(name), name);
  const forLlama = await hone(['export', model, '--to', 'adapter-gguf', '--out', 'given']);
  assert.is(forLlama.out, `${join(folder, 'given', `${model}-adapter.gguf`)}\n`, forLlama.errors);
  assert.is(readFileSync(forLlama.out.trim()).subarray(0, 4).toString(), 'GGUF');
  const again = await hone(['export', model, '--to', 'merged']);
  assert.match(again.out, /model_checkpoints.*merged\n$/, 'it is there');
  const typed = await hone(['export', model, '--to', 'merged:F16']);
  assert.is(typed.code, 2);
  assert.match(typed.errors, /--to must be gguf, merged, adapter, adapter-gguf, ollama, lmstudio or such as/);

  const studio = await hone(['export', model, '--to', 'lmstudio']);
  const place = join(folder, '.lmstudio', 'models', 'hone', model, `${model}-Q8_0.gguf`);
  assert.is(studio.out, `${place}\n`);
  assert.ok(existsSync(place));

  // A real program in the place of Ollama: it keeps the file and the text that it is given.
  const bin = temporaryFolder();
  const program = `#!/bin/sh\n[ "$1 $2 $3" = "create support -f" ] || exit 9\ncp "$4" "${folder}/created"\n`;
  writeFileSync(join(bin, 'ollama'), program);
  chmodSync(join(bin, 'ollama'), 0o755);
  const env = { PATH: `${bin}${delimiter}${process.env.PATH}` };
  const created = await hone(['export', model, '--to', 'ollama:F16', '--as', 'support'], { env });
  assert.is(created.code, 0, created.errors);
  assert.is(created.out, 'support\n');
  const [from = '', ...others] = readFileSync(join(folder, 'created'), 'utf8').split('\n');
  assert.match(from, /^FROM \/.*model-F16\.gguf$/);
  assert.ok(existsSync(from.slice('FROM '.length)));
  assert.ok(others.some((line) => line.startsWith('TEMPLATE')));
  const failed = await hone(['export', model, '--to', 'ollama', '--as', 'other'], { env });
  assert.is(failed.code, 1);
  assert.match(failed.errors, /ended with the exit code 9/);
  const none = await hone(['export', model, '--to', 'ollama'], { env: { PATH: '' } });
  assert.is(none.code, 1);
  assert.match(none.errors, /no program "ollama" on the PATH/);
});

test('errors are told with the place and what was probably meant, each with its exit code', async () => {
  const settings = join(folder, 'bad.yaml');
  const cases: [string, string[], number, RegExp][] = [
    [
      'lora_r: 4\nlerning_rate: 1\nexport: {quantisations: [Q8_0]}',
      [],
      2,
      /bad\.yaml:2: There is no setting "lerning_rate"\. Did you mean "learning_rate"\?\nhone: .*bad\.yaml:3: There is no setting "export\.quantisations"\. Did you mean "quantizations"\?/,
    ],
    ['lora_r: 4\nlora_r: 8', [], 2, /bad\.yaml:2: Map keys must be unique/],
    ['{"lora_r": 4,\n "seed" 8}', [], 2, /bad\.yaml:2: /],
    ['- 1', [], 2, /bad\.yaml:1: /],
    [
      '\nlora_r: 4\nlearning_rate: 5',
      [],
      2,
      /bad\.yaml:3: Field "learning_rate": learning_rate must be at most 1/,
    ],
    [
      'seed: 1',
      ['--learning-rate', '5'],
      2,
      /^hone: Field "learning_rate": learning_rate must be at most 1\n$/,
    ],
    ['seed: 1', ['--learning-rate', 'much'], 2, /--learning-rate must be a number, not "much"/],
    ['seed: 1', ['--lora_rr', '5'], 2, /no flag --lora-rr\. Did you mean --lora-r\?/],
    ['seed: 1', ['more'], 2, /"rows\.jsonl more" is not what it takes\. Usage: hone train ROWS/],
  ];
  for (const [text, more, code, message] of cases) {
    writeFileSync(settings, text);
    const args = ['train', 'rows.jsonl', '--model', tinyModel('llama'), '--settings', 'bad.yaml'];
    const { errors, ...ended } = await hone([...args, ...more]);
    assert.match(errors, message);
    assert.is(ended.code, code, text);
    assert.is(ended.out, '');
  }
  const unknown = await hone(['chat', `${model}x`, 'Hello']);
  assert.is(unknown.errors, `hone: There is no model "${model}x". Did you mean "${model}"?\n`);
  assert.is(unknown.code, 1);
  assert.is((await hone(['export', model])).code, 2);
  assert.is((await hone(['logs', 'train_99'])).code, 1);
  const missing = await hone(['train', 'nowhere.jsonl', '--model', tinyModel('llama')]);
  assert.match(missing.errors, /nowhere\.jsonl/);
  assert.ok([1, 2].includes(missing.code as number));
});

test.run();
