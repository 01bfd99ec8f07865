import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { AppError } from '../../src/errors.ts';
import { accept, parseInput, refuseWith } from '../../src/http/parsing/parse-input.ts';

const schema = v.strictObject({
  name: v.string(),
  count: v.optional(v.number(), 1),
  of: v.optional(v.strictObject({})),
});
const faults = (value: unknown, place: 'body' | 'query' = 'body') => {
  const parsed = parseInput(schema, value, place);
  return 'issues' in parsed ? parsed.issues.map(({ loc, type }) => `${loc.join('.')} ${type}`) : [];
};
/** What an action is refused with. */
async function refused(act: () => unknown): Promise<AppError> {
  try {
    await act();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

test('a valid input has its defaults', () => {
  assert.equal(accept(parseInput(schema, { name: 'a' }, 'body')), { name: 'a', count: 1 });
});

test('every unknown field is reported, and none that is known', () => {
  assert.equal(faults({ name: 'a', colour: 1, count: 2, size: 3 }), [
    'body.colour extra_forbidden',
    'body.size extra_forbidden',
  ]);
  assert.equal(faults({ name: 'a', of: { deep: 1 } }), ['body.of.deep extra_forbidden']);
  assert.match(faults({ colour: 1 }, 'query').join(), 'query.name missing');
});

test('more errors than a response has room for are counted', async () => {
  const many = Object.fromEntries(Array.from({ length: 130 }, (_, number) => [`field${number}`, 1]));
  const { issues } = await refused(() => accept(parseInput(schema, { name: 'a', ...many }, 'body')));
  assert.is(issues.length, 101);
  assert.equal([issues[100]?.msg, issues[100]?.loc], ['30 more errors', ['body']]);
});

test('what else is wrong is looked for in the valid fields alone', async () => {
  let seen: unknown;
  const error = await refused(() => {
    const parsed = parseInput(schema, { name: 'a', count: 'x' }, 'body');
    assert.ok('issues' in parsed);
    return refuseWith(
      parsed.issues,
      async (fields, without) => {
        seen = [{ ...(fields as object) }, [...without]];
        return [{ loc: ['body', 'name'], msg: 'The name is taken', type: 'value_error' }];
      },
      schema,
      { name: 'a', count: 'x' },
    );
  });
  assert.equal(seen, [{ name: 'a' }, ['count']]);
  assert.equal(
    error.issues.map(({ loc }) => loc.join('.')),
    ['body.count', 'body.name'],
  );
});

test('what is no object has no fields to look at', async () => {
  const error = await refused(() => {
    const parsed = parseInput(schema, 'text', 'body');
    assert.ok('issues' in parsed);
    return refuseWith(parsed.issues, () => Promise.reject(new Error('not asked')), schema, 'text');
  });
  assert.is(error.issues.length, 1);
});

test.run();
