import { service } from '../api/service.ts';
import { onSignInNeeded } from '../api/sign-in.ts';
import type { AccessKey, Session } from '../api/types.ts';
import { asServiceError, Remote } from './remote.ts';
import { Store } from './store.ts';

let addressSignIn = Promise.resolve();

/** Signs in with the key of an address like `/#key=hone_…`, and removes it from the address bar and the history. */
async function signInByAddress(): Promise<void> {
  const key = /^#key=(.+)$/.exec(location.hash)?.[1];
  if (key === undefined) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    await service.signIn(decodeURIComponent(key));
  } catch (error) {
    signInFault.set(asServiceError(error).message);
  }
}

/** Who may use the service, and whether this browser is signed in; never read while the key of the address is sent. */
export const session = new Remote<Session>(async () => {
  addressSignIn = addressSignIn.then(signInByAddress);
  await addressSignIn;
  return service.session();
});
export const accessKeys = new Remote<AccessKey[]>(service.keys);
/** Why the key of the address was not accepted. */
export const signInFault = new Store<string | null>(null);

/** Whether the service wants a key of this machine. */
export const isKeyNeeded = (): boolean => session.value.value?.key_needed === true;

/** Whether the service wants a key that this browser has not presented. */
export const isSignInNeeded = (): boolean => isKeyNeeded() && session.value.value?.signed_in !== true;

/** @throws ServiceError when the key is not accepted. */
export async function signIn(key: string): Promise<void> {
  session.put(await service.signIn(key));
}

/** Ends the session, and forgets all that this page has read. */
export async function signOut(): Promise<void> {
  await service.signOut();
  location.reload();
}

let asking: Promise<void> | null = null;

/** Asks the service whether a key is needed, and if so waits for the sign-in. */
export async function untilSignedIn(): Promise<void> {
  asking ??= session.refresh().finally(() => {
    asking = null;
  });
  await asking;
  if (!isSignInNeeded()) return;
  await new Promise<void>((resolve) => {
    const end = session.subscribe(() => {
      if (isSignInNeeded()) return;
      end();
      resolve();
    });
  });
}

/** Reads the session, or opens one with the key of the address. */
export function openSession(): void {
  const read = async () => {
    await session.refresh();
    if (!isSignInNeeded()) signInFault.set(null);
  };
  asking = read().finally(() => {
    asking = null;
  });
  onSignInNeeded(untilSignedIn);
  addEventListener('hashchange', () => void read());
}
