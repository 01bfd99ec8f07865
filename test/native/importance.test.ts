/** Quantizing by an importance matrix: it changes the types that take it, and a bad one is refused with words. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quantize, quantizeErrorCode } from '../../src/native/quantize.ts';
import { writeTinyGguf } from './tiny-gguf.ts';

const folder = mkdtempSync(join(tmpdir(), 'hone-importance-'));
const model = join(folder, 'model.gguf');
writeTinyGguf(model);

test.after(() => rmSync(folder, { recursive: true, force: true }));

type Tensors = Readonly<Record<string, readonly number[]>>;

/** Writes a GGUF of 32-bit floats without metadata. */
function writeFloats(name: string, tensors: Tensors): string {
  const text = (value: string) => {
    const head = Buffer.alloc(8);
    head.writeBigUInt64LE(BigInt(Buffer.byteLength(value)));
    return Buffer.concat([head, Buffer.from(value)]);
  };
  const whole = (value: number, bytes: 4 | 8) => {
    const out = Buffer.alloc(bytes);
    out.writeUInt32LE(value);
    return out;
  };
  const padded = (data: Buffer) => Buffer.concat([data, Buffer.alloc(-data.length & 31)]);
  const entries = Object.entries(tensors);
  const head = [Buffer.from('GGUF'), whole(3, 4), whole(entries.length, 8), whole(0, 8)];
  const data: Buffer[] = [];
  let offset = 0;
  for (const [tensor, values] of entries) {
    head.push(text(tensor), whole(1, 4), whole(values.length, 8), whole(0, 4), whole(offset, 8));
    const stored = padded(Buffer.from(Float32Array.from(values).buffer));
    data.push(stored);
    offset += stored.length;
  }
  const path = join(folder, name);
  writeFileSync(path, Buffer.concat([padded(Buffer.concat(head)), ...data]));
  return path;
}

const matrix = 'blk.0.attn_q.weight';
/** The sums of 256 columns, of which one in eight matters a hundred times as much. */
const columns = Array.from({ length: 256 }, (_, at) => (at % 8 === 0 ? 100 : 1));
const good = writeFloats('good.gguf', { [`${matrix}.in_sum2`]: columns, [`${matrix}.counts`]: [4] });

async function made(type: string, importance: string | null): Promise<Buffer> {
  const out = join(folder, 'out.gguf');
  await quantize(model, out, type, { importance });
  return readFileSync(out);
}

test('it changes the weights of small types, and none of Q8_0', async () => {
  for (const type of ['Q4_K_M', 'Q4_0', 'IQ4_XS', 'Q3_K_M', 'Q2_K']) {
    const [without, with_] = [await made(type, null), await made(type, good)];
    assert.not.ok(without.equals(with_), `${type} differs`);
  }
  assert.ok((await made('Q8_0', null)).equals(await made('Q8_0', good)));
  // Columns that matter alike are no importance.
  const alike = { [`${matrix}.in_sum2`]: columns.map(() => 8), [`${matrix}.counts`]: [4] };
  assert.not.ok((await made('Q4_0', good)).equals(await made('Q4_0', writeFloats('alike.gguf', alike))));
});

test('a damaged one, and one of another model, is refused and leaves nothing', async () => {
  rmSync(join(folder, 'out.gguf'), { force: true });
  const sums = `${matrix}.in_sum2`;
  const counts = `${matrix}.counts`;
  const whole = readFileSync(good);
  const cut = join(folder, 'cut.gguf');
  writeFileSync(cut, whole.subarray(0, whole.length - 512));
  const text = join(folder, 'text.gguf');
  writeFileSync(text, 'not a GGUF');
  const bad: Readonly<Record<string, readonly [path: string, words: RegExp]>> = {
    missing: [join(folder, 'nothing.gguf'), /not a readable GGUF/],
    text: [text, /not a readable GGUF/],
    cut: [cut, /not a readable GGUF|truncated/],
    empty: [writeFloats('empty.gguf', { other: [1] }), /has no matrix/],
    uncounted: [writeFloats('uncounted.gguf', { [sums]: columns }), /no number of tokens for blk\.0\.attn_q/],
    nan: [
      writeFloats('nan.gguf', { [sums]: [Number.NaN, ...columns.slice(1)], [counts]: [4] }),
      /sums of squares/,
    ],
    negative: [writeFloats('negative.gguf', { [sums]: columns, [counts]: [-4] }), /sums of squares/],
    experts: [writeFloats('experts.gguf', { [sums]: columns, [counts]: [4, 4, 4] }), /sums of squares/],
    length: [writeFloats('length.gguf', { [sums]: columns.slice(1), [counts]: [4] }), /of another model/],
    other: [
      writeFloats('other.gguf', { 'blk.9.x.weight.in_sum2': columns, 'blk.9.x.weight.counts': [4] }),
      /of another model/,
    ],
  };
  for (const [name, [path, words]] of Object.entries(bad)) {
    const error = await made('Q4_K_M', path).then(
      () => null,
      (thrown: unknown) => thrown as Error,
    );
    assert.is(quantizeErrorCode(error), 'bad_importance', `${name}: ${error?.message}`);
    assert.match(error?.message ?? '', words, name);
  }
  assert.equal(
    readdirSync(folder).filter((name) => name.startsWith('out.gguf')),
    [],
  );
});

test.run();
