/** Markdown of answers becomes elements, and nothing of it HTML. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readJson } from '../../ui/elements/json-view.ts';
import { type Markdown, markdownReader } from '../../ui/elements/markdown/markdown-tree.ts';

const read = await markdownReader();

/** A tree in short: `p(strong(a) b)`. */
const short = (parts: readonly Markdown[]): string =>
  parts
    .map((part) =>
      typeof part === 'string'
        ? part
        : `${part.tag}${part.language === undefined ? '' : `:${part.language}`}${part.href === undefined ? '' : `[${part.href}]`}${part.start === undefined ? '' : `#${part.start}`}(${short(part.children)})`,
    )
    .join('');

/** All elements of a tree. */
const elements = (parts: readonly Markdown[]): readonly Exclude<Markdown, string>[] =>
  parts.flatMap((part) => (typeof part === 'string' ? [] : [part, ...elements(part.children)]));

const cases: readonly (readonly [text: string, tree: string])[] = [
  ['plain', 'p(plain)'],
  ['**a** *b* ~~c~~ `d <i>`', 'p(strong(a) em(b) s(c) code(d <i>))'],
  ['one\ntwo\n\nthree', 'p(onebr()two)p(three)'],
  ['# Title\ntext', 'h1(Title)p(text)'],
  ['- a\n- b\n  - c', 'ul(li(a)li(bul(li(c))))'],
  ['3. a\n4. b', 'ol#3(li(a)li(b))'],
  ['```python title\nprint("<b>")\n```', 'pre:python(print("<b>")\n)'],
  ['```\nnever closed', 'pre:(never closed)'],
  ['| a | b |\n|---|---|\n| 1 | 2 |', 'table(thead(tr(th(a)th(b)))tbody(tr(td(1)td(2))))'],
  ['> quoted\n\n---', 'blockquote(p(quoted))hr()'],
  ['[x](https://example.org "t")', 'p(a[https://example.org](x))'],
  ['<https://example.org>', 'p(a[https://example.org](https://example.org))'],
  ['![alt](https://example.org/a.png)', 'p(!a[https://example.org/a.png](alt))'],
  ['AT&amp;T &lt;b&gt;', 'p(AT&T <b>)'],
];

for (const [text, tree] of cases)
  test(`${JSON.stringify(text)} is ${tree}`, () => {
    assert.is(short(read(text)), tree);
  });

test('HTML is text', () => {
  for (const text of [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<a href="javascript:x">y</a>',
  ])
    assert.is(short(read(text)), `p(${text})`);
});

test('only addresses of the web and of mail are links', () => {
  for (const scheme of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'vbscript:x',
    'data:text/html,x',
    'file:///etc/passwd',
    'blob:x',
    '/training',
    '//example.org',
    'java&#115;cript:alert(1)',
  ])
    assert.equal(
      elements(read(`[x](${scheme}) <${scheme}>`)).filter(({ tag }) => tag === 'a'),
      [],
      scheme,
    );
  for (const good of ['http://example.org', 'HTTPS://example.org', 'mailto:a@example.org'])
    assert.is(elements(read(`[x](${good})`)).filter(({ tag }) => tag === 'a').length, 1, good);
});

test('large texts are read', () => {
  assert.is(short(read('a'.repeat(200_000))).length, 200_003);
  const table = ['| a | b |', '|---|---|', ...Array.from({ length: 2_000 }, (_, row) => `| ${row} | x |`)];
  assert.is(elements(read(table.join('\n'))).filter(({ tag }) => tag === 'tr').length, 2_001);
  // Deeper than the library follows.
  assert.ok(elements(read(`${'> '.repeat(5_000)}deep`)).length < 200);
  assert.ok(elements(read(`${'['.repeat(5_000)}x`)).length < 10);
});

test('JSON is read as such if the whole text is an object or a list', () => {
  assert.equal(readJson(' {"a": [1, null]} '), { a: [1, null] });
  assert.equal(readJson('[]'), []);
  for (const text of ['', '1', '"a"', '{"a": 1', '{"a": 1} and more', `[${'1,'.repeat(200_000)}1]`])
    assert.is(readJson(text), undefined, text.slice(0, 20));
});

test.run();
