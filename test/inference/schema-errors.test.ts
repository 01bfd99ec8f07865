/** What no grammar holds of a schema is found in the finished answer. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { firstBroken, schemaErrors } from '../../src/inference/schema/schema-errors.ts';

const text = { type: 'string' };
const cases: readonly (readonly [
  schema: Record<string, unknown>,
  right: unknown,
  wrong: unknown,
  place: string,
])[] = [
  [
    { properties: { tags: { type: 'array', uniqueItems: true } } },
    { tags: [1, 2] },
    { tags: [1, 1] },
    '/tags',
  ],
  [{ not: { required: ['a'] } }, { b: 1 }, { a: 1 }, '/'],
  [{ oneOf: [{ type: 'integer' }, { type: 'number', minimum: 5 }] }, 3, 7, '/'],
  [{ type: 'array', contains: { const: 1 } }, [2, 1], [2], '/0'],
  [{ dependentRequired: { a: ['b'] } }, { b: 1 }, { a: 1 }, '/'],
  [{ type: 'string', pattern: '^a+$', maxLength: 2 }, 'aa', 'aaa', '/'],
  [{ if: { required: ['a'] }, else: { required: ['b'] } }, { a: 1 }, {}, '/'],
  // As zod writes it, and with a list of items as draft 7 has it.
  [
    { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'array', uniqueItems: true }] },
    [[1]],
    [[1, 1]],
    '/0',
  ],
  [{ $defs: { t: { not: text } }, properties: { a: { $ref: '#/$defs/t' } } }, { a: 1 }, { a: 'x' }, '/a'],
];

test('an answer that breaks its schema is told with the place, and another one is not', async () => {
  for (const [schema, right, wrong, place] of cases) {
    assert.equal(await schemaErrors(schema, right), [], JSON.stringify(schema));
    const [error = ''] = await schemaErrors(schema, wrong);
    assert.ok(error.startsWith(`${place} `), `${JSON.stringify(schema)}: ${error}`);
  }
});

test('what a grammar holds is not checked, and a check has an end', async () => {
  assert.equal(await schemaErrors({ type: 'string' }, 1), []);
  const slow = { type: 'string', pattern: '^(a+)+$', not: { const: 'b' } };
  const [error] = await schemaErrors(slow, `${'a'.repeat(50)}!`);
  assert.match(error ?? '', 'could not be checked');
});

test('on a busy machine, where the time of a check passes without work, it is made again', async () => {
  let reads = 0;
  const properties = {
    get a() {
      reads += 1;
      // Not the first time, which is before the check.
      if (reads === 2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
      return { type: 'string' };
    },
  };
  const found = await firstBroken({ properties }, [{ a: 'x' }, { a: 1 }]);
  assert.equal(found, { at: 1, errors: ['/a must be string'] });
  assert.ok(reads > 2);
});

test.run();
