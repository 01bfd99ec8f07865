/** Passages, quotations, and which document is in which part. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { planSources } from '../../../src/domain/documents/making/plan-sources.ts';
import { passagesOf } from '../../../src/domain/documents/passages.ts';
import { quotationIn } from '../../../src/domain/documents/quotation.ts';
import { randomFrom } from '../../random.ts';

test('passages have all words of their page, in order, and are not too long', () => {
  const random = randomFrom(3);
  const below = (most: number) => Math.floor(random() * most);
  for (let round = 0; round < 200; round += 1) {
    const words = Array.from(
      { length: 1 + below(800) },
      () => ['fee', 'größe', '𝔘nd', 'a', 'x'.repeat(below(300))][below(5)] as string,
    );
    const ends = [' ', ' ', '\n', '. ', '\n\n'];
    const text = words.map((word) => `${word}${ends[below(ends.length)]}`).join('');
    const most = 200 + below(1000);
    const passages = passagesOf('a.txt', [{ page: 4, text }], most);
    if (text.trim().length >= 600)
      assert.equal(
        passages
          .map((one) => one.text)
          .join('')
          .replace(/\s/g, ''),
        text.replace(/\s/g, ''),
      );
    for (const { file, page, text: part } of passages) {
      assert.equal([file, page], ['a.txt', 4]);
      assert.ok(part.length <= most, `${part.length} > ${most}`);
      assert.not.match(part, /^[\udc00-\udfff]|[\ud800-\udbff]$/);
    }
  }
});

test('passages end between paragraphs where they can', () => {
  const paragraph = (name: string) => `${name} ${'word '.repeat(30).trim()}.`;
  const text = ['One', 'Two', 'Three', 'Four'].map(paragraph).join('\n\n');
  assert.equal(
    passagesOf('a.txt', [{ page: null, text }], 360).map((one) => one.text.split(' ')[0]),
    ['One', 'Three'],
  );
  assert.equal(
    passagesOf(
      'a.txt',
      [
        { page: 1, text: 'A heading' },
        { page: 2, text: null },
      ],
      360,
    ),
    [],
  );
});

test('a quotation is found as it stands there, or not at all', () => {
  const text = 'The fee (12 €) is due\nin  May. It was "raised" in Zürich [1] a+b*c?';
  assert.is(quotationIn(text, 'fee (12 €) is due in May.'), 'fee (12 €) is due\nin  May.');
  assert.is(quotationIn(text, ' in Zu\u0308rich [1] a+b*c? '), 'in Zürich [1] a+b*c?');
  for (const other of [
    'The fee is due in May.',
    'the fee (12 €) is due',
    'is due',
    '',
    ' ',
    '.*',
    '[a-z ]{20}',
  ])
    assert.is(quotationIn(text, other), null, other.slice(0, 30));
});

/** Words that no other name gives. */
function textOf(name: string): string {
  const seed = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1e9, 7);
  const random = randomFrom(seed);
  return Array.from({ length: 20 }, () => random().toString(36).slice(2, 9)).join(' ');
}
const documentOf = (name: string, pages: number) => ({
  name,
  pages: () =>
    Array.from({ length: pages }, (_, at) => ({
      page: at + 1,
      text: textOf(`${name} ${at}`),
    })),
});
const wanted = { passageCharacters: 1_000, validationShare: 0.2, seed: 1 };
const notOver = () => false;

test('a document is in one part, and the parts have about the shares that are wanted', async () => {
  const documents = Array.from({ length: 20 }, (_, at) => documentOf(`report-${at}.pdf`, 1 + (at % 5)));
  for (const seed of [1, 2, 3, 4, 5]) {
    const { sources, files } = await planSources(documents, { ...wanted, seed }, notOver);
    assert.is(sources.length, 60);
    const share = sources.filter(({ part }) => part === 'validation').length / sources.length;
    assert.ok(share > 0.1 && share <= 0.2, String(share));
    assert.equal(
      files.training.filter((name) => files.validation.includes(name)),
      [],
    );
    for (const source of sources) {
      const { part } = source;
      assert.ok(source.kind === 'passage' && files[part].includes(source.passage.file));
    }
    assert.equal((await planSources(documents, { ...wanted, seed }, notOver)).sources, sources);
  }
});

test('of two documents, the smaller is for validation, and one document has no validation', async () => {
  const two = await planSources(
    [documentOf('a.pdf', 9), documentOf('b.pdf', 1)],
    { ...wanted, validationShare: 0.05 },
    notOver,
  );
  assert.equal(two.files, { training: ['a.pdf'], validation: ['b.pdf'] });
  const one = await planSources([documentOf('a.pdf', 9)], wanted, notOver);
  assert.equal(one.files.validation, []);
  assert.is(
    (await planSources([documentOf('a.pdf', 9)], { ...wanted, validationShare: 0 }, notOver)).files.validation
      .length,
    0,
  );
});

test('a passage that another document has, too, is left out', async () => {
  const first = documentOf('a.pdf', 3);
  const { sources, nearDuplicates } = await planSources(
    [first, { ...first, name: 'copy.pdf' }],
    wanted,
    notOver,
  );
  assert.is(sources.length, 3);
  assert.is(nearDuplicates, 3);
  assert.ok(sources.every((source) => source.kind === 'passage' && source.passage.file === 'a.pdf'));
});

test.run();
