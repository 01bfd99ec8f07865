import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Exchange } from './exchange.ts';
import { Reply } from './reply.ts';

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
};

/** Extensions of addresses of the page: none, and that of a dataset's name. */
const pageExtensions: ReadonlySet<string> = new Set(['', '.jsonl']);

/** The page may load resources from this service only, and may not run inline scripts or styles. */
const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

/** What the name of a compressed copy ends in. */
const brotliExtension = '.br';

interface Asset {
  readonly bytes: Buffer;
  /** Made by set-up, because it takes a second. */
  readonly brotli: Buffer | undefined;
  /** Compressed on first use, because it would add a fifth to the start time. */
  zipped: Buffer | null;
  readonly etag: string;
  readonly contentType: string;
}

/**
 * Whether a browser asks for an address of the page: other clients, which do not ask for HTML, should not take it for an
 * answer.
 */
const isPage = (exchange: Exchange): boolean =>
  exchange.path === '/' ||
  (pageExtensions.has(extname(exchange.path)) && /\btext\/html\b/i.test(exchange.header('accept') ?? ''));

/** The page's files, read once and served from memory. Any other path returns the page itself, to a browser. */
export function createAssets(dir: string): (exchange: Exchange) => Reply | null {
  const assets = new Map<string, Asset>();
  const files = new Map(listFiles(dir).map((path) => [path, readFileSync(path)]));
  for (const [path, bytes] of files) {
    if (extname(path) === brotliExtension) continue;
    assets.set(`/${relative(dir, path).split(sep).join('/')}`, {
      bytes,
      brotli: files.get(path + brotliExtension),
      zipped: null,
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
      contentType: contentTypes[extname(path)] ?? 'application/octet-stream',
    });
  }
  return (exchange) => {
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') return null;
    const asset = assets.get(exchange.path) ?? (isPage(exchange) ? assets.get('/index.html') : undefined);
    if (asset === undefined) return null;
    const headers = {
      'content-type': asset.contentType,
      'cache-control': 'no-cache',
      'content-security-policy': contentSecurityPolicy,
      vary: 'accept-encoding',
      etag: asset.etag,
    };
    if (exchange.header('if-none-match') === asset.etag) return new Reply(304, '', headers);
    if (asset.brotli !== undefined && exchange.accepts('br')) {
      return new Reply(200, asset.brotli, { ...headers, 'content-encoding': 'br' });
    }
    if (!exchange.accepts('gzip')) return new Reply(200, asset.bytes, headers);
    asset.zipped ??= gzipSync(asset.bytes);
    return new Reply(200, asset.zipped, { ...headers, 'content-encoding': 'gzip' });
  };
}

function listFiles(dir: string): string[] {
  try {
    return readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch {
    return [];
  }
}
