import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRowValidator } from '../../../../src/domain/datasets/rows/row-validator.ts';

const user = { role: 'user', content: 'q' };
const answer = { role: 'assistant', content: 'a' };
const plain = { prompt: 'p', chosen: 'c', rejected: 'r' };
const talk = {
  prompt: [{ role: 'system', content: 's' }, user, answer, user],
  chosen: [answer],
  rejected: [answer],
};

function validate(rows: readonly unknown[]) {
  const validator = createRowValidator(['preference']);
  validator.push(Buffer.from(`${rows.map((row) => JSON.stringify(row)).join('\n')}\n`));
  return validator.finish();
}

test('a prompt and its answers are texts or lists of messages, in any combination', () => {
  const mixed = [
    plain,
    talk,
    { ...plain, prompt: [user] },
    { ...talk, chosen: 'c' },
    { ...talk, rejected: 'r', tools: [] },
    { ...talk, prompt: 'p', source: 'kept beside' },
    { ...plain, tools: ['of no account beside texts'] },
    { ...talk, prompt: [user, { ...answer, weight: 0 }, user], chosen: [{ ...answer, weight: 1 }] },
  ];
  const validation = validate([...mixed, ...mixed]);
  assert.equal(validation, { valid: true, shape: 'preference', numExamples: 16, errors: [], totalErrors: 0 });
});

test('each fault is told with its line, field and message', () => {
  const bad: [unknown, string, string][] = [
    [{ ...talk, prompt: [] }, 'prompt', 'field "prompt" has no messages'],
    [
      { ...talk, prompt: 3 },
      'prompt',
      'field "prompt" must be a string or a list of messages, found a number',
    ],
    [
      { ...talk, chosen: answer },
      'chosen',
      'field "chosen" must be a string or a list of messages, found an object',
    ],
    [
      { ...talk, prompt: [user, answer] },
      'prompt',
      'field "prompt" must end with a message of the user, found one of the assistant',
    ],
    [
      { ...talk, prompt: [{ ...user, role: 'human' }] },
      'prompt',
      'prompt[0]: role must be one of system, user, assistant, tool, found "human"',
    ],
    [{ ...talk, rejected: [] }, 'rejected', 'field "rejected" has no messages'],
    [
      { ...talk, rejected: [answer, user, answer] },
      'rejected',
      'field "rejected" must have one message, the answer, found 3; move the others to "prompt"',
    ],
    [
      { ...talk, chosen: [user] },
      'chosen',
      'field "chosen" must have a message of the assistant, found one of the user',
    ],
    [
      { ...talk, chosen: [{ ...answer, weight: 0 }] },
      'chosen',
      'field "chosen" has the weight 0, but answers of a preference are learned from; remove it',
    ],
    [
      { ...talk, chosen: [{ ...answer, tool_calls: [{ id: 'c' }] }] },
      'chosen',
      'chosen[0]: tool_calls[0]: function must be an object with a name, found null',
    ],
    [
      { ...talk, rejected: [{ role: 'assistant' }] },
      'rejected',
      'rejected[0]: missing required field "content"',
    ],
    [
      { ...talk, rejected: ['r'] },
      'rejected',
      'rejected[0]: a message must be an object with role and content, found a string',
    ],
    [{ prompt: [user], chosen: 'c' }, 'rejected', 'missing required field "rejected"'],
  ];
  const { errors, totalErrors } = validate([...Array(10).fill(talk), ...bad.map(([row]) => row)]);
  assert.equal(
    errors,
    bad.map(([, field, message], index) => ({
      line: 11 + index,
      field,
      message: `Line ${11 + index}: ${message}`,
    })),
  );
  assert.is(totalErrors, bad.length);
  const tools = validate([...Array(10).fill(talk), { ...talk, tools: [{ type: 'function' }] }]);
  assert.equal(
    tools.errors.map(({ message }) => message),
    ['Line 11: tools[0]: function must be an object with a name, found null'],
  );
});

test.run();
