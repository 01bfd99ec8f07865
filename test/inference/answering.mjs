/**
 * A small program that speaks like `python -m trainer answer`: it repeats its prompt word by word, and fails as the
 * prompt says.
 */
import { createInterface } from 'node:readline';

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const done = (id, text, finishReason = 'stop') => {
  const counts = {
    promptTokens: 1,
    cachedTokens: 0,
    generatedTokens: text.length,
    timeToFirstTokenMs: 1,
    durationMs: 1,
  };
  say({ type: 'done', id, result: { text, finishReason, ...counts } });
};
let isSilent = false;
let held = null;

createInterface({ input: process.stdin })
  .on('line', (line) => {
    if (isSilent) return;
    const message = JSON.parse(line);
    if (message.type === 'ping') say({ type: 'alive', steps: 0 });
    if (message.type === 'abort') done(message.id, '', 'aborted');
    if (message.type === 'load') {
      const error = { kind: 'invalid', message: 'The base model is gone.', details: {} };
      say(message.base.name === 'gone' ? { type: 'failed', id: null, ...error } : { type: 'loaded' });
    }
    if (message.type !== 'generate') return;
    const { id, input } = message;
    if (input.text === 'crash') process.kill(process.pid, 'SIGKILL');
    if (input.text === 'garbled') say({ type: 'text', id });
    if (input.text === 'silent') isSilent = true;
    else if (input.text === 'hold') held = id;
    else if (input.text === 'release') {
      done(held, 'held');
      done(id, 'released');
    } else {
      for (const word of input.text.split(' ')) say({ type: 'text', id, delta: word });
      done(id, input.text);
    }
  })
  .on('close', () => process.exit(0));
