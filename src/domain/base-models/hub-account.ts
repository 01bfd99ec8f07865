import { AppError } from '../../errors.ts';
import type { HubAccess } from '../../hub/access.ts';
import { type HubAccount as Account, checkToken, readAccount } from '../../hub/push-permission.ts';
import type { HubToken } from '../../hub/token.ts';

/** The token of the hub, and the account that it belongs to. */
export interface HubAccount {
  readonly source: HubToken['source'];
  /**
   * The account that pushes go to.
   * @throws AppError `forbidden` or `upstream`: why nothing can be pushed now.
   */
  read(): Promise<Account>;
  /**
   * Replaces the token of the settings, for all that starts from now on.
   * @throws AppError `conflict` if the environment sets one, `invalid` if the hub does not accept it, `upstream` if the
   *   hub cannot be reached; the token that was there stays.
   */
  setToken(token: string): Promise<void>;
  /** Deletes the token of the settings. @throws AppError `conflict` if the environment sets one. */
  removeToken(): void;
}

export function createHubAccount(hub: HubAccess, token: HubToken): HubAccount {
  function refuseEnvironment(): void {
    if (token.source !== 'environment') return;
    throw new AppError(
      'conflict',
      'The hub token is set by HUB_TOKEN in the environment, which comes first. Remove it there, start Hone again, and set the token here.',
    );
  }
  return {
    get source() {
      return token.source;
    },
    read: () => readAccount(hub),
    async setToken(text) {
      refuseEnvironment();
      await checkToken({ ...hub, token: text });
      token.keep(text);
    },
    removeToken() {
      refuseEnvironment();
      token.keep(null);
    },
  };
}
