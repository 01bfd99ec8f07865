/** Who needs a key: peers from elsewhere, everyone, or nobody. */
export const accessModes = ['auto', 'key', 'open'] as const;
export type AccessMode = (typeof accessModes)[number];

/** What a key opens, with its label on the page. `inference` is the models and completions of `/v1`. */
export const keyScopes = {
  full: { label: 'Everything' },
  inference: { label: 'Models and completions of /v1' },
} as const satisfies Record<string, { readonly label: string }>;

export type KeyScope = keyof typeof keyScopes;
export const keyScopeNames = Object.keys(keyScopes) as [KeyScope, ...KeyScope[]];

/** The longest name of a key, in characters. */
export const keyNameLength = 64;
/** A name of a key has no control characters, line separators or halves of surrogate pairs. */
export const keyNamePattern = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u;
