import { Store } from './store.ts';

/** The current route: path segments and query. */
export interface Place {
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

/** The address of a dataset's page. */
export const datasetPath = (name: string) => `/datasets/${encodeURIComponent(name)}`;
/** That of a version of its rows, by their digest. */
export const versionPath = (name: string, sha256: string) => `${datasetPath(name)}?version=${sha256}`;

/**
 * The address of the playground with a model chosen: by its ID, or by the name of a base model.
 * @param compares whether it is compared with others there.
 */
export const playgroundPath = (model: string, compares = false) =>
  `/playground/${encodeURIComponent(model)}${compares ? '/compare' : ''}`;

/** The address of the kept answers. @param query what of them is shown. */
export function trafficPath(query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString();
  return text === '' ? '/traffic' : `/traffic?${text}`;
}

/** The address of an import's page. */
export const importPath = (id: string) => `/datasets/import/${encodeURIComponent(id)}`;

/** The address of the training form with an import open in it, whose dataset is then chosen. */
export const trainingImportPath = (id: string) => `/training?import=${encodeURIComponent(id)}`;

/** The address of a sweep's page. */
export const sweepPath = (id: string) => `/training/sweeps/${encodeURIComponent(id)}`;

/** The address of the results of one evaluation, or of several side by side. */
export const evaluationsPath = (ids: readonly string[]) =>
  `/models/evaluations/results?${ids.map((id) => `eval=${encodeURIComponent(id)}`).join('&')}`;

/** The address of an eval of OpenAI's API, or of a run of it. */
export const evalPath = (id: string, run?: string) =>
  `/models/evals/${encodeURIComponent(id)}${run === undefined ? '' : `?run=${encodeURIComponent(run)}`}`;

/** Where a page is that has had another address. */
const moved = (pathname: string) =>
  pathname.replace(/^\/training\/evaluations(?=\/|$)/, '/models/evaluations');

/** How long after the last press of a key the address tells what was typed. */
const typedMs = 300;

/** Client-side routing. */
export class Router extends Store<Place> {
  /** What was typed but is not in the address yet. */
  #typed: { readonly path: string; readonly timer: ReturnType<typeof setTimeout> } | null = null;

  constructor() {
    super(currentPlace());
    addEventListener('popstate', () => {
      this.#forget();
      this.set(currentPlace());
    });
    addEventListener('pagehide', () => this.#settle());
    document.addEventListener('click', (event) => this.#follow(event));
  }

  /**
   * Navigates to a path.
   * @param options.replace does not add to the history; `typed` neither, and changes the address only after a pause,
   *   because the browser then also reads the icon of the page again, which would delay what is found.
   */
  go(path: string, options: { replace?: boolean; typed?: boolean } = {}): void {
    const { pathname: asked, search } = new URL(path, location.href);
    const pathname = moved(asked);
    const next = pathname + search;
    if (next === (this.#typed?.path ?? location.pathname + location.search)) return;
    if (options.typed) {
      this.#forget();
      this.#typed = { path: next, timer: setTimeout(() => this.#settle(), typedMs) };
    } else {
      this.#settle();
      if (options.replace) history.replaceState(null, '', next);
      else history.pushState(null, '', next);
    }
    this.set(placeOf({ pathname, search }));
    if (!options.replace && !options.typed) scrollTo(0, 0);
  }

  #forget(): void {
    clearTimeout(this.#typed?.timer);
    this.#typed = null;
  }

  /** Puts into the address what was typed. */
  #settle(): void {
    const typed = this.#typed;
    this.#forget();
    if (typed !== null) history.replaceState(null, '', typed.path);
  }

  /** Handles plain clicks on internal links without reloading. */
  #follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
    if (link === undefined || link.target !== '' || link.hasAttribute('download')) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || url.pathname.startsWith('/api/') || url.hash !== '') return;
    event.preventDefault();
    this.go(url.pathname + url.search);
  }
}

/** The place of the browser's address, which is corrected where its page has moved. */
function currentPlace(): Place {
  const { pathname, search, hash } = location;
  if (moved(pathname) !== pathname) history.replaceState(history.state, '', moved(pathname) + search + hash);
  return placeOf(location);
}

function placeOf({ pathname, search }: Pick<Location, 'pathname' | 'search'>): Place {
  return {
    segments: pathname
      .split('/')
      .filter(Boolean)
      .map((segment) => {
        try {
          return decodeURIComponent(segment);
        } catch {
          return segment;
        }
      }),
    query: new URLSearchParams(search),
  };
}
