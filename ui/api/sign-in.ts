/** How requests wait for the user to sign in; the state of the page says when. */
let wait: (() => Promise<void>) | null = null;

/** Sets what a request that was answered with 401 waits for, before it is sent again. */
export function onSignInNeeded(untilSignedIn: () => Promise<void>): void {
  wait = untilSignedIn;
}

/**
 * Sends a request, and once more after a sign-in where it needs one.
 * @param isRefused whether the answer is 401.
 */
export async function sendSignedIn<T>(
  request: () => Promise<T>,
  isRefused: (answer: T) => boolean,
): Promise<T> {
  const answer = await request();
  if (wait === null || !isRefused(answer)) return answer;
  await wait();
  return request();
}
