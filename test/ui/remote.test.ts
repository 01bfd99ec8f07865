/** What the page has read from the service. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Remote } from '../../ui/state/remote.ts';

test('a refresh ends with the newest answer, also if another one began after it', async () => {
  const answers: ((value: string) => void)[] = [];
  const remote = new Remote<string>(() => new Promise((resolve) => answers.push(resolve)));
  const first = remote.refresh();
  const second = remote.refresh();
  let ended = false;
  void first.then(() => {
    ended = true;
  });
  answers[0]?.('old');
  await new Promise((resolve) => setTimeout(resolve));
  assert.is(ended, false);
  answers[1]?.('new');
  await Promise.all([first, second]);
  assert.is(remote.value.value, 'new');
});

test.run();
