/** Where `later-pages.ts` has the page. */
const later =
  /^(access|datasets\/(documents|openai)|help|models\/(aliases|evals|evaluations|graders)|settings|training\/(compare|sweeps))(\/|$)/;

const playground = () => import('./pages/playground/playground.ts');
const traffic = () => import('./pages/playground/traffic/traffic.ts');
const others = () => import('./later-pages.ts');

/** Reads all pages, so that they can also be opened while the service cannot be reached. */
export async function readAllPages(): Promise<void> {
  await Promise.allSettled([playground(), traffic(), others()]);
}

/**
 * Reads the page of an address, unless it is there.
 * @returns whether it can be shown: it is gone where a newer version is served, or the service cannot be reached.
 */
export async function readPage(segments: readonly string[]): Promise<boolean> {
  try {
    if (segments[0] === 'playground') await playground();
    else if (segments[0] === 'traffic') await traffic();
    else if (later.test(segments.join('/'))) await others();
    return true;
  } catch {
    return false;
  }
}
