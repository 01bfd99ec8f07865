import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AppError } from '../../src/errors.ts';
import { createConceal } from '../../src/http/access/conceal.ts';

const conceal = createConceal(['/srv/hone', '/home/ada', '/']);

test('an internal error says nothing about itself', () => {
  const { message } = conceal(
    new AppError('internal', "ENOENT: open '/srv/hone/database/x'", { cause: new Error() }),
  );
  assert.not.match(message, /ENOENT|srv/);
});

test('of folders with a common beginning the longest counts', () => {
  const { message } = createConceal(['/srv/ho', '/srv/hone'])(new AppError('invalid', 'See /srv/hone/x.'));
  assert.is(message, 'See (a path on the server)');
});

test('paths of the server are left out, and nothing else', () => {
  const error = new AppError(
    'invalid',
    'The folder /srv/hone/models/a-b.c is empty; see /api/openapi.json (/home/ada).',
    {
      issues: [{ loc: ['body', 'model_name'], msg: '"/home/ada/x y" is odd', type: 'value_error' }],
      details: { status: 405 },
    },
  );
  const shown = conceal(error);
  assert.is(
    shown.message,
    'The folder (a path on the server) is empty; see /api/openapi.json ((a path on the server)).',
  );
  assert.is(shown.issues[0]?.msg, '"(a path on the server) y" is odd');
  assert.equal([shown.kind, shown.details], ['invalid', { status: 405 }]);
});

test.run();
