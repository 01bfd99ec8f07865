import { AppError } from '../errors.ts';
import type { Area } from './access/gate.ts';
import type { Face, Route } from './route.ts';

/** A route found for a path, with the face that it belongs to. */
export interface Match {
  readonly face: Face;
  readonly route: Route;
  /** The parameters of the path. @throws AppError `invalid` where it is not properly percent-encoded. */
  readonly params: () => Readonly<Record<string, string>>;
}

interface Pattern {
  readonly expression: RegExp;
  readonly names: readonly string[];
  readonly specificity: number;
  readonly methods: Map<string, Match>;
}

/**
 * Finds the route of a request. Paths without parameters are looked up; the others are tried in
 * order, those with digits first.
 */
export function createRouter(faces: readonly Face[], fallback: Face) {
  const fixed = new Map<string, Map<string, Match>>();
  const patterns = new Map<string, Pattern>();
  for (const face of faces) {
    for (const entry of face.routes) {
      const methods = entry.path.includes('{')
        ? (patterns.get(entry.path) ?? compile(entry.path, patterns)).methods
        : (fixed.get(entry.path) ?? (fixed.set(entry.path, new Map()).get(entry.path) as Pattern['methods']));
      if (methods.has(entry.method)) throw new Error(`Two routes are ${entry.method} ${entry.path}`);
      methods.set(entry.method, { face, route: entry, params: noParams });
    }
  }
  const ordered = [...patterns.values()].sort((a, b) => b.specificity - a.specificity);

  return {
    /**
     * @returns the route, or the allowed methods if the method is not supported, or `null` for an unknown path; with the set
     *   whose error format applies.
     */
    find(method: string, rawPath: string): Match | { face: Face; allowed: string[] } | null {
      const wanted = method === 'HEAD' ? 'GET' : method;
      const path = rawPath.includes('%') ? decodeUnreserved(rawPath) : rawPath;
      const methods = fixed.get(path);
      if (methods !== undefined) {
        const found = methods.get(wanted);
        if (found !== undefined) return found;
      }
      const allowed = new Set(methods?.keys());
      let face = methods?.values().next().value?.face;
      for (const pattern of ordered) {
        const matched = pattern.expression.exec(path);
        if (matched === null) continue;
        const found = pattern.methods.get(wanted);
        if (found !== undefined) return { ...found, params: () => decode(pattern.names, matched) };
        for (const name of pattern.methods.keys()) allowed.add(name);
        face ??= pattern.methods.values().next().value?.face;
      }
      return allowed.size === 0 ? null : { face: face ?? fallback, allowed: [...allowed] };
    },
  };
}

const noParams = () => ({});

/** `%31` and `1` are the same path (RFC 3986, 6.2.2.2): letters, digits and `-._~` need no encoding. */
const decodeUnreserved = (path: string) =>
  path.replace(/%(3[0-9]|[46][1-9a-f]|[57][0-9a]|2[de]|5f|7e)/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );

/** What a kind of parameter matches, and how specific it is. */
const patternsOf: Readonly<Record<string, readonly [string, number]>> = {
  ':digits': ['(\\d+)', 2],
  '': ['([^/]+)', 1],
  ':path': ['(.+)', 0],
};

function compile(path: string, patterns: Map<string, Pattern>): Pattern {
  const names: string[] = [];
  let specificity = 0;
  const source = path
    .split('/')
    .map((segment) => {
      const parameter = /^\{(\w+)(:digits|:path)?\}$/.exec(segment);
      if (parameter === null) {
        specificity += 4;
        return segment.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      }
      names.push(parameter[1] as string);
      const [text, worth] = patternsOf[parameter[2] ?? ''] as readonly [string, number];
      specificity += worth;
      return text;
    })
    .join('/');
  const pattern: Pattern = { expression: new RegExp(`^${source}$`), names, specificity, methods: new Map() };
  patterns.set(path, pattern);
  return pattern;
}

function decode(names: readonly string[], matched: RegExpExecArray): Record<string, string> {
  try {
    return Object.fromEntries(
      names.map((name, index) => [name, decodeURIComponent(matched[index + 1] as string)]),
    );
  } catch (error) {
    throw new AppError('invalid', 'The path is not properly percent-encoded.', { cause: error });
  }
}

/** Paths that are none of a route, and yet not the page's. */
const gatedPaths = /^\/(api|v1|ws|metrics)(\/|$)/;

/** What a request asks for, or `null` where no key is needed. */
export function areaOf(found: Match | { allowed: string[] } | null, path: string): Area | null {
  if (found !== null && 'route' in found) {
    const { access = 'full' } = found.route;
    return access === 'free' ? null : access;
  }
  return found !== null || gatedPaths.test(path) ? 'full' : null;
}
