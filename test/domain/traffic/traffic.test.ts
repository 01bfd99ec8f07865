/** Kept answers: which are deleted when they are too old or too many, and what becomes of those that cannot be written. */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AnswerPage, createTrafficStore } from '../../../src/db/traffic-store.ts';
import { createTraffic } from '../../../src/domain/traffic/traffic.ts';
import { root, temporaryFolder } from '../../folders.ts';

const path = () => join(temporaryFolder(), 'answers', 'answers.sqlite');
const day = 86_400_000;

function open(file: string, limits: object = {}) {
  const said: string[] = [];
  const store = createTrafficStore(file, join(root, 'src', 'db', 'traffic'));
  const traffic = createTraffic(
    store,
    { keepMs: 30 * day, keepBytes: 2 ** 20, ...limits },
    (message) => said.push(message),
    () => 100 * day,
  );
  return { traffic, said };
}
const answer = (id: string, createdAt = (100 * day) / 1000, text = id) => ({
  ...{ id, owner: null, model: 'm', answeredBy: 'm', createdAt, metadata: {}, milliseconds: 1 },
  messages: [{ role: 'user', content: text }],
  completion: { choices: [{ message: { role: 'assistant', content: 'Yes.' } }] },
});
const all = { limit: 1000, order: 'asc' } as const;
const idsOf = (found: AnswerPage | null) => found?.answers.map(({ id }) => id);

test('what is older than the days that answers are kept goes, and no more', async () => {
  const { traffic } = open(path());
  traffic.record(answer('old', (70 * day) / 1000 - 1));
  traffic.record(answer('new', (70 * day) / 1000));
  await traffic.tidy();
  assert.equal(idsOf(traffic.list(all)), ['new']);
  traffic.close();
});

test('the oldest go where there are too many, from the search as well', async () => {
  const { traffic } = open(path(), { keepBytes: 25_000 });
  for (let index = 0; index < 10; index += 1)
    traffic.record(answer(`a${index}`, undefined, `word${index} ${'x'.repeat(4_000)}`));
  await traffic.tidy();
  // Each has its text twice: as a message, and for the search.
  assert.equal(idsOf(traffic.list(all)), ['a7', 'a8', 'a9']);
  assert.equal(idsOf(traffic.list({ ...all, search: 'word2' })), []);
  assert.equal(idsOf(traffic.list({ ...all, search: 'word9' })), ['a9']);
  traffic.close();
});

test('without an answer there is no file, and an empty list', async () => {
  const file = path();
  const { traffic } = open(file);
  await traffic.tidy();
  assert.equal(traffic.list(all), { answers: [], hasMore: false });
  traffic.close();
  assert.is(existsSync(file), false);
});

test('the time of answers is their median, and scores are those of one grader', () => {
  const { traffic } = open(path());
  for (const [index, milliseconds] of [40, 10, 1_000, 20].entries())
    traffic.record({ ...answer(`a${index}`), milliseconds });
  for (const [index, milliseconds] of [7, 1, 9].entries())
    traffic.record({ ...answer(`b${index}`), answeredBy: 'n', milliseconds });
  traffic.record({ ...answer('before', 1), milliseconds: 5_000 });
  const those = { model: 'm', since: 2 };
  const none = { up: 0, down: 0, graded: 0, score: 0 };
  assert.equal(traffic.scores.totals(those, null), [
    { answeredBy: 'm', answers: 4, milliseconds: 30, ...none },
    { answeredBy: 'n', answers: 3, milliseconds: 7, ...none },
  ]);
  const scores = new Map([
    ['a0', 1],
    ['a1', 0.5],
    ['a2', null],
    ['gone', 1],
  ]);
  traffic.scores.setScores('one', scores);
  traffic.scores.setScores('other', new Map([['b0', 1]]));
  const [scored] = traffic.scores.totals(those, 'one');
  assert.equal([scored?.answers, scored?.graded, scored?.score], [4, 2, 1.5]);
  assert.equal(traffic.scores.ungraded(those, 'one'), { left: 4, failed: 1 });
  assert.equal(
    traffic.scores.toGrade(those, 'one', 2).map(({ id }) => id),
    ['b2', 'b1'],
  );
  traffic.scores.forgetFailures('one');
  traffic.remove(undefined, 'a0');
  assert.equal(traffic.scores.ungraded(those, 'one'), { left: 5, failed: 0 });
  assert.equal(traffic.scores.totals(those, 'one')[0]?.graded, 1);
  traffic.close();
});

test('a page ends before it becomes large, and the next goes on from there', () => {
  const { traffic } = open(path());
  for (let index = 0; index < 5; index += 1)
    traffic.record(answer(`a${index}`, undefined, 'x'.repeat(index === 0 ? 2 ** 24 : 3 * 2 ** 20)));
  const pages: (string[] | undefined)[] = [];
  let after: string | undefined;
  for (let hasMore = true; hasMore; ) {
    const page = traffic.list({ ...all, after });
    pages.push(idsOf(page));
    after = page?.answers.at(-1)?.id;
    hasMore = page?.hasMore ?? false;
  }
  assert.equal(pages, [['a0'], ['a1', 'a2'], ['a3', 'a4']]);
  assert.equal(traffic.list({ ...all, limit: 5 })?.hasMore, true);
  traffic.close();
});

test('answers that cannot be written wait until they can', async () => {
  const file = path();
  const { traffic, said } = open(file);
  // A file where the folder belongs.
  mkdirSync(dirname(dirname(file)), { recursive: true });
  writeFileSync(dirname(file), '');
  traffic.record(answer('one'));
  await traffic.tidy().catch(() => undefined);
  assert.match(said[0] ?? '', 'could not be written (1)');
  rmSync(dirname(file));
  traffic.record(answer('two'));
  assert.equal(idsOf(traffic.list(all)), ['one', 'two']);
  traffic.close();
  assert.ok(statSync(file).size > 0);
});

test.run();
