/** Tools as they are written in the playground: what is wrong is told by its line or field. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Ask } from '../../ui/api/generate.ts';
import { filledFor, parameterDefaults } from '../../ui/pages/playground/playground-parameters.ts';
import { jsonEnd } from '../../ui/state/json-end.ts';
import { readTools, writtenTools } from '../../ui/state/playground/tools.ts';
import { asCurl, asJavaScript, asPython } from '../../ui/views/api-snippets.ts';

const weather = {
  type: 'function' as const,
  function: {
    name: 'weather',
    parameters: { type: 'object', properties: { 'a "b"': { enum: [1.5e3, null] } } },
  },
};

test('a text is JSON just where the parser says so, whatever is written or left out of it', () => {
  const text = writtenTools([weather]);
  assert.is(jsonEnd(text), null);
  const changed = [...text].flatMap((_, at) => [
    text.slice(0, at),
    text.slice(0, at) + text.slice(at + 1),
    ...['"', '\\', ',', ':', '}', '[', '1', '\n', '-'].map(
      (part) => text.slice(0, at) + part + text.slice(at),
    ),
  ]);
  for (const one of changed) {
    const end = jsonEnd(one);
    let isJson = true;
    try {
      JSON.parse(one);
    } catch {
      isJson = false;
    }
    assert.is(end === null, isJson, one);
    assert.ok(end === null || end <= one.length);
  }
});

test('the line or the field of a fault is told', () => {
  const list = (...tools: unknown[]) => JSON.stringify(tools);
  for (const [text, fault] of [
    [' \n', null],
    [list(weather), null],
    ['[\n{"type": "function",\n  name}]', 'Line 3: no JSON from “name}]” on.'],
    ['[\n{"type": "function"', 'Line 2: the JSON is not complete.'],
    ['{}', 'Tools are a list: [{"type": "function", "function": {…}}].'],
    [list(weather, 1), 'tools[1] must be an object.'],
    [list({ ...weather, type: 'web' }), 'tools[0].type must be "function".'],
    [list({ type: 'function' }), 'tools[0].function must be an object with a name.'],
    [list({ type: 'function', function: { name: 'a b' } }), /^tools\[0\]\.function\.name must have 1 to 64 /],
    [list(weather, weather), 'tools[1].function.name is that of another tool.'],
    [
      list({ type: 'function', function: { name: 'a', parameters: [] } }),
      'tools[0].function.parameters must be a JSON schema.',
    ],
  ] as const) {
    const read = readTools(text);
    if (fault instanceof RegExp) assert.match(read.fault ?? '', fault);
    else assert.is(read.fault, fault);
    if (read.fault !== null) assert.equal(read.tools, []);
  }
  assert.equal(readTools(writtenTools([weather])).tools, [weather]);
});

test('a model is first asked with what its rows have, or else with what was written for another', () => {
  const rows = { systemPrompt: 'Be brief.', tools: [weather] };
  const none = { systemPrompt: null, tools: [] };
  const first = { ...parameterDefaults, ...filledFor(parameterDefaults, 'a', rows) };
  assert.equal([first.system, first.tools], ['Be brief.', writtenTools([weather])]);
  assert.equal(filledFor(first, 'a', none), {}, 'it was filled in already');
  assert.equal(filledFor({ ...first, systemFor: 'a', toolsFor: '' }, 'a', none), {
    ...{ tools: '', toolsFor: 'a', filledTools: '' },
  });
  const written = { ...first, tools: '[]' };
  const other = { ...written, ...filledFor(written, 'b', none) };
  assert.equal([other.system, other.tools], ['', '[]'], 'what was filled in goes, what was written stays');
});

test('code has the tools and what was called, and nothing that is not set', () => {
  const call = { id: 'call_1', type: 'function' as const, function: { name: 'weather', arguments: '{}' } };
  const ask: Ask = {
    ...{ model: 'tiny', seed: undefined, as_base: undefined, tools: [weather] },
    messages: [
      { role: 'assistant', content: '', reasoning_content: undefined, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: '12 degrees' },
    ],
  };
  const options = { origin: 'http://localhost:8000', needsKey: false };
  for (const write of [asCurl, asPython, asJavaScript]) {
    const code = write(ask, options);
    for (const part of ['"tool_call_id":', '"12 degrees"', '"weather"', '"enum":'])
      assert.ok(code.includes(part), code);
    assert.not.match(code, 'undefined');
  }
  assert.match(asPython(ask, options), 'print(answer.choices[0].message)');
  assert.match(asPython({ ...ask, tools: undefined }, options), 'print(answer.choices[0].message.content)');
});

test.run();
