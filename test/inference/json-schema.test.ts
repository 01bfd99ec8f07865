/** Grammars of JSON schemas: whatever they write is valid, and what is valid is one of their texts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { jsonSchemaFaults, readJsonSchema } from '../../src/inference/schema/read-schema.ts';
import { schemaErrors } from '../../src/inference/schema/schema-errors.ts';
import { toolStyleOf } from '../../src/inference/template/tool-styles.ts';
import { begunCall } from '../../src/inference/worker/call-grammar.ts';
import { root } from '../service.ts';
import { type Grammar, readGbnf } from './gbnf.ts';

const ajv = new Ajv2020({ strict: false, validateFormats: false, multipleOfPrecision: 6 });
/** A linear congruential generator: the same texts in every run. */
const numbers = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};

function grammarOf(schema: unknown): Grammar {
  const { rules, faults } = readJsonSchema(schema);
  assert.equal(faults, [], JSON.stringify(schema));
  return readGbnf(rules.join('\n'));
}

/** Writes texts of a schema's grammar, which must be valid JSON of the schema. @returns the first that is not. */
function invalidOf(schema: unknown, count = 40): readonly [text: string, errors: string] | null {
  const grammar = grammarOf(schema);
  const isValid = ajv.compile(schema as object) as ValidateFunction;
  const random = numbers(7);
  for (let index = 0; index < count; index += 1) {
    const text = grammar.write(random);
    if (!isValid(JSON.parse(text))) return [text, ajv.errorsText(isValid.errors)];
    assert.ok(grammar.accepts(text), text);
  }
  return null;
}

/** What a grammar takes and what not, of values. */
function takes(schema: unknown, valid: readonly unknown[], invalid: readonly unknown[]): void {
  const grammar = grammarOf(schema);
  const told = JSON.stringify(schema);
  for (const value of valid)
    assert.ok(grammar.accepts(JSON.stringify(value)), `${told}: ${JSON.stringify(value)}`);
  for (const value of invalid)
    assert.not.ok(grammar.accepts(JSON.stringify(value)), `${told}: ${JSON.stringify(value)}`);
}

test('numbers keep their bounds and steps', () => {
  takes({ type: 'integer' }, [0, -7, 123_456_789_012_345], [1.5, 1e16]);
  takes({ type: 'integer', minimum: 3, maximum: 120 }, [3, 9, 10, 99, 100, 120], [2, 121, 1000, -3]);
  takes({ type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 }, [0, -999], [1e16]);
  takes({ type: 'integer', exclusiveMinimum: -5, exclusiveMaximum: 5 }, [-4, 0, 4], [-5, 5]);
  takes({ type: 'integer', minimum: 1, exclusiveMinimum: true }, [2], [1]);
  takes({ type: 'integer', multipleOf: 5 }, [0, 5, -15, 1_000_000], [3, -4]);
  takes({ type: 'integer', multipleOf: 100, minimum: 0 }, [0, 100, 12_300], [10, -100]);
  takes({ type: 'integer', multipleOf: 7, maximum: 30, minimum: -10 }, [-7, 0, 28], [29, 1]);
  takes({ type: 'number' }, [0, -1.5, 1e-7, 123.25], ['1']);
  takes({ type: 'number', minimum: 0, maximum: 1 }, [0, 0.5, 0.123456, 1], [-0.1, 1.1, 2]);
  takes({ type: 'number', exclusiveMinimum: 0 }, [0.01, 0.000_001, 3, 12.5], [0, -1]);
  takes({ type: 'number', minimum: -1.5, exclusiveMaximum: 2.25 }, [-1.5, -1.25, 0, 2, 2.2], [-1.6, 2.25, 3]);
  takes({ type: 'number', minimum: 0.5, maximum: 0.9 }, [0.5, 0.75, 0.9], [0.4, 0.95, 1]);
  takes({ type: 'number', multipleOf: 0.01, exclusiveMinimum: 0 }, [0.05, 19.99, 3], [0, 0.005]);
  takes({ type: 'number', multipleOf: 0.25, minimum: -3, maximum: 3 }, [-1.25, 0, 2.75], [0.3, -3.25, 3.25]);
  for (const bounds of [{ maximum: -0.25 }, { minimum: 1e20 }, { multipleOf: 3 }, { multipleOf: 0.5 }])
    if (!('minimum' in bounds) && bounds.multipleOf !== 3)
      assert.is(invalidOf({ type: 'number', ...bounds }), null, JSON.stringify(bounds));
  assert.match(jsonSchemaFaults({ type: 'number', minimum: 2, maximum: 1 })[0]?.message ?? '', 'between');
});

test('strings match their patterns and formats as JSON has them', () => {
  takes({ type: 'string', pattern: '^a.b$' }, ['a"b', 'a\\b', 'aäb'], ['a\nb', 'ab']);
  takes({ type: 'string', pattern: '\\d{2,3}' }, ['12', 'x123y"'], ['1', 'a']);
  takes({ type: 'string', pattern: '^(?:[A-Z]{2}|é)+-\\w*\\s?$' }, ['ABé-x_1 ', 'é-'], ['A-', 'AB']);
  takes({ type: 'string', pattern: '^[^"x]+$' }, ['a\\', '\t'], ['"', 'x', '']);
  takes({ type: 'string', pattern: '^a|b$' }, ['a1', '1b', 'ab'], ['1a', 'b1']);
  takes({ type: 'string', minLength: 2, maxLength: 3 }, ['ab', '🙂🙂🙂', '"\n'], ['a', 'abcd']);
  takes({ type: 'string', format: 'date' }, ['2026-11-27', '2026-02-28'], ['2026-02-30', '2026-13-01']);
  takes(
    { type: 'string', format: 'date-time' },
    ['2026-11-27T10:00:00Z', '2026-11-27T10:00:00.5+01:00'],
    ['2026'],
  );
  takes(
    { type: 'string', format: 'email' },
    ['ada.l@example.co.uk'],
    ['ada@', 'a b@example.com', 'ada@localhost'],
  );
  takes({ type: 'string', format: 'ipv4' }, ['127.0.0.1', '255.255.255.255'], ['256.0.0.1', '1.2.3']);
  takes({ type: 'string', format: 'uuid' }, ['3f2504e0-4f89-41d3-9a0c-0305e82c3301'], ['3f2504e0']);
  takes({ type: 'string', format: 'unknown' }, ['anything'], [1]);
  for (const pattern of ['(?=a)b', '(a)\\1', '\\bword', '\\p{L}', '(', 'a{2000}'])
    assert.equal(jsonSchemaFaults({ type: 'string', pattern })[0]?.path, '/pattern', pattern);
  assert.equal(
    jsonSchemaFaults({ type: 'string', pattern: '^(?!x)', format: 'email' }),
    [],
    'its format is held',
  );
});

test('properties that are not required may be left out, in their order, and lists come to their ends', () => {
  const properties = { a: { type: 'boolean' }, b: { const: 1 }, c: { type: 'null' } };
  const closed = { type: 'object', properties, required: ['b'] };
  takes(
    closed,
    [{ b: 1 }, { a: true, b: 1 }, { b: 1, c: null }, { a: false, b: 1, c: null }],
    [{}, { a: true }, { b: 1, d: 2 }],
  );
  takes({ ...closed, required: [] }, [{}, { c: null }, { a: true, c: null }], [{ b: 2 }]);
  takes({ ...closed, required: ['a', 'b', 'c'] }, [{ a: true, b: 1, c: null }], [{ b: 1 }, {}]);
  takes({ type: 'object' }, [{}, { x: [1, { y: null }] }], [[]]);
  takes(
    { type: 'object', additionalProperties: { type: 'integer' }, maxProperties: 2 },
    [{}, { x: 1 }],
    [{ x: 'a' }, { x: 1, y: 2, z: 3 }],
  );
  takes(
    { type: 'object', propertyNames: { enum: ['a', 'b'] }, additionalProperties: { type: 'number' } },
    [{ a: 1 }],
    [{ c: 1 }],
  );
  takes(
    { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 3 },
    [[1], [1, 2, 3]],
    [[], [1, 2, 3, 4]],
  );
  takes(
    { type: 'array', prefixItems: [{ type: 'string' }, { type: 'boolean' }], items: false },
    [['a', true]],
    [['a'], ['a', true, 1]],
  );
  takes({ type: 'array', items: [{ const: 1 }], additionalItems: { const: 2 } }, [[1], [1, 2, 2]], [[], [2]]);
  takes({ type: 'array', maxItems: 0 }, [[]], [[1]]);
  takes({}, [1, 'a', null, [{}], { a: [true] }], []);
});

test('references, choices and what holds together', () => {
  const tree = {
    type: 'object',
    properties: { child: { $ref: '#' }, n: { type: 'integer' } },
    required: ['n'],
  };
  takes(tree, [{ n: 1 }, { child: { child: { n: 1 }, n: 2 }, n: 3 }], [{ child: {}, n: 1 }]);
  const both = {
    allOf: [{ $ref: '#/definitions/a' }, { properties: { b: { type: 'boolean' } }, required: ['b'] }],
    definitions: {
      a: { type: 'object', properties: { a: { type: 'string', maxLength: 1 } }, required: ['a'] },
    },
  };
  takes(both, [{ a: 'x', b: true }], [{ a: 'x' }, { b: true }, { a: 'xy', b: true }]);
  const status = (value: string) => ({
    type: 'object',
    properties: { is: { const: value } },
    required: ['is'],
  });
  takes(
    { oneOf: [status('a'), status('b')], discriminator: { propertyName: 'is' } },
    [{ is: 'a' }, { is: 'b' }],
    [{ is: 'c' }],
  );
  takes(
    {
      type: 'object',
      properties: { a: {} },
      anyOf: [{ required: ['a'] }, { properties: { b: { const: 2 } }, required: ['b'] }],
    },
    [{ a: 1 }, { b: 2 }],
    [{}],
  );
  takes({ type: ['integer', 'null'], minimum: 1 }, [1, null], [0, 'x']);
  takes({ type: 'string', nullable: true }, ['x', null], [1]);
  takes({ enum: [1, 'a', null, { x: [1] }], type: ['string', 'object'] }, ['a', { x: [1] }], [1, null]);
  takes({ const: { a: ['x', 1] } }, [{ a: ['x', 1] }], [{}]);
  takes({ $ref: '#/$defs/a', description: 'A note', $defs: { a: { type: 'null' } } }, [null], [1]);
});

test('what has no grammar is named with its place', () => {
  const at = (schema: unknown) => jsonSchemaFaults(schema).map(({ path }) => path);
  const within = (property: unknown) => at({ type: 'object', properties: { 'a/b': property } });
  const cases: [schema: unknown, path: string][] = [
    [{ type: 'text' }, '/type'],
    [{ type: 'array', minItems: 1e9 }, '/minItems'],
    [{ type: 'array', minItems: -1 }, '/minItems'],
    [{ type: 'string', minLength: 3, maxLength: 2 }, '/minLength'],
    [{ type: 'integer', minimum: '1' }, '/minimum'],
    [{ type: 'number', multipleOf: 0 }, '/multipleOf'],
    [{ allOf: [] }, '/allOf'],
    [{ anyOf: 'x' }, '/anyOf'],
    [{ enum: [] }, '/enum'],
    [{ $ref: 'https://example.com' }, '/$ref'],
    [{ $ref: '#/nowhere' }, '/$ref'],
    [{ type: 'object', required: ['none'], properties: { a: {} } }, '/required/0'],
    [{ allOf: [{ type: 'string' }, { type: 'null' }] }, ''],
    [false, ''],
    ['text', ''],
  ];
  for (const [schema, path] of cases)
    assert.equal(within(schema), [`/properties/a~1b${path}`], JSON.stringify(schema));
  const loop = {
    $ref: '#/$defs/a',
    $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } },
  };
  assert.match(jsonSchemaFaults(loop)[0]?.message ?? '', 'refers to itself');
  assert.match(jsonSchemaFaults({ allOf: [{ $ref: '#' }] })[0]?.message ?? '', 'refers to itself');
});

test('a deep, wide or growing schema is refused, not followed', () => {
  let deep: unknown = { type: 'string' };
  for (let level = 0; level < 100_000; level += 1) deep = { type: 'array', items: deep };
  assert.match(jsonSchemaFaults(deep)[0]?.message ?? '', 'nested more than 32 deep');
  // Each of them doubles what is behind it, and none is a rule of its own, since each has a keyword beside it.
  const $defs: Record<string, unknown> = { d0: { type: 'null' } };
  for (let level = 1; level < 30; level += 1)
    $defs[`d${level}`] = {
      anyOf: [1, 2].map((index) => ({ $ref: `#/$defs/d${level - 1}`, minLength: index })),
    };
  assert.match(jsonSchemaFaults({ $ref: '#/$defs/d29', $defs })[0]?.message ?? '', /parts|deep/);
});

test('schemas of pydantic and zod, as their documentation has them, are taken and held', async () => {
  const libraries = JSON.parse(readFileSync(join(root, 'test', 'inference', 'library-schemas.json'), 'utf8'));
  /** Patterns of look-around alone, with no format that is known. */
  const refused = ['z.emoji()', 'coordinate.Coordinate', 'coordinate.Latitude'];
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });
  let count = 0;
  for (const schemas of Object.values(libraries) as Record<string, object>[])
    for (const [name, { $schema: _, ...schema }] of Object.entries(schemas) as [
      string,
      { $schema?: string },
    ][]) {
      if (refused.includes(name)) {
        assert.match(jsonSchemaFaults(schema)[0]?.path ?? '', /\/pattern$/, name);
        continue;
      }
      // Ajv is here that of the newest draft. What is not held is told.
      const invalid = /^(draft-7|target) /.test(name) ? null : invalidOf(schema, 25);
      if (invalid !== null)
        assert.ok((await schemaErrors(schema, JSON.parse(invalid[0]))).length > 0, `${name}: ${invalid}`);
      // llama.cpp reads it, too.
      assert.ok(await llama.createGrammar({ grammar: readJsonSchema(schema).rules.join('\n') }), name);
      count += 1;
    }
  assert.is(count, 282);
  await llama.dispose();
});

test('the beginning of a call is found at the end of an answer', () => {
  const begun = (template: string, text: string) => {
    const style = toolStyleOf(template);
    return style && begunCall(style, text);
  };
  const hermes = '<tool_call>{"name": N, "arguments": A}';
  assert.is(begun(hermes, 'I look.\n<tool_call>'), '<tool_call>');
  assert.is(begun(hermes, '<tool_call>\n{'), '<tool_call>\n{');
  for (const text of ['', 'I look.', '<tool', '<tool_call> is', '<tool_call>\n{"name": "a'])
    assert.is(begun(hermes, text), null, text);
  assert.is(begun('[TOOL_CALLS]', '[TOOL_CALLS]'), '[TOOL_CALLS]');
  const llama = 'ipython {"name": N, "parameters": P}';
  assert.is(begun(llama, '{'), '{');
  assert.is(begun(llama, '<|python_tag|>{"'), '{"');
  assert.is(begun(llama, 'A {'), null);
});

test.run();
