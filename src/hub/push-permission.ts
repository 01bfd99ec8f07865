import { AppError } from '../errors.ts';
import { type HubAccess, waysToSet } from './access.ts';
import { toPushFailure } from './hub-failure.ts';
import { createHubFetch } from './hub-fetch.ts';
import { hubLibrary } from './library.ts';

/** The fields of whoami-v2 with a token's permissions, which the library types only partly. */
interface Whoami {
  readonly name: string;
  readonly orgs?: readonly { readonly name: string; readonly roleInOrg?: string }[];
  readonly auth?: {
    readonly accessToken?: {
      readonly role?: string;
      readonly fineGrained?: {
        readonly scoped?: readonly {
          readonly entity?: { readonly type?: string; readonly name?: string };
          readonly permissions?: readonly string[];
        }[];
      };
    };
  };
}

/**
 * Checks the token's permissions before anything is uploaded.
 * @throws AppError `forbidden` without a token, or with one that may not write to the repository.
 */
export async function checkPushPermission(access: HubAccess, repository: string): Promise<void> {
  requireToken(access);
  const who = await askWho(access, `asked whether the token may write to ${repository}`);
  const refusal = reasonAgainst(who, repository);
  if (refusal !== null) {
    throw new AppError(
      'forbidden',
      `The hub token may not write to ${repository}: ${refusal}. Manage tokens at ${access.endpoint}/settings/tokens.`,
    );
  }
}

/** @throws AppError `forbidden` without a token. */
function requireToken(access: HubAccess): void {
  if (access.token !== null) return;
  throw new AppError(
    'forbidden',
    `Pushing to the hub needs a token, but none is set. Create one with write access at ${access.endpoint}/settings/tokens, and ${waysToSet}.`,
  );
}

/** @param doing what the hub is asked, for messages. */
async function askWho(access: HubAccess, doing: string): Promise<Whoami> {
  try {
    const { whoAmI } = await hubLibrary();
    return (await whoAmI({
      // `fetch` adds the token; the library does not get it.
      accessToken: '',
      hubUrl: access.endpoint,
      fetch: createHubFetch(access, doing),
    })) as Whoami;
  } catch (error) {
    throw toPushFailure(access, 'say what the token may write to', error);
  }
}

/** The account of the token, and the organizations that it belongs to. */
export interface HubAccount {
  readonly name: string;
  readonly organizations: readonly string[];
}

/**
 * Asks whose token it is.
 * @throws AppError `forbidden` without a token, with one that the hub rejects or that may only read; `upstream` if the
 *   hub cannot be reached.
 */
export async function readAccount(access: HubAccess): Promise<HubAccount> {
  requireToken(access);
  const who = await askWho(access, 'asked for the account of the token');
  if (who.auth?.accessToken?.role === 'read') {
    throw new AppError(
      'forbidden',
      `The hub token may not write: it is a read token. Manage tokens at ${access.endpoint}/settings/tokens.`,
    );
  }
  return { name: who.name, organizations: (who.orgs ?? []).map(({ name }) => name) };
}

/**
 * Checks that the hub accepts a token, whatever it permits.
 * @throws AppError `invalid` if it does not; `upstream` if the hub cannot be reached.
 */
export async function checkToken(access: HubAccess): Promise<void> {
  try {
    await askWho(access, 'asked for the account of the token');
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== 'forbidden') throw error;
    const msg = `The hub does not accept this token. Check that all of it was copied, or create a new one at ${access.endpoint}/settings/tokens.`;
    throw new AppError('invalid', msg, { issues: [{ loc: ['body', 'token'], msg, type: 'value_error' }] });
  }
}

/** Why a token cannot write, or `null` when it can, or when the hub does not say. */
function reasonAgainst(who: Whoami, repository: string): string | null {
  const owner = repository.split('/')[0] as string;
  const token = who.auth?.accessToken;
  if (token?.role === undefined) return null;
  if (token.role === 'read') return 'it is a read token. Use a token of the type "write" or "fine-grained"';
  if (token.role === 'fineGrained') {
    if (token.fineGrained?.scoped === undefined) return null;
    const writable = token.fineGrained.scoped.filter(({ permissions }) =>
      permissions?.includes('repo.write'),
    );
    return writable.some(({ entity }) => same(entity?.name, owner) || same(entity?.name, repository))
      ? null
      : 'it is fine-grained and lacks "write access to contents" for that account or repository';
  }
  if (same(who.name, owner)) return null;
  const organization = who.orgs?.find(({ name }) => same(name, owner));
  if (organization === undefined) {
    const own = [who.name, ...(who.orgs ?? []).map(({ name }) => name)].slice(0, 20).join(', ');
    return `"${owner}" is neither its account nor one of its organizations (${own}). Choose a repo_name that starts with one of these`;
  }
  return organization.roleInOrg === 'read'
    ? `its account has only read access to the organization "${owner}"`
    : null;
}

const same = (a: string | undefined, b: string) => a?.toLowerCase() === b.toLowerCase();
