/** SECURITY.md has a test for each threat and fault, under the title that it names. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from './folders.ts';

const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');
/** The cells of the rows of both tables: threat or fault, promise, tests. */
const rows = page
  .split('\n')
  .filter((line) => /^\| /.test(line) && !/^\| (threat|fault) /.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, subject = '', promise = '', tests = '']) => ({ subject, promise, tests }));

test('the tables are read', () => {
  assert.ok(rows.length > 30, `${rows.length} rows`);
});

/** What must be in the tables, by a part of its row's first cell: attacks and faults that happened to others. */
const subjects = [
  'DNS rebinding',
  'Cross-site request or WebSocket',
  'Others on the network',
  'Headers of a proxy that lie',
  'Guessing of access keys',
  'Stolen database or removed key',
  'Remote client that names local files',
  'Path traversal',
  'Network paths on Windows',
  'tokenizer or configuration names files',
  'Shell metacharacters',
  'Pickled weights or checkpoints',
  'Code that comes with a model',
  'Grader in Python',
  'Leak of the hub token',
  'Token sent to another host',
  'API key of OpenAI',
  'Key of a judge',
  'Key of a model of another service',
  'Another service that is slow, endless or garbled',
  'Hostile GGUF',
  'Hostile model configuration',
  'Huge file in a model',
  'Scripts in datasets and names',
  'Malformed or abandoned upload',
  'not HTTP',
  'Slow or silent client',
  'Flood of requests',
  '`kill -9` of the service',
  'Random kills under load',
  'Hours of mixed load',
  '`kill -9` of the trainer',
  'Trainer stopped or hung',
  'Trainer that finished but does not exit',
  'Power loss',
  'Disk full',
  'Damaged database',
  'Empty or missing database',
  'Two services with one database or data directory',
  'Damaged GGUF',
  'Quantization that crashes or hangs',
  'Inference process that crashes, stops or hangs',
  'Large or slow download',
  'File that shrinks',
  'Large rows',
  'Dataset that vanished',
  'Out of memory',
  'Hub refuses (401, 403), is busy (429) or fails (5xx, silence)',
  'Receiver of the webhook that fails, hangs or redirects',
  'Slow reader of the WebSocket',
  'Upload over the limit',
  'Malformed JSON, wrong UTF-8, values out of bounds',
  'A hundred starts at once',
  'Port in use',
  'SIGTERM or Ctrl+C',
  'Loss that is not finite',
  'Clock set back',
];

test('each known attack and fault has one row', () => {
  for (const subject of subjects) {
    assert.is(rows.filter((row) => row.subject.includes(subject)).length, 1, subject);
  }
  assert.is(rows.length, subjects.length, 'a row that is not in this list');
});

for (const { subject, promise, tests } of rows) {
  test(`${subject}: has a promise, and a test of that title`, () => {
    assert.ok(promise.length > 0);
    const links = [...tests.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)];
    assert.ok(links.length > 0, 'a link to a test');
    for (const [, title = '', path = ''] of links) {
      assert.ok(existsSync(join(root, path)), path);
      const source = readFileSync(join(root, path), 'utf8');
      // A test of the trainer has the words of its title joined.
      const joined = `def test_${title.toLowerCase().replace(/\W+/g, '_')}`;
      assert.ok(source.includes(title) || source.includes(joined), `${path} has no test "${title}"`);
    }
  });
}

test.run();
