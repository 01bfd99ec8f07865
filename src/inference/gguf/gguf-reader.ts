/** Size in bytes of a scalar, by GGUF metadata value type. */
const scalarBytes = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8] as const;
const stringType = 8;
const arrayType = 9;

/**
 * Reads the header of a GGUF value by value. @throws RangeError when it is damaged or extends past the end of the
 * buffer.
 */
export class GgufReader {
  #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  get position(): number {
    return this.#at;
  }

  #take(bytes: number): number {
    if (!(bytes >= 0) || bytes > this.#buffer.length - this.#at)
      throw new RangeError('the file ends too early');
    const start = this.#at;
    this.#at += bytes;
    return start;
  }

  u32(): number {
    return this.#buffer.readUInt32LE(this.#take(4));
  }

  u64(): number {
    const value = this.#buffer.readBigUInt64LE(this.#take(8));
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError(`a size of ${value} is invalid`);
    return Number(value);
  }

  bytes(length: number): Buffer {
    const start = this.#take(length);
    return this.#buffer.subarray(start, start + length);
  }

  string(): string {
    return this.bytes(this.u64()).toString('utf8');
  }

  skip(bytes: number): void {
    this.#take(bytes);
  }

  scalar(type: number): number {
    switch (type) {
      case 0:
      case 7:
        return this.#buffer.readUInt8(this.#take(1));
      case 1:
        return this.#buffer.readInt8(this.#take(1));
      case 2:
        return this.#buffer.readUInt16LE(this.#take(2));
      case 3:
        return this.#buffer.readInt16LE(this.#take(2));
      case 4:
        return this.u32();
      case 5:
        return this.#buffer.readInt32LE(this.#take(4));
      case 6:
        return this.#buffer.readFloatLE(this.#take(4));
      case 10:
      case 11:
        return Number(this.#buffer.readBigInt64LE(this.#take(8)));
      case 12:
        return this.#buffer.readDoubleLE(this.#take(8));
      default:
        throw new RangeError(`a value has the unknown type ${type}`);
    }
  }
}

export type Value = number | string | number[] | string[] | null;

/** Reads one metadata value. Arrays are kept if `keep` is set, and skipped otherwise. */
export function readValue(reader: GgufReader, type: number, keep: boolean): Value {
  if (type === stringType) return reader.string();
  if (type !== arrayType) return reader.scalar(type);
  const itemType = reader.u32();
  const count = reader.u64();
  if (itemType === stringType) {
    const strings: string[] = [];
    for (let i = 0; i < count; i++) {
      if (keep) strings.push(reader.string());
      else reader.skip(reader.u64());
    }
    return strings;
  }
  const width = scalarBytes[itemType];
  if (!width) throw new RangeError(`an array has the unknown type ${itemType}`);
  if (!keep) {
    reader.skip(count * width);
    return null;
  }
  const numbers: number[] = [];
  for (let i = 0; i < count; i++) numbers.push(reader.scalar(itemType));
  return numbers;
}
