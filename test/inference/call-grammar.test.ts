/** llama.cpp reads the grammars of calls in all styles. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createToolSplit } from '../../src/domain/playground/calls/tool-split.ts';
import { type ToolStyle, toolStyleOf } from '../../src/inference/template/tool-styles.ts';
import { callGrammar } from '../../src/inference/worker/call-grammar.ts';
import { randomFrom } from '../random.ts';
import { readGbnf } from './gbnf.ts';

/** The calls of a grammar: with one call alone, it ends behind it. */
const rootOf = (grammar: string): string => grammar.slice(0, grammar.indexOf('\n'));
const day = { type: 'string', format: 'date' };
const parameters = {
  type: 'object',
  properties: { q: { type: 'string' }, days: { type: 'array', items: { $ref: '#/$defs/day' } } },
  ...{ required: ['q'], $defs: { day } },
};
const tools = [
  { type: 'function' as const, function: { name: 'find', parameters } },
  { type: 'function' as const, function: { name: 'b-c' } },
];
/** What templates of a style have, and what there is of a call when the grammar begins late. */
const templates: [template: string, written: string, isParallel: boolean][] = [
  ['"functions." + ', '<|channel|>commentary to=functions.', false],
  ['<|tool_call>call:', '<|tool_call>call:', true],
  ['<start_function_call>call:', '<start_function_call>call:', true],
  ['<｜tool▁sep｜>```json', '<｜tool▁calls▁begin｜>', true],
  ['<｜tool▁sep｜>', '<｜tool▁calls▁begin｜>', true],
  ['[TOOL_CALLS][ARGS]', '[TOOL_CALLS]', false],
  ['[TOOL_CALLS]', '[TOOL_CALLS]', true],
  ['<tool_call><function=', '<tool_call>', true],
  ['<tool_call><arg_key>', '<tool_call>', true],
  ['[gMASK]<|observation|>', '', false],
  ['<|tool_list_start|>', '<|tool_call_start|>', true],
  ['<|START_ACTION|>', '<|START_ACTION|>', true],
  ['Action: "tool_name"', 'Action:', true],
  ['<tool_call>arguments', '<tool_call>', true],
  ['<|python_tag|>', '{"', false],
];

test('a grammar is read, with calls in parallel where the style has them', async () => {
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });
  for (const [template, begun, isParallel] of templates)
    for (const strict of [[], ['find']])
      for (const written of ['', begun])
        for (const parallel of [true, false]) {
          const style = toolStyleOf(template);
          if (style === null) throw new Error(template);
          const use = { tools, choice: 'required' as const, parallel, strict };
          const grammar = callGrammar(style, use, written);
          assert.ok(await llama.createGrammar({ grammar }), style.name);
          assert.is(rootOf(grammar).includes('call)*'), parallel && isParallel, style.name);
        }
  await llama.dispose();
});

test('calls that a grammar allows are read', () => {
  const use = { tools, choice: 'required' as const, parallel: true, strict: [] };
  for (const [template] of templates)
    for (let first = 0; first < 12; first += 1) {
      const style = toolStyleOf(template);
      if (style === null) throw new Error(template);
      let at = 0;
      // Nothing is repeated for long.
      const text = readGbnf(callGrammar(style, use, '')).write(() => (at++ < first ? (at * 0.37) % 1 : 0));
      const split = createToolSplit(style, use);
      const parts = [split.push(text), split.end()];
      const given = parts.flatMap(({ calls }) => calls.filter(({ index }) => index === 0));
      assert.ok(['find', 'b-c'].includes(given[0]?.name ?? ''), `${style.name}: ${text}`);
      assert.type(JSON.parse(given.map((one) => one.arguments).join('')), 'object');
      assert.is(parts.map(({ content }) => content).join(''), '', `${style.name}: ${text}`);
    }
});

/** Schemas with what only a grammar of them would keep. */
const held: Record<string, Record<string, unknown>> = {
  texts: {
    properties: {
      ...{ said: { enum: ['say "no"', "it's\\n", 'a\nb'] }, kind: { const: 'x: {y}, [z]' }, day },
      ...{
        code: { type: 'string', pattern: '^[A-Z]{2}-\\d+$' },
        name: { type: 'string', minLength: 2, maxLength: 5 },
      },
      ...{ odd: { type: 'string', pattern: '^["\\\\é]{3}$' }, none: { type: 'string', enum: [''] } },
    },
    required: ['said', 'kind', 'day', 'code', 'name', 'odd', 'none'],
  },
  values: {
    properties: {
      ...{
        Zone: { type: 'integer', minimum: 3, maximum: 12 },
        on: { type: 'boolean' },
        off: { const: false },
      },
      ...{
        price: { type: 'number', exclusiveMinimum: 0 },
        gone: { type: 'null' },
        or: { enum: [null, true, 7, 'a'] },
      },
      ...{
        tags: { type: 'array', items: { type: 'string', maxLength: 3 }, minItems: 1, maxItems: 3 },
        any: {},
      },
    },
    required: ['Zone', 'on', 'off', 'price', 'gone', 'or', 'tags'],
  },
  nested: {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        ...{ type: 'object', additionalProperties: false, required: ['label'] },
        properties: {
          label: { enum: ['a', 'b'] },
          'a key': { type: 'boolean' },
          odd: { type: 'object', properties: { 'x: y': { type: 'null' } } },
          children: { type: 'array', items: { $ref: '#/$defs/node' }, maxItems: 2 },
          by: { type: 'object', additionalProperties: { type: 'integer' } },
          at: { const: { x: [1, true, null], y: 'z' } },
        },
      },
    },
  },
};

test('arguments follow their schema in every syntax', async () => {
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });
  const random = randomFrom(5);
  for (const [name, schema] of Object.entries(held)) {
    const isValid = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    const one = { type: 'function' as const, function: { name, parameters: schema } };
    const use = { tools: [one], choice: 'required' as const, parallel: false, strict: [name] };
    for (const [template] of templates) {
      const style = toolStyleOf(template) as ToolStyle;
      const grammar = callGrammar(style, use, '');
      assert.ok(await llama.createGrammar({ grammar }), style.name);
      for (let time = 0; time < 40; time += 1) {
        const text = readGbnf(grammar).write(random);
        const split = createToolSplit(style, use);
        const given = [split.push(text), split.end()].flatMap(({ calls }) =>
          calls.map((call) => call.arguments),
        );
        assert.ok(
          isValid(JSON.parse(given.join(''))),
          `${style.name}: ${text} ${given} ${JSON.stringify(isValid.errors)}`,
        );
      }
    }
  }
  await llama.dispose();
});

test('an answer of a schema may stand in place of calls, behind the header of its channel', () => {
  const use = { tools, choice: 'auto' as const, parallel: true, strict: [] };
  const json = '{"team": "sales"}';
  for (const [template] of templates) {
    const style = toolStyleOf(template);
    if (style === null) throw new Error(template);
    const schema = { properties: { team: { const: 'sales' } }, required: ['team'] };
    const { accepts, write } = readGbnf(callGrammar(style, use, '', schema));
    const header = style.name === 'gpt-oss' ? '<|channel|>final<|message|>' : '';
    assert.ok(accepts(header + json), style.name);
    assert.not.ok(accepts('{"team": "other"}') || accepts(`${header}${json} `), style.name);
    const call = write(() => 0);
    assert.ok(call.includes('find') && accepts(call) && !accepts(call + json), style.name);
  }
});

test.run();
