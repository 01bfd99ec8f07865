import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTextStream } from '../../src/inference/batching/text-stream.ts';

const encoder = new TextEncoder();

/** Everything that is shown when `text` comes in pieces of `size` bytes. */
function streamed(
  text: string,
  size: number,
  stops: string[],
  lead = '',
): { shown: string[]; stop: string | null } {
  const stream = createTextStream(stops, lead);
  const bytes = encoder.encode(text);
  const shown: string[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    const step = stream.push(bytes.subarray(at, at + size));
    shown.push(step.text);
    if (step.stop !== null) return { shown, stop: step.stop };
  }
  shown.push(stream.end());
  return { shown, stop: null };
}

test('a character split over tokens is shown whole', () => {
  const text = 'Grüße 🚀 漢字 — ok';
  for (let size = 1; size <= 8; size++) {
    const { shown } = streamed(text, size, ['</s>', 'xyz']);
    assert.is(shown.join(''), text);
    assert.not.ok(shown.some((piece) => piece.includes('\uFFFD')));
  }
});

test('an unfinished character at the end is not shown', () => {
  const stream = createTextStream([]);
  assert.is(stream.push(encoder.encode('a🚀').subarray(0, 3)).text, 'a');
  assert.is(stream.end(), '');
});

test('nothing of a stop string is shown, wherever it is cut', () => {
  for (let size = 1; size <= 12; size++) {
    const { shown, stop } = streamed('one <|end|> two', size, ['<|end|>', '###']);
    assert.is(shown.join(''), 'one ');
    assert.is(stop, '<|end|>');
  }
});

test('what only begins like a stop string is shown in the end', () => {
  assert.is(streamed('a < b <| c', 1, ['<|end|>']).shown.join(''), 'a < b <| c');
  assert.is(streamed('tail <|en', 2, ['<|end|>']).shown.join(''), 'tail <|en');
});

test('what is put before answers is not shown, as far as the text begins with it', () => {
  for (let size = 1; size <= 4; size++) {
    const shown = (text: string, lead: string) => streamed(text, size, ['</s>'], lead).shown.join('');
    assert.is(shown('  team', ' '), ' team');
    assert.is(shown(' team  x', '  '), 'team  x');
    assert.is(shown('team x', '  '), 'team x');
    assert.is(shown('\n team', ' \n'), '\n team');
    assert.is(shown('  ', ' '), ' ');
    assert.is(shown(' </s>x', ' '), '');
  }
});

test('the first of several stop strings counts', () => {
  assert.is(streamed('a##b%%c', 7, ['%%', '##']).shown.join(''), 'a');
});

test.run();
