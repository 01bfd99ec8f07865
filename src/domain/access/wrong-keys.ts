import { isIPv6 } from 'node:net';
import { AppError } from '../../errors.ts';

/** So many wrong keys may come from an address in that time. */
const mostWrong = 10;
const windowMs = 60_000;
/** As many addresses as are remembered; beyond that the oldest are forgotten. */
const maxAddresses = 10_000;

/** Counts the wrong keys of each address, to stop guessing. */
export interface WrongKeys {
  /** @throws AppError `too_many` with `retryAfterSeconds` after too many wrong keys from this address. */
  check(address: string): void;
  note(address: string): void;
}

/** An IPv6 client usually has a whole /64 network (RFC 6177), so its addresses count as one. */
function countedAs(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = address.split('::');
  const [left, right] = [head, tail].map((part) => part.split(':').filter(Boolean)) as [string[], string[]];
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0');
  return [...left, ...zeros, ...right].slice(0, 4).join(':');
}

/** @param now in milliseconds. */
export function createWrongKeys(now: () => number = () => performance.now()): WrongKeys {
  const counts = new Map<string, { wrong: number; readonly since: number }>();
  const countOf = (address: string) => {
    const counted = countedAs(address);
    const found = counts.get(counted);
    if (found === undefined || now() - found.since < windowMs) return found;
    counts.delete(counted);
    return undefined;
  };
  return {
    check(address) {
      const found = countOf(address);
      if (found === undefined || found.wrong < mostWrong) return;
      const retryAfterSeconds = Math.ceil((found.since + windowMs - now()) / 1000);
      throw new AppError(
        'too_many',
        `Too many wrong access keys came from ${address}. Try again in ${retryAfterSeconds} seconds.`,
        { details: { retryAfterSeconds } },
      );
    },
    note(address) {
      const found = countOf(address);
      if (found !== undefined) found.wrong += 1;
      else {
        if (counts.size >= maxAddresses) counts.delete(counts.keys().next().value as string);
        counts.set(countedAs(address), { wrong: 1, since: now() });
      }
    },
  };
}
