import { Store } from './store.ts';

/** The current route: path segments and query. */
export interface Place {
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

/** The address of a dataset's page. */
export const datasetPath = (name: string) => `/datasets/${encodeURIComponent(name)}`;

/** The address of an import's page. */
export const importPath = (id: string) => `/datasets/import/${encodeURIComponent(id)}`;

/** The address of a sweep's page. */
export const sweepPath = (id: string) => `/training/sweeps/${encodeURIComponent(id)}`;

/** The address of the results of one evaluation, or of several side by side. */
export const evaluationsPath = (ids: readonly string[]) =>
  `/training/evaluations/results?${ids.map((id) => `eval=${encodeURIComponent(id)}`).join('&')}`;

/** Client-side routing. */
export class Router extends Store<Place> {
  constructor() {
    super(placeOf(location));
    addEventListener('popstate', () => this.set(placeOf(location)));
    document.addEventListener('click', (event) => this.#follow(event));
  }

  /** Navigates to a path. */
  go(path: string, options: { replace?: boolean } = {}): void {
    if (path === location.pathname + location.search) return;
    if (options.replace) history.replaceState(null, '', path);
    else history.pushState(null, '', path);
    this.set(placeOf(location));
    if (!options.replace) scrollTo(0, 0);
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

function placeOf({ pathname, search }: Location): Place {
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
