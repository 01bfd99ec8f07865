import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AppError } from '../../src/errors.ts';
import { readGguf } from '../../src/inference/gguf/gguf.ts';
import { writeTinyGguf } from '../native/tiny-gguf.ts';

const directory = mkdtempSync(join(tmpdir(), 'hone-gguf-'));
const good = join(directory, 'good.gguf');
const bad = join(directory, 'bad.gguf');
writeTinyGguf(good);
const bytes = readFileSync(good);

test.after(() => rmSync(directory, { recursive: true, force: true }));

/** What reading `content` says: the kind of its error, or null when it is accepted. */
async function verdict(content: Uint8Array): Promise<string | null> {
  writeFileSync(bad, content);
  try {
    await readGguf(bad);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.kind;
    throw error;
  }
}

/** Where the tensor data begins: the end of what the parser reads. */
const headerBytes = bytes.lastIndexOf('output_norm.weight') + 256;

function u64(value: bigint): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(value);
  return buffer;
}

function patched(at: number, patch: Uint8Array): Buffer {
  const copy = Buffer.from(bytes);
  copy.set(patch, at);
  return copy;
}

test('a valid file is described', async () => {
  const file = await readGguf(good);
  assert.is(file.architecture, 'llama');
  assert.is(file.contextLength, 128);
  assert.is(file.tokens.length, 261);
  assert.is(file.tokenTypes.length, 261);
});

test('every truncation is refused', async () => {
  for (let keep = 0; keep < bytes.length; keep += keep < headerBytes ? 211 : 400_009) {
    assert.is(await verdict(bytes.subarray(0, keep)), 'invalid', `${keep} bytes`);
  }
  assert.is(await verdict(bytes.subarray(0, bytes.length - 1)), 'invalid');
});

test('flipped bits in the header never do more than refuse', async () => {
  let state = 12_345;
  const draw = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state % below;
  };
  let refused = 0;
  for (let i = 0; i < 400; i++) {
    const at = draw(Math.min(headerBytes, bytes.length));
    const copy = Buffer.from(bytes.subarray(0, bytes.length));
    copy[at] = (copy[at] as number) ^ (1 << draw(8));
    const said = await verdict(copy);
    assert.ok(said === null || said === 'invalid', said ?? '');
    if (said !== null) refused += 1;
  }
  assert.ok(refused > 20);
});

test('impossible counts and sizes are refused without being believed', async () => {
  const huge = u64(2n ** 63n - 1n);
  assert.is(await verdict(patched(8, huge)), 'invalid', 'tensor count');
  assert.is(await verdict(patched(8, u64(0n))), 'invalid', 'no tensors');
  assert.is(await verdict(patched(16, huge)), 'invalid', 'entry count');
  assert.is(await verdict(patched(24, huge)), 'invalid', 'length of the first key');
  assert.is(await verdict(patched(4, Uint8Array.of(99, 0, 0, 0))), 'invalid', 'version');
  assert.is(await verdict(patched(0, Buffer.from('GGML'))), 'invalid', 'magic');
  const name = bytes.indexOf('token_embd.weight');
  const dimensions = name + 'token_embd.weight'.length;
  assert.is(await verdict(patched(dimensions, Uint8Array.of(5, 0, 0, 0))), 'invalid', 'dimensions');
  assert.is(await verdict(patched(dimensions + 4, huge)), 'invalid', 'a side');
  assert.is(await verdict(patched(dimensions + 4, u64(0n))), 'invalid', 'an empty side');
  assert.is(await verdict(patched(dimensions + 20, Uint8Array.of(250, 0, 0, 0))), 'invalid', 'type');
  assert.is(await verdict(patched(dimensions + 24, u64(7n))), 'invalid', 'alignment of an offset');
  assert.is(await verdict(patched(dimensions + 24, u64(2n ** 40n))), 'invalid', 'offset behind the end');
});

test('models that cannot continue a text are refused by name', async () => {
  const copy = Buffer.from(bytes);
  const value = copy.indexOf('llama', copy.indexOf('general.architecture'));
  copy.write('dream', value, 'latin1');
  writeFileSync(bad, copy);
  try {
    await readGguf(bad);
    assert.unreachable();
  } catch (error) {
    assert.match((error as AppError).message, /dream/);
  }
});

test('a file that is not there, or is a folder', async () => {
  const missing = await readGguf(join(directory, 'none.gguf')).catch((error: AppError) => error.kind);
  assert.is(missing, 'not_found');
  const folder = await readGguf(directory).catch((error: unknown) => error);
  assert.ok(folder instanceof AppError);
});

test.run();
