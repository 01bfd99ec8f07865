/** Two texts are nearly the same from this Jaccard similarity of their shingles on, as in the analysis of a dataset. */
const nearSimilarity = 0.8;
/** A shingle is a run of so many characters; of a longer text, the first characters are compared. */
const shingleCharacters = 8;
const comparedCharacters = 4_000;
/** Locality-sensitive hashing, as `native/duplicates.cpp` does it: texts that agree in all places of a band are compared. */
const bands = 12;
const bandPlaces = 5;
const places = bands * bandPlaces;
/** Of two signatures that are less alike, the texts are not compared. */
const likelySimilarity = 0.4;
/** Further texts are not compared, which bounds the memory. */
const mostTexts = 50_000;
const mostCharacters = 2 ** 25;

/** A text that another one is nearly the same as. */
export interface NearText {
  readonly text: string;
  /** From 0 to 1. */
  readonly similarity: number;
}

/** Texts, among which one is found that is nearly the same as another. */
export interface NearTexts {
  /** `null` if there is none. */
  find(text: string): NearText | null;
  /** @returns whether there was room for it. */
  add(text: string): boolean;
}

interface Known {
  readonly text: string;
  readonly plain: string;
  readonly signature: Uint32Array;
  readonly bands: readonly number[];
}

/** A text without case, punctuation and white space of any length. */
const plainOf = (text: string) =>
  text
    .slice(0, comparedCharacters)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();

/** The finalizer of MurmurHash3 (Austin Appleby, public domain). */
function mixed(hash: number): number {
  let mix = hash ^ (hash >>> 16);
  mix = Math.imul(mix, 0x85ebca6b);
  mix ^= mix >>> 13;
  mix = Math.imul(mix, 0xc2b2ae35);
  return (mix ^ (mix >>> 16)) >>> 0;
}

/** The hash of the shingle at a place of a text. */
function shingleAt(plain: string, at: number): number {
  let hash = 0;
  const end = Math.min(plain.length, at + shingleCharacters);
  for (let index = at; index < end; index += 1) hash = Math.imul(hash ^ plain.charCodeAt(index), 0x01000193);
  return mixed(hash);
}

/** Where the last shingle of a text begins. */
const lastShingle = (plain: string) => Math.max(0, plain.length - shingleCharacters);

function shinglesOf(plain: string): Set<number> {
  const found = new Set<number>();
  for (let at = 0; at <= lastShingle(plain); at += 1) found.add(shingleAt(plain, at));
  return found;
}

/** One permutation hashing (Li, Owen and Zhang 2012), with empty places filled by the next one that is not. */
function signatureOf(plain: string): Uint32Array {
  const none = 0xffffffff;
  const signature = new Uint32Array(places).fill(none);
  for (let at = 0; at <= lastShingle(plain); at += 1) {
    const shingle = shingleAt(plain, at);
    const place = shingle % places;
    signature[place] = Math.min(signature[place] as number, mixed(shingle));
  }
  const filled = signature.slice();
  for (let place = 0; place < places; place += 1) {
    for (let away = 1; filled[place] === none && away < places; away += 1) {
      const other = signature[(place + away) % places] as number;
      if (other !== none) filled[place] = mixed(other + away);
    }
  }
  return filled;
}

function bandsOf(signature: Uint32Array): number[] {
  return Array.from({ length: bands }, (_, band) => {
    let hash = band + 1;
    for (let place = band * bandPlaces; place < (band + 1) * bandPlaces; place += 1)
      hash = mixed(Math.imul(hash, 31) ^ (signature[place] as number));
    return hash;
  });
}

/** The share of places in which two signatures agree. */
function likeness(one: Uint32Array, other: Uint32Array): number {
  let same = 0;
  for (let place = 0; place < places; place += 1) same += Number(one[place] === other[place]);
  return same / places;
}

function similarity(one: ReadonlySet<number>, other: ReadonlySet<number>): number {
  let both = 0;
  for (const shingle of one) both += Number(other.has(shingle));
  return both / (one.size + other.size - both);
}

function read(text: string): Known {
  const plain = plainOf(text);
  const signature = signatureOf(plain);
  return { text: text.slice(0, comparedCharacters), plain, signature, bands: bandsOf(signature) };
}

/** Collects texts, in bounded memory. */
export function createNearTexts(): NearTexts {
  const known: Omit<Known, 'bands'>[] = [];
  const firstOf = new Map<number, number>();
  let characters = 0;
  /** A text that was not found is often added next. */
  let last: { readonly of: string; readonly known: Known } | null = null;
  const reading = (text: string) => {
    if (last?.of !== text) last = { of: text, known: read(text) };
    return last.known;
  };
  return {
    find(text) {
      const { plain, signature, bands: agreed } = reading(text);
      if (plain === '') return null;
      const candidates = new Set(agreed.flatMap((band) => firstOf.get(band) ?? []));
      const [likeliest] = [...candidates]
        .map((index) => known[index] as Known)
        .map((one) => ({ one, like: likeness(signature, one.signature) }))
        .sort((a, b) => b.like - a.like);
      if (likeliest === undefined || likeliest.like < likelySimilarity) return null;
      const alike = similarity(shinglesOf(plain), shinglesOf(likeliest.one.plain));
      return alike < nearSimilarity ? null : { text: likeliest.one.text, similarity: alike };
    },
    add(text) {
      if (known.length >= mostTexts || characters >= mostCharacters) return false;
      const { bands: own, ...one } = reading(text);
      if (one.plain === '') return true;
      for (const band of own) if (!firstOf.has(band)) firstOf.set(band, known.length);
      known.push(one);
      characters += one.text.length + one.plain.length;
      return true;
    },
  };
}
