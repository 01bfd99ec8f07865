import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPromptLookup } from '../../src/inference/batching/prompt-lookup.ts';

type Token = Parameters<ReturnType<typeof createPromptLookup>['add']>[0];
const tokensOf = (text: string) => [...text].map((letter) => letter.charCodeAt(0) as Token);
const textOf = (tokens: readonly Token[]) => String.fromCharCode(...tokens);

/** The drafts before each token of an answer. */
function drafted(prompt: string, answer: string, most = 100): string[] {
  const lookup = createPromptLookup(tokensOf(prompt));
  return tokensOf(answer).map((token) => {
    const next = textOf(lookup.next(most));
    lookup.add(token);
    return next;
  });
}

test('a passage is drafted once copying goes on, and the further the longer it does', () => {
  const copied = drafted('the box of order 482 was broken when it came', 'order 482 was broken');
  assert.equal(copied.slice(0, 4), ['', '', '', 'er 482']);
  const [{ length: early } = '', { length: late } = ''] = [copied[3], copied[8]];
  assert.ok(late > early, `${late} > ${early}`);
});

test('drafts end with what is worth it, and at the most that is allowed', () => {
  assert.ok(drafted('abcdefghijklmnop', 'abcdefghijkl', 3).every(({ length }) => length <= 3));
  assert.equal(drafted('abcdefghijklmnop', 'abcdefghijkl', 0).join(''), '');
  // The answer itself is copied, too, up to its end.
  assert.is(drafted('', 'abcdefgabcdefgabcdefg').at(-1)?.startsWith('g'), true);
});

test('text that does not go on as before is not drafted', () => {
  // Each pair of letters occurs in the prompt, and is followed by another letter.
  const pairs = 'abcdefghijklmnopqrstuvwxyz';
  const prompt = [...pairs.slice(1)].map((letter, index) => `${pairs[index]}${letter}-`).join('');
  assert.equal(drafted(prompt, pairs).join(''), '');
});

test('copying that often breaks off is drafted less far', () => {
  const letters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const most = (unbroken: number) => {
    const prompt = (letters.match(new RegExp(`.{1,${unbroken}}`, 'g')) as string[]).join('-');
    return Math.max(
      ...drafted(prompt, letters)
        .slice(26)
        .map(({ length }) => length),
    );
  };
  assert.ok(most(4) < most(26), `${most(4)} < ${most(26)}`);
});

test('drafting begins again where copying begins', () => {
  const pairs = 'abcdefghijklmnopqrstuvwxyz';
  const prompt = `${[...pairs.slice(1)].map((letter, index) => `${pairs[index]}${letter}-`).join('')}0123456789ABCDEF`;
  const lengths = drafted(prompt, `${pairs}0123456789ABCDEF`).map(({ length }) => length);
  assert.equal(Math.max(...lengths.slice(8, 26)), 0);
  assert.ok(Math.max(...lengths.slice(26)) >= 3, String(lengths));
});

test.run();
