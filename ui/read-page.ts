/** Where `later-pages.ts` has the page. */
const later =
  /^(access|datasets\/openai|help|models\/(evaluations|graders)|settings|training\/(compare|sweeps))(\/|$)/;

/** Resolves once the page of an address can be shown, or cannot be read: then it is tried again the next time. */
export async function readPage(segments: readonly string[]): Promise<void> {
  try {
    if (segments[0] === 'playground') await import('./pages/playground/playground.ts');
    else if (later.test(segments.join('/'))) await import('./later-pages.ts');
  } catch {
    // The banner tells that the service cannot be reached.
  }
}
