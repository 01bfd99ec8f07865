import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { datasetName } from '../../../../src/domain/datasets/files/dataset-name.ts';

test('names are short enough for a file system in bytes, and never cut within a character', () => {
  for (const [letter, bytes] of [
    ['a', 1],
    ['é', 2],
    ['語', 3],
    ['𠀀', 4],
  ] as const) {
    for (const before of ['', 'x']) {
      for (const suffix of ['', '-converted']) {
        const name = datasetName(`${before}${letter.repeat(300)}.jsonl`, suffix);
        assert.ok(Buffer.byteLength(name) <= 206, name);
        assert.ok(name.endsWith(`${suffix}.jsonl`));
        assert.not.match(name, /\p{Surrogate}/u);
        assert.ok(Buffer.byteLength(name) > 90 + bytes, name);
      }
    }
  }
});

test('half a surrogate pair, dots, blanks and folders are replaced or dropped', () => {
  assert.is(datasetName('a\ud83db.jsonl'), 'a_b.jsonl');
  assert.is(datasetName('../../x y.jsonl'), 'x_y.jsonl');
  assert.is(datasetName('\\\\host\\share\\x.JSONL'), 'x.jsonl');
  assert.is(datasetName('...jsonl'), 'dataset.jsonl');
  assert.throws(() => datasetName('x.json'), /must be a .jsonl file/);
  assert.throws(() => datasetName('rows.csv'), /CSV.* can be imported: .*POST \/api\/imports/);
});

test('a converted dataset never gets the name of its source', () => {
  const name = datasetName(`${'a'.repeat(300)}.jsonl`);
  assert.is.not(datasetName(name, '-converted'), name);
});

test.run();
