/** Whose a token is and what it may do, as whoami-v2 tells it. */
export interface Account {
  readonly name: string;
  readonly orgs?: readonly { readonly name: string; readonly roleInOrg: string }[];
  readonly role: 'read' | 'write' | 'fineGrained';
  /** For a fine-grained token: what it may do where. */
  readonly scoped?: readonly {
    readonly entity: { readonly type: 'user' | 'org' | 'model'; readonly name: string };
    readonly permissions: readonly string[];
  }[];
}

export const whoami = (account: Account) => ({
  type: 'user',
  id: '0123456789abcdef01234567',
  name: account.name,
  fullname: account.name,
  email: `${account.name}@example.com`,
  emailVerified: true,
  canPay: false,
  isPro: false,
  periodEnd: null,
  avatarUrl: '',
  orgs: (account.orgs ?? []).map((org) => ({ type: 'org', id: org.name, fullname: org.name, ...org })),
  auth: {
    type: 'access_token',
    accessToken: {
      displayName: 'test',
      role: account.role,
      createdAt: '2026-01-01T00:00:00.000Z',
      ...(account.role === 'fineGrained'
        ? { fineGrained: { canReadGatedRepos: true, global: [], scoped: account.scoped ?? [] } }
        : {}),
    },
  },
});

/** Whether an account may do what `permission` names in a repository. */
export function may(account: Account | null, permission: 'read' | 'write', repository: string): boolean {
  if (account === null) return false;
  const owner = repository.split('/')[0] as string;
  if (account.role === 'fineGrained') {
    const needed = permission === 'read' ? 'repo.content.read' : 'repo.write';
    return (account.scoped ?? []).some(
      ({ entity, permissions }) =>
        permissions.includes(needed) && (entity.name === owner || entity.name === repository),
    );
  }
  const organization = account.orgs?.find(({ name }) => name === owner);
  if (account.name !== owner && organization === undefined) return false;
  return permission === 'read' || (account.role === 'write' && organization?.roleInOrg !== 'read');
}
