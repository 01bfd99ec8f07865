/** The base of a model that an earlier version trained is found out once, from its job, or it is told why not. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { setUp, type Trained } from './set-up.ts';

const told = { base: 'abc', file: 'abc-F16.gguf' };
const failed = { message: "The base model's files have changed.", advice: 'Train it again.' };
const saying = (answer: object) => `#!/bin/sh
echo started >> starts
case " $* " in *' base '*) echo '${JSON.stringify(answer).replaceAll("'", "'\\''")}' ;; esac
`;

test('it is found out once, and recorded with the model', async () => {
  const { checkpoints, trained, startsOf, close } = setUp(saying(told), ['llama'], false);
  const [one, other] = trained as [Trained, Trained];
  assert.equal(await Promise.all([one, one].map(({ model }) => checkpoints.recordBase(model))), [null, null]);
  assert.equal(JSON.parse(readFileSync(join(one.model.path, 'base.json'), 'utf8')), told);
  assert.is(await checkpoints.recordBase(one.model), null);
  assert.equal(startsOf(one.file), [{ job: one.job, count: 1 }]);
  assert.not(existsSync(join(other.model.path, 'base.json')));
  rmSync(other.job, { recursive: true });
  assert.is(await checkpoints.recordBase(other.model), 'Its training was deleted. Train it again.');
  close();
});

test('why it cannot be found out is told, and tried again unless that is for good', async () => {
  for (const [code, count] of [
    ['bad_model', 1],
    ['model_not_accessible', 2],
  ]) {
    const { checkpoints, trained, startsOf, close } = setUp(
      saying({ failed: { ...failed, code } }),
      ['llama'],
      false,
    );
    const [one] = trained as [Trained];
    for (const _ of [1, 2])
      assert.is(await checkpoints.recordBase(one.model), `${failed.message} ${failed.advice}`);
    assert.equal(startsOf(one.file), [{ job: one.job, count }]);
    assert.not(existsSync(join(one.model.path, 'base.json')));
    close();
  }
});

test.run();
