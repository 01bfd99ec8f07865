/** The page's client against the route table: each of its calls is an operation, and is answered as described. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { service as client } from '../../ui/api/service.ts';
import {
  type Answer,
  endAll,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
} from '../service.ts';
import { type Description, readDescription } from './description.ts';

let service: TestService;
let description: Description;
const answers: Answer[] = [];
const realFetch = globalThis.fetch;
const unheard = () => new AbortController().signal;

/**
 * Calls with arguments that make sense; those that need a model or a job ask for one that there is not. What is
 * not listed is called with names of nothing.
 */
const calls: Partial<Record<keyof typeof client, () => unknown>> = {
  info: () => client.info(),
  hardware: () => client.hardware(),
  settings: () => client.settings(),
  choices: () => client.choices(),
  recommendations: () => client.recommendations('summarization'),
  examples: () => client.examples(),
  useExample: () => client.useExample('support'),
  checkModel: () => client.checkModel(quickRequest().model_name, unheard()),
  dataset: () => client.dataset('support.jsonl'),
  preview: () => client.preview('support.jsonl', { task: 'text-generation', model_name: '/nowhere' }),
  addImport: () => client.addImport({ dataset: 'none.jsonl' }),
  import: () => client.import('none'),
  previewImport: () => client.previewImport('none', { mapping: null }),
  startImport: () => client.startImport('none', {}),
  removeImport: () => client.removeImport('none'),
  analyse: () => client.analyse('none.jsonl', {}, unheard()),
  splitDataset: () => client.splitDataset('support.jsonl', { fraction: 0.1 }),
  hubDataset: () => client.hubDataset('no name'),
  move: () => client.move(),
  listMove: () => client.listMove(''),
  startMove: () => client.startMove({ api_key: '' }),
  cancelMove: () => client.cancelMove(),
  estimate: () => client.estimate(quickRequest(), unheard()),
  datasets: () => client.datasets(),
  start: () => client.start({ ...quickRequest(), dataset: 'none.jsonl' }),
  stop: () => client.stop('train_1', true),
  jobs: () => client.jobs({ limit: 5 }),
  jobFacets: () => client.jobFacets(),
  identifyJob: () => client.identifyJob('train_1', { notes: '' }),
  job: () => client.job('train_1'),
  series: () => client.series('train_1', 100),
  log: () => client.log('train_1', 100),
  events: () => client.events('train_1'),
  resume: () => client.resume('train_1'),
  removeJob: () => client.removeJob('train_1'),
  models: () => client.models(),
  modelFacets: () => client.modelFacets(),
  identifyModel: () => client.identifyModel('1', { notes: '' }),
  model: () => client.model('none'),
  lineage: () => client.lineage('none'),
  modelFilePath: () => realFetch(service.url + client.modelFilePath('none', 'a b')),
  datasetFilePath: () => realFetch(service.url + client.datasetFilePath('a b')),
  removeModel: () => client.removeModel('none'),
  modelExport: () => client.modelExport('none'),
  exportModel: () => client.exportModel('none', { quantizations: ['Q8_0'] }),
  cancelExport: () => client.cancelExport('none'),
  keptAnswers: () => client.keptAnswers({ limit: 5 }, unheard()),
  countAnswerRows: () => client.countAnswerRows({ kind: 'sft' }, unheard()),
  estimateRows: () =>
    client.estimateRows({ name: 'a', kind: 'summary', model: 'none', documents: ['none'] }, unheard()),
  makeRows: () => client.makeRows({ name: 'a', kind: 'summary', model: 'none', documents: ['none'] }),
  push: () => client.push({ model_id: 'none', repo_name: 'a/b', private: true }),
  addRemoteModel: () => client.addRemoteModel({ name: 'gpt', url: 'http://127.0.0.1:9/v1' }),
  gradeSplit: () => client.gradeSplit('none@live', { retry_failed: false }),
  splitAlias: () => client.splitAlias('none@live', { model: 'none', percent: 10 }),
  cancelPush: () => client.cancelPush('none'),
};

test.before(async () => {
  service = await startService({ env: { HF_HOME: temporaryFolder(), HUB_TOKEN: '' } });
  description = await readDescription(service);
  await service.upload('support.jsonl', supportRows());
  // The page's paths are those of its own origin.
  globalThis.fetch = async (path, init) => {
    const response = await realFetch(service.url + path, init);
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const body = isJson ? await response.clone().json() : null;
    const answer = { status: response.status, body, headers: response.headers };
    description.check(init?.method ?? 'GET', String(path).split('?')[0] as string, answer);
    answers.push(answer);
    return response;
  };
});
test.after(async () => {
  globalThis.fetch = realFetch;
  await endAll();
});

type Call = (...args: unknown[]) => unknown;
for (const [name, plain] of Object.entries(client)) {
  const call = calls[name as keyof typeof client] ?? (() => (plain as Call)('none', 'none', unheard()));
  test(`${name} is an operation of the description, and is answered as it says`, async () => {
    answers.length = 0;
    await Promise.resolve(call()).catch((error) => {
      if (error.name !== 'ServiceError') throw error;
    });
    if (name.endsWith('FilePath')) return;
    assert.is(answers.length, 1);
    assert.not([405, 500].includes(answers[0]?.status as number), JSON.stringify(answers[0]?.body));
  });
}

test.run();
