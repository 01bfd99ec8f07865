import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toolStyleOf } from '../../src/inference/template/tool-styles.ts';
import { begunCall } from '../../src/inference/worker/call-grammar.ts';
import { jsonSchemaFaults, readJsonSchema } from '../../src/inference/worker/json-schema.ts';

test('schemas that a grammar expresses are taken', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      team: { enum: ['billing', 'shipping'], type: 'string', description: 'Who answers' },
      order: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      notes: { type: 'array', items: { $ref: '#/$defs/note' }, maxItems: 3 },
      since: { type: 'string', format: 'date' },
      either: { type: ['string', 'null'] },
    },
    required: ['team', 'order'],
    additionalProperties: false,
    $defs: { note: { type: 'string', minLength: 1, maxLength: 20 } },
  };
  const { schema: read, faults } = readJsonSchema(schema);
  assert.equal(faults, []);
  const { order } = read.properties as Record<string, unknown>;
  assert.equal(order, { oneOf: [{ type: 'integer' }, { type: 'null' }] });
});

test('what a grammar cannot express is named with its place', () => {
  const at = (schema: unknown) => jsonSchemaFaults(schema).map(({ path }) => path);
  const within = (property: unknown) => at({ type: 'object', properties: { 'a/b': property } });
  assert.equal(within({ type: 'string', pattern: '^a$' }), ['/properties/a~1b/pattern']);
  assert.equal(within({ type: 'integer', minimum: 1 }), ['/properties/a~1b/minimum']);
  assert.equal(within({ type: 'string', format: 'email' }), ['/properties/a~1b/format']);
  assert.equal(within({ type: 'array' }), ['/properties/a~1b']);
  assert.equal(within({ type: 'array', items: {}, minItems: 1e9 }), [
    '/properties/a~1b/minItems',
    '/properties/a~1b/minItems',
    '/properties/a~1b/items',
  ]);
  assert.equal(within({ allOf: [] }), ['/properties/a~1b']);
  assert.equal(within({ enum: [{}] }), ['/properties/a~1b/enum']);
  assert.equal(within({ $ref: 'https://example.com' }), ['/properties/a~1b/$ref']);
  assert.equal(within(true), ['/properties/a~1b']);
  assert.equal(at({ type: 'object', required: ['none'] }), ['/required/0']);
  assert.equal(at('text'), ['']);
});

test('a deep schema is refused, not followed', () => {
  let schema: unknown = { type: 'string' };
  for (let level = 0; level < 100_000; level++) schema = { type: 'array', items: schema };
  assert.match(jsonSchemaFaults(schema)[0]?.message ?? '', 'nested more than 32 deep');
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
