import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quantizationTypes } from '../../src/contract/models/quantizations.ts';
import { quantize } from '../../src/native/quantize.ts';
import { writeTinyGguf } from '../native/tiny-gguf.ts';

const folder = mkdtempSync(join(tmpdir(), 'hone-loads-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));

test('every type loads in the engine and gives a next token', async () => {
  const source = join(folder, 'model.gguf');
  writeTinyGguf(source);
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });
  for (const type of quantizationTypes) {
    const file = join(folder, `${type}.gguf`);
    await quantize(source, file, type);
    const model = await llama.loadModel({ modelPath: file });
    const context = await model.createContext({ contextSize: 64, threads: 1 });
    const sequence = context.getSequence();
    const tokens = model.tokenize('ab', true);
    const next = await sequence.evaluate(tokens)[Symbol.asyncIterator]().next();
    assert.type(next.value, 'number', type);
    await context.dispose();
    await model.dispose();
  }
  await llama.dispose();
});

test.run();
