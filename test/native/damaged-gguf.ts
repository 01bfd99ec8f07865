/** A damaged copy of a GGUF file. */
export interface Damaged {
  readonly name: string;
  readonly bytes: Buffer;
}

/** A place in a GGUF file, where something of this kind begins. */
interface Place {
  readonly what: string;
  readonly at: number;
}

const scalarBytes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8];

/** Finds the places of a file that `writeTinyGguf` wrote: each field of its header, and its data. */
function walk(bytes: Buffer): Place[] {
  const places: Place[] = [
    { what: 'magic', at: 0 },
    { what: 'version', at: 4 },
    { what: 'tensor count', at: 8 },
    { what: 'entry count', at: 16 },
  ];
  let at = 24;
  const mark = (what: string) => places.push({ what, at });
  const take = (count: number) => {
    at += count;
    return bytes.subarray(at - count, at);
  };
  const u32 = () => take(4).readUInt32LE();
  const u64 = () => Number(take(8).readBigUInt64LE());
  const string = () => take(u64()).toString();
  const entries = Number(bytes.readBigUInt64LE(16));
  for (let entry = 0; entry < entries; entry += 1) {
    mark('key');
    const key = string();
    mark(`${key} type`);
    const type = u32();
    mark(key);
    if (type === 8) string();
    else if (type === 9) {
      const item = u32();
      const count = u64();
      for (let place = 0; place < count; place += 1) {
        if (item === 8) string();
        else at += scalarBytes[item] as number;
      }
    } else at += scalarBytes[type] as number;
  }
  const tensors = Number(bytes.readBigUInt64LE(8));
  for (let tensor = 0; tensor < tensors; tensor += 1) {
    mark('tensor');
    const name = string();
    mark(`${name} dimensions`);
    const dimensions = u32();
    mark(`${name} shape`);
    at += 8 * dimensions;
    mark(`${name} type`);
    at += 4;
    mark(`${name} offset`);
    at += 8;
  }
  mark('padding');
  at = Math.ceil(at / 32) * 32;
  mark('data');
  return places;
}

const u32 = (value: number) => {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return buffer;
};
const u64 = (value: bigint) => {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(value);
  return buffer;
};

/** Counts and lengths that no file has: beyond it, and such that sums and products overflow. */
const hugeSizes = [2n ** 32n, 2n ** 61n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n];

/** Damaged copies of a file of `writeTinyGguf`: more than a hundred, each with one thing that is wrong. */
export function damagedGgufs(good: Buffer): Damaged[] {
  const places = walk(good);
  const place = (what: string) => {
    const found = places.find((candidate) => candidate.what === what);
    if (found === undefined) throw new Error(`The file has no ${what}`);
    return found.at;
  };
  const all: Damaged[] = [];
  const add = (name: string, bytes: Buffer) => all.push({ name, bytes });
  const patch = (name: string, at: number, ...patches: Buffer[]) => {
    const bytes = Buffer.from(good);
    bytes.set(Buffer.concat(patches), at);
    add(name, bytes);
  };

  const header = places.filter(({ at }, index) => at > 0 && (index < 24 || index > places.length - 12));
  for (const { what, at } of header) add(`ends before its ${what} at ${at}`, good.subarray(0, at));
  add('is empty', Buffer.alloc(0));
  add('ends in its data', good.subarray(0, place('data') + 1000));
  add('lacks its last byte', good.subarray(0, good.length - 1));

  for (const magic of ['GGML', 'FUGG', 'gguf', '\0\0\0\0', 'PK\x03\x04']) {
    patch(`has the magic ${JSON.stringify(magic)}`, 0, Buffer.from(magic, 'latin1'));
  }
  for (const version of [0, 1, 4, 99, 2 ** 31, 0x03000000]) patch(`has version ${version}`, 4, u32(version));
  for (const count of ['tensor count', 'entry count']) {
    for (const size of [0n, ...hugeSizes]) patch(`has a ${count} of ${size}`, place(count), u64(size));
    const more = good.readBigUInt64LE(place(count)) + 1n;
    patch(`has a ${count} that is one too large`, place(count), u64(more));
  }
  for (const size of [BigInt(good.length), ...hugeSizes]) {
    patch(`has a key of length ${size}`, place('key'), u64(size));
    patch(`has an architecture of length ${size}`, place('general.architecture'), u64(size));
    patch(`has a tensor name of length ${size}`, place('tensor'), u64(size));
    patch(`has ${size} tokens`, place('tokenizer.ggml.tokens') + 4, u64(size));
    patch(`has ${size} scores`, place('tokenizer.ggml.scores') + 4, u64(size));
  }
  for (const type of [9, 13, 255, 2 ** 31]) {
    patch(`has a value of type ${type}`, place('general.name type'), u32(type));
    patch(`has an array of type ${type}`, place('tokenizer.ggml.scores'), u32(type));
  }
  const [first = 0, second = 0] = places.filter(({ what }) => what === 'key').map(({ at }) => at);
  const entry = good.subarray(first, second);
  const entryCount = good.readBigUInt64LE(16);
  const withEntry = (name: string, added: Buffer) => {
    add(name, Buffer.concat([good.subarray(0, 16), u64(entryCount + 1n), added, good.subarray(24)]));
  };
  withEntry('has a key twice', entry);
  const alignment = Buffer.from('general.alignment');
  for (const bytes of [0, 1, 3, 7, 24, 100, 2 ** 31]) {
    withEntry(
      `has an alignment of ${bytes}`,
      Buffer.concat([u64(BigInt(alignment.length)), alignment, u32(4), u32(bytes)]),
    );
  }

  const tensor = 'token_embd.weight';
  for (const count of [0, 5, 100, 2 ** 32 - 1]) {
    patch(`has a tensor of ${count} dimensions`, place(`${tensor} dimensions`), u32(count));
  }
  for (const size of [0n, 1n << 40n, ...hugeSizes]) {
    patch(`has a tensor with a side of ${size}`, place(`${tensor} shape`), u64(size));
  }
  patch('has a tensor whose size overflows', place(`${tensor} shape`), u64(2n ** 33n), u64(2n ** 33n));
  for (const type of [4, 5, 36, 250, 2 ** 31]) {
    patch(`has a tensor of type ${type}`, place(`${tensor} type`), u32(type));
  }
  for (const offset of [1n, 7n, BigInt(good.length), ...hugeSizes, 2n ** 64n - 32n]) {
    patch(`has a tensor at ${offset}`, place(`${tensor} offset`), u64(offset));
  }
  patch('has two tensors in one place', place('output.weight offset'), u64(0n));
  const rename = (from: string, to: string) =>
    patch(`calls ${from} ${to}`, place(`${from} dimensions`) - from.length, Buffer.from(to));
  rename('blk.0.attn_k.weight', 'blk.0.attn_q.weight');
  rename('output.weight', 'outpux.weight');

  // The rest is found by llama.cpp.
  patch('has an unknown architecture', place('general.architecture') + 8, Buffer.from('zzzzz'));
  patch('has an unknown tokenizer', place('tokenizer.ggml.model') + 8, Buffer.from('zzzzz'));
  for (const [key, values] of Object.entries({
    block_count: [0, 3, 2 ** 31],
    embedding_length: [0, 2 ** 31],
    feed_forward_length: [0],
    'attention.head_count': [0, 3],
    'rope.dimension_count': [2 ** 31],
  })) {
    for (const value of values) patch(`has a ${key} of ${value}`, place(`llama.${key}`), u32(value));
  }
  return all;
}

/** Copies with one bit of the header flipped, chosen by a seed; some of them are still right. */
export function flippedGgufs(good: Buffer, seed: number, count: number): Damaged[] {
  const end = walk(good).at(-1)?.at as number;
  let state = seed;
  const draw = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  return Array.from({ length: count }, () => {
    const bytes = Buffer.from(good);
    const at = draw(end);
    const bit = draw(8);
    bytes[at] = (bytes[at] as number) ^ (1 << bit);
    return { name: `has bit ${bit} of byte ${at} flipped`, bytes };
  });
}
