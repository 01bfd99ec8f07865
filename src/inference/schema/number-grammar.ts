import { inOrder, literal, oneOf, repeated } from './notation.ts';

/** What a JSON schema says of a number; exclusive bounds are not reached. */
export interface NumberBounds {
  readonly least: number | null;
  readonly most: number | null;
  readonly isLeastExclusive: boolean;
  readonly isMostExclusive: boolean;
}

/** The largest whole number with 15 digits: each of these is a double. */
const mostWhole = 10 ** 15 - 1;
const mostDecimals = 15;
/** More multiples than this are not listed. */
const mostListed = 1000;

const digits = (from: number, to: number): string => (from === to ? `"${from}"` : `[${from}-${to}]`);
const anyDigits = (least: number, most: number): string => repeated('[0-9]', least, most);

/** Texts of one length between two others, digit by digit. */
function sameLength(least: string, most: string): string {
  if (least === '') return '';
  const rest = least.length - 1;
  const [first, last] = [Number(least[0]), Number(most[0])];
  if (/^0*$/.test(least) && /^9*$/.test(most)) return anyDigits(rest + 1, rest + 1);
  if (first === last) return inOrder(`"${first}"`, sameLength(least.slice(1), most.slice(1)));
  const isLeastRound = /^0*$/.test(least.slice(1));
  const isMostFull = /^9*$/.test(most.slice(1));
  const [from, to] = [isLeastRound ? first : first + 1, isMostFull ? last : last - 1];
  return oneOf([
    ...(isLeastRound ? [] : [inOrder(`"${first}"`, sameLength(least.slice(1), '9'.repeat(rest)))]),
    ...(from > to ? [] : [inOrder(digits(from, to), anyDigits(rest, rest))]),
    ...(isMostFull ? [] : [inOrder(`"${last}"`, sameLength('0'.repeat(rest), most.slice(1)))]),
  ]);
}

/** Whole numbers from `least` to `most`, neither of them negative. */
function wholes(least: number, most: number): string {
  const parts: string[] = [];
  for (let length = String(least).length; length <= String(most).length; length += 1) {
    const from = Math.max(least, length === 1 ? 0 : 10 ** (length - 1));
    parts.push(sameLength(String(from), String(Math.min(most, 10 ** length - 1))));
  }
  return oneOf(parts);
}

/** Whole numbers of either sign. */
function signedWholes(least: number, most: number): string {
  return oneOf([
    ...(least < 0 ? [inOrder('"-"', wholes(Math.max(1, -most), -least))] : []),
    ...(most >= 0 ? [wholes(Math.max(0, least), most)] : []),
  ]);
}

/**
 * The grammar of integers.
 * @param multipleOf what they are multiples of, if the grammar can express it
 * @returns `null` if there are none between the bounds.
 */
export function integerGrammar(bounds: NumberBounds, multipleOf = 1): string | null {
  const inside = (value: number, isExclusive: boolean, step: 1 | -1) =>
    isExclusive && Number.isInteger(value) ? value + step : value;
  let least = Math.ceil(inside(bounds.least ?? -mostWhole, bounds.isLeastExclusive, 1));
  let most = Math.floor(inside(bounds.most ?? mostWhole, bounds.isMostExclusive, -1));
  // What is as far as a double goes is no bound that anybody meant.
  if (least < -mostWhole) least = most < -mostWhole ? -Number.MAX_SAFE_INTEGER : -mostWhole;
  if (most > mostWhole) most = least > mostWhole ? Number.MAX_SAFE_INTEGER : mostWhole;
  if (least > most) return null;
  if (!Number.isInteger(multipleOf) || multipleOf === 1) return signedWholes(least, most);
  const [first, last] = [Math.ceil(least / multipleOf), Math.floor(most / multipleOf)];
  if (first > last) return null;
  if (last - first < mostListed) {
    const all = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * multipleOf + 0);
    return oneOf(all.map((value) => literal(String(value))));
  }
  const zeros = /^10+$/.exec(String(multipleOf))?.[0].length;
  if (zeros !== undefined) {
    const end = literal('0'.repeat(zeros - 1));
    return oneOf([
      ...(first < 0 ? [inOrder('"-"', wholes(Math.max(1, -last), -first), end)] : []),
      ...(first <= 0 && last >= 0 ? ['"0"'] : []),
      ...(last > 0 ? [inOrder(wholes(Math.max(1, first), last), end)] : []),
    ]);
  }
  if (10 % multipleOf !== 0) return signedWholes(least, most);
  return oneOf([
    ...(first < 0
      ? [inOrder('"-"', byLastDigit(Math.max(multipleOf, -last * multipleOf), -least, multipleOf))]
      : []),
    ...(last >= 0 ? [byLastDigit(Math.max(0, least), most, multipleOf)] : []),
  ]);
}

/** Multiples of 2 or 5 between whole numbers that are far from each other: their last digit tells. */
function byLastDigit(least: number, most: number, multipleOf: number): string {
  const ends = Array.from({ length: 10 / multipleOf }, (_, index) => index * multipleOf);
  const [from, to] = [Math.max(1, Math.ceil(least / 10)), Math.floor((most - 9) / 10)];
  const few = ends.filter((end) => least <= end).map((end) => literal(String(end)));
  return oneOf([...few, inOrder(wholes(from, to), `[${ends.join('')}]`)]);
}

/** A number's digits before and after its point, without zeros at its end. */
function partsOf(value: number): [whole: number, decimals: string] {
  const [whole = '0', decimals = ''] = value.toFixed(mostDecimals).split('.');
  return [Number(whole), decimals.replace(/0+$/, '')];
}

/** What may follow a whole number so that its decimals are at least these. */
function decimalsFrom(least: string, isExclusive: boolean, most: number): string {
  if (least === '' && !isExclusive) return optionalDecimals(most);
  const parts: string[] = [];
  for (const [at, digit] of [...least].entries()) {
    if (digit === '9') continue;
    parts.push(
      inOrder(literal(least.slice(0, at)), digits(Number(digit) + 1, 9), anyDigits(0, most - at - 1)),
    );
  }
  const left = most - least.length;
  if (!isExclusive) parts.push(inOrder(literal(least), anyDigits(0, left)));
  else
    for (let zeros = 0; zeros < left; zeros += 1)
      parts.push(inOrder(literal(least + '0'.repeat(zeros)), '[1-9]', anyDigits(0, left - 1 - zeros)));
  return inOrder('"."', oneOf(parts));
}

/** What may follow a whole number so that its decimals are at most these; `null` if nothing may. */
function decimalsTo(most: string, isExclusive: boolean, count: number): string | null {
  if (most === '') return isExclusive ? null : `("." "0"{1,${count}})?`;
  const parts: string[] = [];
  for (const [at, digit] of [...most].entries()) {
    if (at > 0) parts.push(literal(most.slice(0, at)));
    if (digit === '0') continue;
    parts.push(
      inOrder(literal(most.slice(0, at)), digits(0, Number(digit) - 1), anyDigits(0, count - at - 1)),
    );
  }
  if (!isExclusive) parts.push(inOrder(literal(most), repeated('"0"', 0, count - most.length)));
  return `("." ${oneOf(parts)})?`;
}

const optionalDecimals = (count: number): string => `("." [0-9]{1,${count}})?`;

interface Edge {
  readonly value: number;
  readonly isExclusive: boolean;
}

/** Numbers between two others, neither of them negative; an alternative each. */
function between(least: Edge, most: Edge, count: number): string[] {
  const [first, from] = partsOf(least.value);
  const [last, to] = partsOf(most.value);
  if (from.length > count || to.length > count) return [];
  if (first === last) {
    // One digit more than the bounds have, so that there is something between them.
    const longest = Math.min(count, Math.max(from.length, to.length) + 1);
    const parts = from === '' && !least.isExclusive ? [`"${first}"`] : [];
    for (let length = 1; length <= longest; length += 1) {
      const scaled = (decimals: string) => Number(decimals.padEnd(length, '0').slice(0, length));
      const isLeastThere = from.length <= length && !least.isExclusive;
      const isMostThere = to.length > length || !most.isExclusive;
      const [a, b] = [scaled(from) + Number(!isLeastThere), scaled(to) - Number(!isMostThere)];
      const padded = (value: number) => String(value).padStart(length, '0');
      if (a <= b) parts.push(inOrder(`"${first}."`, sameLength(padded(a), padded(b))));
    }
    return parts;
  }
  const isFirstFull = from === '' && !least.isExclusive;
  const end = decimalsTo(to, most.isExclusive, count);
  const start = isFirstFull ? first : first + 1;
  return [
    ...(isFirstFull ? [] : [inOrder(`"${first}"`, decimalsFrom(from, least.isExclusive, count))]),
    ...(start > last - 1 ? [] : [inOrder(wholes(start, last - 1), optionalDecimals(count))]),
    ...(end === null ? [] : [inOrder(`"${last}"`, end)]),
  ];
}

/**
 * The grammar of numbers.
 * @param multipleOf what they are multiples of: whole numbers and decimal places are held
 * @returns `null` if there are none between the bounds.
 */
export function numberGrammar(bounds: NumberBounds, multipleOf: number | null): string | null {
  if (multipleOf !== null && Number.isInteger(multipleOf)) return integerGrammar(bounds, multipleOf);
  const parts = multipleOf === null ? 0 : 1 / multipleOf;
  const places = multipleOf === null ? null : /^1e-(\d+)$/.exec(multipleOf.toExponential())?.[1];
  const count = places == null ? mostDecimals : Math.min(mostDecimals, Number(places));
  const { least, most } = bounds;
  if (places == null && Number.isInteger(parts) && parts > 1 && parts <= mostListed) {
    // Halves, quarters and the like, between whole numbers.
    const ends = Array.from({ length: parts - 1 }, (_, index) =>
      literal(String((index + 1) / parts).slice(1)),
    );
    const whole = { isLeastExclusive: false, isMostExclusive: false };
    const from = Math.ceil(least ?? -mostWhole) + Number(bounds.isLeastExclusive);
    const to = Math.floor(most ?? mostWhole) - 1;
    const above = to < 0 ? null : integerGrammar({ ...whole, least: Math.max(0, from), most: to });
    const below = from >= -1 ? null : integerGrammar({ ...whole, least: from + 1, most: Math.min(-1, to) });
    const all = [above, below].filter((grammar) => grammar !== null);
    return all.length === 0 ? null : inOrder(oneOf(all), `${oneOf(ends)}?`);
  }
  if (least === null && most === null) {
    const exponent = multipleOf === null ? '([eE] [-+]? [0-9]{1,2})?' : '';
    return inOrder('"-"?', '("0" | [1-9] [0-9]{0,14})', optionalDecimals(count), exponent);
  }
  const low: Edge = {
    value: Math.max(least ?? -mostWhole, -mostWhole),
    isExclusive: bounds.isLeastExclusive,
  };
  const high: Edge = { value: Math.min(most ?? mostWhole, mostWhole), isExclusive: bounds.isMostExclusive };
  if (low.value > high.value) return null;
  const zero: Edge = { value: 0, isExclusive: true };
  const negative =
    low.value < 0
      ? between(high.value < 0 ? { ...high, value: -high.value } : zero, { ...low, value: -low.value }, count)
      : [];
  const positive =
    high.value > 0 || (high.value === 0 && !high.isExclusive)
      ? between(low.value < 0 ? { value: 0, isExclusive: false } : low, high, count)
      : [];
  const all = [...negative.map((part) => inOrder('"-"', part)), ...positive];
  return all.length === 0 ? null : oneOf(all);
}
