/** Where `later-pages.ts` has the page. */
const later =
  /^(access|datasets\/openai|help|models\/(evaluations|graders)|settings|training\/(compare|sweeps))(\/|$)/;

/**
 * Reads the page of an address, unless it is there.
 * @returns whether it can be shown: it is gone where a newer version is served, or the service cannot be reached.
 */
export async function readPage(segments: readonly string[]): Promise<boolean> {
  try {
    if (segments[0] === 'playground') await import('./pages/playground/playground.ts');
    else if (later.test(segments.join('/'))) await import('./later-pages.ts');
    return true;
  } catch {
    return false;
  }
}
