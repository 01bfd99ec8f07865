import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { GgufReader, readValue } from '../src/inference/gguf/gguf-reader.ts';

const alignment = 32;
const padded = (bytes: number) => Math.ceil(bytes / alignment) * alignment;

/** Splits a GGUF file into so many parts, as llama.cpp's `llama-gguf-split` does, and removes it. @returns the parts. */
export function splitGguf(path: string, count: number): string[] {
  const whole = readFileSync(path);
  const reader = new GgufReader(whole);
  reader.skip(8);
  const [tensorCount, entryCount] = [reader.u64(), reader.u64()];
  const entriesStart = reader.position;
  for (let index = 0; index < entryCount; index += 1) {
    reader.string();
    readValue(reader, reader.u32(), false);
  }
  const entries = whole.subarray(entriesStart, reader.position);
  const tensors = Array.from({ length: tensorCount }, () => {
    const start = reader.position;
    reader.string();
    reader.skip(8 * reader.u32() + 4);
    const info = whole.subarray(start, reader.position);
    return { info, offset: reader.u64() };
  });
  const dataStart = padded(reader.position);
  const ends = [...tensors.slice(1).map(({ offset }) => offset), whole.length - dataStart];
  const each = Math.ceil(tensorCount / count);
  const paths = Array.from({ length: count }, (_, part) => {
    const infos: Buffer[] = [];
    const data: Buffer[] = [];
    let offset = 0;
    for (const [index, tensor] of tensors.entries()) {
      if (Math.floor(index / each) !== part) continue;
      const values = whole.subarray(dataStart + tensor.offset, dataStart + (ends[index] as number));
      infos.push(tensor.info, number(offset, 8));
      data.push(values, Buffer.alloc(padded(values.length) - values.length));
      offset += padded(values.length);
    }
    const about = [
      entry('split.no', 2, number(part, 2)),
      entry('split.count', 2, number(count, 2)),
      entry('split.tensors.count', 5, number(tensorCount, 4)),
    ];
    const header = Buffer.concat([
      Buffer.from('GGUF'),
      ...[number(3, 4), number(infos.length / 2, 8), number(about.length + (part === 0 ? entryCount : 0), 8)],
      ...(part === 0 ? [entries] : []),
      ...[...about, ...infos],
    ]);
    const name = `-${String(part + 1).padStart(5, '0')}-of-${String(count).padStart(5, '0')}.gguf`;
    const file = path.replace(/\.gguf$/, name);
    writeFileSync(
      file,
      Buffer.concat([header, Buffer.alloc(padded(header.length) - header.length), ...data]),
    );
    return file;
  });
  rmSync(path);
  return paths;
}

function number(value: number, bytes: 2 | 4 | 8): Buffer {
  const buffer = Buffer.alloc(bytes);
  if (bytes === 8) buffer.writeBigUInt64LE(BigInt(value));
  else buffer.writeUIntLE(value, 0, bytes);
  return buffer;
}

const entry = (key: string, type: number, value: Buffer) =>
  Buffer.concat([number(key.length, 8), Buffer.from(key), number(type, 4), value]);
