/** Numbers as people write them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readNumber } from '../../ui/settings/read-number.ts';

test('a decimal comma is read as a point, and a typographic minus as a minus', () => {
  const texts = ['0,001', '12,5', '0,125', '−1', ' 2e-4 ', '1234,567', '+3'];
  assert.equal(texts.map(readNumber), [0.001, 12.5, 0.125, -1, 2e-4, 1234.567, 3]);
});

test('what could mean another number is none', () => {
  for (const text of ['1,000', '12,345', '1,2,3', '1.000,5', '', 'x', ',5'])
    assert.ok(Number.isNaN(readNumber(text)), text);
});

test.run();
