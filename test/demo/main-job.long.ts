/** `npm run demo` as a whole, with the starter model made from nothing. */
import { existsSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { demo, lastLine } from './demo-process.ts';

test('the starter model is made, trained, exported and asked', async () => {
  const { output, last, data } = await demo([]);
  assert.match(last, lastLine);
  const gguf = lastLine.exec(last)?.[4] as string;
  assert.ok(existsSync(gguf) && gguf.startsWith(data));
  assert.match(output, /Uploaded 400 customer messages/);
});

test.run();
