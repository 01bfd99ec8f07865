import { isIP } from 'node:net';
import type { Call } from '../engines/engine.ts';
import { isFromProxy } from './head-scan.ts';

/** The client of a request. */
export interface Peer {
  /** Its IP address, canonical; for a client behind a proxy that is not trusted, that of the proxy. */
  readonly address: string;
  /** Whether it is on this machine: a loopback address, and no proxy passed on its request. */
  readonly isLocal: boolean;
  /** Whether a trusted proxy says that the client uses TLS. */
  readonly overTls: boolean;
}

/** An IPv4-mapped IPv6 address, as `URL` spells it. */
const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * The canonical text of an IP address: without a zone, IPv6 as in RFC 5952, and an IPv4-mapped address as IPv4; `null`
 * for anything else.
 */
export function canonicalAddress(text: string): string | null {
  const version = isIP(text);
  if (version === 4) return text;
  if (version === 0) return null;
  const [address = ''] = text.split('%', 1);
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const found = mapped.exec(short);
  if (found === null) return short;
  const [high, low] = [found[1], found[2]].map((hex) => Number.parseInt(hex as string, 16)) as [
    number,
    number,
  ];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

const isLoopback = (address: string) => address.startsWith('127.') || address === '::1';

/** Whether a server that listens on this host is reached from this machine alone. */
export const isLocalHost = (host: string): boolean => host === 'localhost' || isLoopback(host);

/** A client of this machine. */
export const localPeer: Peer = { address: '127.0.0.1', isLocal: true, overTls: false };

/** The address in an entry of `X-Forwarded-For`, `X-Real-IP` or `for=` of `Forwarded` (RFC 7239, section 6). */
function addressIn(entry: string): string | null {
  const plain = entry.trim().replace(/^"(.*)"$/, '$1');
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(plain);
  return canonicalAddress(bracketed?.[1] ?? plain.replace(/^([\d.]+):\d+$/, '$1'));
}

/** What proxies said of a request, by header; the last entry is that of the nearest proxy. */
interface Said {
  readonly chains: Map<string, string[]>;
  overTls: boolean;
}

function note(said: Said, name: string, value: string): void {
  const entries =
    name === 'forwarded'
      ? value.split(',').map((entry) => /(?:^|;)\s*for=("[^"]*"|[^;\s]*)/i.exec(entry)?.[1] ?? '')
      : name === 'x-forwarded-for' || name === 'x-real-ip'
        ? value.split(',')
        : [];
  if (entries.length > 0) said.chains.set(name, [...(said.chains.get(name) ?? []), ...entries]);
  if (name === 'x-forwarded-proto') said.overTls ||= value.trim().toLowerCase() === 'https';
  if (name === 'forwarded') said.overTls ||= /(?:^|[;,])\s*proto="?https"?\s*(?:$|[;,])/i.test(value);
}

/**
 * Finds out who sends a request. A peer on the loopback address is local, unless its request has headers of a proxy. Those
 * are believed of trusted proxies alone: then the client is the last address that is not one of them.
 * @param trustedProxies IP addresses.
 * @returns the peer of a request; `proxied` says whether it has such headers.
 */
export function createPeers(
  trustedProxies: readonly string[],
): (call: Pick<Call, 'remoteAddress' | 'eachHeader'>, proxied: boolean) => Peer {
  const trusted = new Set(trustedProxies.map((address) => canonicalAddress(address)));
  /** The last connection's, because most requests come from the same few addresses. */
  let last: { readonly text: string; readonly direct: Peer } | null = null;

  function directPeer(text: string): Peer {
    if (last === null || last.text !== text) {
      const address = canonicalAddress(text) ?? text;
      last = { text, direct: { address, isLocal: isLoopback(address), overTls: false } };
    }
    return last.direct;
  }

  function behindProxy(direct: Peer, said: Said): Peer {
    if (!trusted.has(direct.address)) return { ...direct, isLocal: false };
    const clients = [...said.chains.values()].map((chain) => {
      const addresses = chain.map(addressIn).reverse();
      const nearest = addresses.findIndex((address) => address === null || !trusted.has(address));
      return addresses.at(nearest) ?? null;
    });
    const [client = null] = clients;
    // A client may send those headers itself that its proxy does not set: they must agree.
    const agreed = client !== null && clients.every((other) => other === client);
    return {
      address: agreed ? client : direct.address,
      // Another machine's loopback address is not ours.
      isLocal: agreed && direct.isLocal && isLoopback(client),
      overTls: said.overTls,
    };
  }

  return (call, proxied) => {
    const direct = directPeer(call.remoteAddress());
    if (!proxied || (!direct.isLocal && !trusted.has(direct.address))) return direct;
    const said: Said = { chains: new Map(), overTls: false };
    call.eachHeader((name, value) => {
      if (isFromProxy(name)) note(said, name, value);
    });
    return behindProxy(direct, said);
  };
}
