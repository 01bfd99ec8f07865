/** Clients of `/v1/completions` with their defaults: lm-eval, also with the weights of the same model, and LangChain. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { layOutLmStudio } from '../gguf-caches.ts';
import { realModel } from '../real/real-model.ts';
import { endAll, type Json, root, startService, type TestService, temporaryFolder } from '../service.ts';
import { pythonWith, trainerPython } from './install.ts';

const start = promisify(execFile);
const base = join(temporaryFolder(), 'base');
const programMs = 600_000;

let service: TestService;
let gguf: string;

test.before(async () => {
  const packaged = await realModel('smollm2');
  const argv = [join(root, 'test', 'clients', 'tool_base.py'), packaged, base];
  await start(trainerPython, argv, { env: { ...process.env, PYTHONPATH: root } });
  const home = temporaryFolder();
  gguf = layOutLmStudio(home, packaged);
  service = await startService({ env: { HOME: home, XDG_CACHE_HOME: '', HF_HOME: '', OLLAMA_MODELS: '' } });
});
test.after(endAll);

const places: Record<string, string> = {
  ...{ France: 'Paris', Germany: 'Berlin', Italy: 'Rome', Japan: 'Tokyo', Canada: 'Ottawa', Cuba: 'Havana' },
  ...{ Russia: 'Moscow', Kenya: 'Nairobi', Peru: 'Lima', Chile: 'Santiago', Ghana: 'Accra', Iran: 'Tehran' },
  ...{
    Iraq: 'Baghdad',
    Spain: 'Madrid',
    Norway: 'Oslo',
    Greece: 'Athens',
    Egypt: 'Cairo',
    Brazil: 'Brasília',
  },
  ...{ India: 'New Delhi', China: 'Beijing', Turkey: 'Ankara', Poland: 'Warsaw', Nepal: 'Kathmandu' },
  Australia: 'Canberra',
};
/** Questions with four choices each. */
const capitals = Object.entries(places).map(([country, right], at, { length }) => {
  const wrong = [1, 5, 11].map((step) => Object.values(places)[(at + step) % length] as string);
  return { country, choices: wrong.toSpliced(at % 4, 0, right), answer: at % 4 };
});
const readResults = (file: string): Json => {
  const { capitals: found } = JSON.parse(readFileSync(file, 'utf8')).results;
  return { acc: found['acc,none'], acc_norm: found['acc_norm,none'] };
};

test('lm-eval has with its defaults the accuracy over HTTP that it has with the weights', async () => {
  const folder = temporaryFolder();
  const data = join(folder, 'capitals.jsonl');
  writeFileSync(data, capitals.map((row) => JSON.stringify(row)).join('\n'));
  const task = {
    ...{ task: 'capitals', dataset_path: 'json', dataset_kwargs: { data_files: { test: data } } },
    ...{ test_split: 'test', output_type: 'multiple_choice', doc_to_text: 'The capital of {{country}} is' },
    ...{ doc_to_choice: '{{choices}}', doc_to_target: '{{answer}}' },
    metric_list: [{ metric: 'acc' }, { metric: 'acc_norm' }],
  };
  // JSON is YAML, too.
  writeFileSync(join(folder, 'capitals.yaml'), JSON.stringify(task));
  const evaluator = pythonWith('lm_eval', ['lm-eval[api]==0.4.13'], true);
  const accuracies = async (model: string, modelArgs: string): Promise<Json> => {
    const argv = ['-m', 'lm_eval', '--model', model, '--model_args', modelArgs, '--tasks', 'capitals'];
    const out = join(folder, model);
    await start(evaluator, [...argv, '--include_path', folder, '--output_path', out], {
      env: {
        ...process.env,
        OPENAI_API_KEY: 'none',
        HF_HUB_OFFLINE: '1',
        HF_DATASETS_CACHE: join(folder, 'cache'),
      },
      timeout: programMs,
      maxBuffer: 2 ** 26,
    });
    const file = readdirSync(out, { recursive: true }).find((name) => `${name}`.endsWith('.json'));
    const { acc, acc_norm } = readResults(join(out, `${file}`));
    return { acc, acc_norm };
  };
  const over = `model=base:${gguf},base_url=${service.url}/v1/completions,tokenizer=${base}`;
  const served = await accuracies('local-completions', over);
  console.log(`lm-eval: ${JSON.stringify(served)}`);
  const own = await accuracies('hf', `pretrained=${base}`);
  // The file has 4 bits a weight and its products 8, the others are bfloat16: a near tie may fall the other way.
  for (const metric of ['acc', 'acc_norm'])
    assert.ok(
      Math.abs(served[metric] - own[metric]) * capitals.length < 1.5,
      `${metric}: ${JSON.stringify([served, own])}`,
    );
});

test('LangChain’s batches have an answer for each prompt, the same as alone', async () => {
  const python = pythonWith('langchain', ['langchain-openai==1.7.4']);
  const { stdout } = await start(
    python,
    [join(root, 'test', 'clients', 'programs', 'langchain_batches.py')],
    {
      env: {
        ...process.env,
        ...{ OPENAI_BASE_URL: `${service.url}/v1`, OPENAI_API_KEY: 'none', MODEL: `base:${gguf}` },
        COUNTRIES: Object.keys(places).join(),
      },
      timeout: programMs,
    },
  );
  const told: Json = JSON.parse(stdout.trim().split('\n').at(-1) as string);
  assert.is(told.texts.length, capitals.length);
  assert.ok(told.texts.every((text: string) => text.trim() !== ''));
  assert.equal(new Set(told.choices.map((of: string[]) => of.length)), new Set([2]));
  assert.ok(told.choices.flat().every((text: string) => !text.includes('.')));
  assert.ok(told.ends.includes('stop'), `${told.ends}`);
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = told.usage;
  assert.ok(completion > capitals.length && total === prompt + completion, JSON.stringify(told.usage));
  assert.equal(told.together, told.alone);
  const right = capitals.filter((row, at) => told.together[at].includes(row.choices[row.answer]));
  console.log(`LangChain: ${right.length} of ${capitals.length} capitals`);
  assert.ok(right.length > capitals.length / 2);
});

test.run();
