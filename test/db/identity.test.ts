/** Names, notes and tags of runs and models in the database. */
import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runOrders } from '../../src/contract/jobs.ts';
import { openDatabase } from '../../src/db/open.ts';
import { openStore, type Store } from '../../src/db/store.ts';
import { defaultName } from '../../src/domain/job-record/identity.ts';
import { root, temporaryFolder } from '../folders.ts';

const migrations = join(root, 'src', 'db', 'migrations');
const settings = (num_train_epochs: number, learning_rate: number) => ({
  settings: { num_train_epochs, learning_rate, max_steps: -1 },
});

test('a default name has the dataset, the epochs or steps, and the learning rate', () => {
  const of = (epochs: number, rate: number, steps = -1) =>
    defaultName('support.jsonl', { num_train_epochs: epochs, max_steps: steps, learning_rate: rate });
  assert.equal(
    [of(6, 0.003), of(1, 2e-4), of(0.5, 1.5e-5), of(3, 1), of(3, 4.3111e-4, 1), of(3, 2e-4, 20)],
    [
      'support · 6 epochs · 3e-3',
      'support · 1 epoch · 2e-4',
      'support · 0.5 epochs · 1.5e-5',
      'support · 3 epochs · 1e0',
      'support · 1 step · 4.31e-4',
      'support · 20 steps · 2e-4',
    ],
  );
  assert.is(defaultName('support.jsonl', {}), 'support');
  const long = defaultName(`${'x'.repeat(79)}🚀.jsonl`, settings(3, 2e-4).settings);
  assert.is(long, `${'x'.repeat(79)} · 3 epochs · 2e-4`, 'no half of a character');
});

test('runs and models of an earlier release get the names that they would have got', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'hone.sqlite');
  const earlier = join(folder, 'migrations');
  mkdirSync(earlier);
  for (const name of readdirSync(migrations).filter((file) => file < '0006')) {
    cpSync(join(migrations, name), join(earlier, name));
  }
  const old = openDatabase(path, earlier);
  const specs: (Partial<ReturnType<typeof settings>> | null)[] = [
    settings(6, 0.003),
    settings(1, 1),
    settings(0.25, 4.3111e-4),
    null,
    {},
  ];
  for (const [index, spec] of specs.entries()) {
    old
      .prepare(
        `INSERT INTO jobs (id, model_id, state, task, provider, strategy, model_name, dataset_name, spec, created_at)
         VALUES (?, ?, 'completed', 't', 'standard', 'sft', 'a/b', 'Über.JSONL', ?, '2026')`,
      )
      .run(index + 1, `model-${index + 1}`, JSON.stringify(spec));
  }
  for (const [job, name] of [
    [1, 'made'],
    [null, 'left'],
  ]) {
    old
      .prepare(
        `INSERT INTO models (model_id, job_id, name, base_model, task, provider, strategy, dataset_name, created_at,
           size_bytes, path, config, metrics, artifacts) VALUES (?, ?, ?, 'a/b', 't', 'standard', 'sft', 'x', '2026', 1, '/', '{}', '{}', '[]')`,
      )
      .run(name, job, name);
  }
  old.close();
  const store = openStore(path, migrations);
  const named = specs.map((spec) =>
    spec?.settings === undefined ? '' : defaultName('Über.JSONL', spec.settings),
  );
  assert.equal(
    specs.map((_, index) => store.jobs.get(index + 1)?.displayName),
    named,
  );
  assert.is(named[0], 'Über · 6 epochs · 3e-3');
  assert.equal(
    ['made', 'left'].map((id) => store.models.byModelId(id)?.displayName),
    [named[0], 'left'],
  );
  store.close();
});

/** Two runs that have names, notes and tags, among others without. */
function storeRuns(): Store {
  const store = openStore(join(temporaryFolder(), 'hone.sqlite'), migrations);
  for (let number = 1; number <= 12; number += 1) {
    store.jobs.insert({
      ...{
        modelId: `model-${number}`,
        state: number % 2 ? 'failed' : 'completed',
        task: 't',
        provider: 'standard',
      },
      ...{
        strategy: 'sft',
        modelName: number < 4 ? 'acme/small' : 'acme/large',
        datasetName: 'support.jsonl',
      },
      ...{ createdAt: '2026', displayName: `support · ${number} epochs` },
    });
  }
  store.jobs.update(3, {
    displayName: 'Größe eins',
    notes: 'First line\nwith 50 % more',
    tags: ['ready', 'rush'],
  });
  store.jobs.update(7, { tags: ['ready', 'a "quoted" one'] });
  return store;
}

test('runs are found by words, tags and values, in upper or lower case, by page', () => {
  const store = storeRuns();
  const find = (filter: Partial<Parameters<Store['jobs']['list']>[0]>) => {
    const { jobs, total } = store.jobs.list({ states: [], limit: 50, offset: 0, ...filter });
    assert.is(jobs.length <= total, true);
    return jobs.map(({ id }) => id);
  };
  assert.equal(find({ search: 'GRÖSSE' }), []);
  assert.equal(find({ search: 'größe EINS' }), [3]);
  assert.equal(find({ search: 'GRÖẞE' }), [3], 'in capitals beyond ASCII');
  assert.equal(find({ search: '50 % line' }), [3], 'all words, and none is a pattern');
  assert.equal(find({ search: '_' }).length, 12, 'train_1');
  assert.equal(find({ search: '%' }), [3]);
  assert.equal(find({ search: 'train_12' }), [12]);
  assert.equal(find({ search: 'small completed' }), [2]);
  assert.equal(find({ tags: ['ready'] }), [7, 3]);
  assert.equal(find({ tags: ['ready', 'rush'] }), [3]);
  assert.equal(find({ tags: ['read'] }), []);
  assert.equal(find({ tags: ['a "quoted" one'], states: ['failed'] }), [7]);
  assert.equal(
    find({ search: 'support', modelName: 'acme/large', states: ['completed'] }),
    [12, 10, 8, 6, 4],
  );
  const page = store.jobs.list({ states: [], search: 'support', limit: 5, offset: 5 });
  assert.equal([page.jobs.map(({ id }) => id), page.total], [[7, 6, 5, 4, 3], 12]);
  assert.equal(store.jobs.facets(), {
    tags: [
      { value: 'ready', count: 2 },
      { value: 'a "quoted" one', count: 1 },
      { value: 'rush', count: 1 },
    ],
    models: [
      { value: 'acme/large', count: 9 },
      { value: 'acme/small', count: 3 },
    ],
    datasets: [{ value: 'support.jsonl', count: 12 }],
  });
  store.close();
});

test('runs are ordered by what they came to, unknown ones last, with the trials of a sweep folded', () => {
  const store = storeRuns();
  const results: [id: number, base: number | null, tuned: number][] = [
    [2, 2, 1],
    [5, 4, 1],
    [6, null, 0.5],
    [9, 2, 3],
  ];
  for (const [id, base, eval_loss] of results) {
    store.jobs.update(id, { resultMetrics: { eval_loss } });
    // A resumed run measures its base again.
    for (const loss of base === null ? [] : [100, base]) {
      const payload = { kind: 'eval', step: 0, metrics: { eval_loss: loss } };
      const seq = store.events.newestSeq() + 1;
      store.events.append({ seq, jobId: id, type: 'metrics', time: '2026', payload });
    }
  }
  const list = (filter: Partial<Parameters<Store['jobs']['list']>[0]>) =>
    store.jobs.list({ states: [], limit: 4, offset: 0, ...filter });
  const ids = (filter: Parameters<typeof list>[0]) => list(filter).jobs.map(({ id }) => id);
  assert.equal(ids({ order: { by: 'gain', down: true } }), [5, 2, 9, 12]);
  assert.equal(ids({ order: { by: 'gain', down: false } }), [9, 2, 5, 12]);
  assert.equal(ids({ order: { by: 'eval_loss', down: false } }), [6, 5, 2, 9]);
  assert.equal(ids({ order: { by: 'name', down: true }, limit: 2 }), [9, 8]);
  assert.equal(
    list({ order: { by: 'gain', down: true } }).jobs.map(({ gain }) => gain),
    [0.75, 0.5, -0.5, null],
  );
  for (const [id, score] of [
    [4, 0.25],
    [7, 0.75],
  ] as const)
    store.jobs.update(id, {
      resultMetrics: { eval_loss: 1, 'grader:brief': score, 'grader:alike': 1 - score },
    });
  assert.equal(ids({ order: { by: 'score', down: true } }).slice(0, 2), [7, 4]);
  for (const by of runOrders) assert.is(list({ order: { by, down: false }, limit: -1 }).jobs.length, 12, by);

  const sweep = { request: {}, space: {}, trials: 3, metric: 'eval_loss', direction: 'minimize' };
  const sweepId = store.sweeps.insert({
    ...{ ...sweep, state: 'completed', culling: false, seed: 1, createdAt: '2026' },
  });
  for (const [number, jobId] of [2, 5, 8].entries())
    store.sweeps.putTrial({ sweepId, number: number + 1, jobId, parameters: {} });
  const folded = list({ folded: true, limit: 5 });
  assert.equal(
    folded.jobs.map(({ id, sweepId: of }) => [id, of]),
    [12, 11, 10, 9, 8].map((id) => [id, id === 8 ? sweepId : null]),
  );
  assert.equal([folded.total, [...folded.trials]], [10, [[8, 3]]]);
  const best = { folded: true, order: { by: 'gain', down: true } } as const;
  assert.equal([ids(best), ids({ ...best, search: 'completed' })[0]], [[5, 9, 12, 11], 2]);
  assert.equal(ids({ sweepId, order: best.order }), [5, 2, 8]);
  assert.equal(ids({ sweepId, states: ['failed'] }), [5]);
  store.close();
});

test('runs whose figures go to trackers are found without reading the others', () => {
  const store = storeRuns();
  store.jobs.update(3, { spec: { tracking: { report_to: ['wandb'], project: 'mail' } } });
  store.jobs.update(4, { spec: { tracking: null } });
  store.jobs.update(5, { spec: {} });
  assert.equal(
    store.jobs.tracked().map(({ id }) => id),
    [3],
  );
  store.close();
});

test.run();
