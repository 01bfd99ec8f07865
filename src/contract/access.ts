/** Who needs a key: peers from elsewhere, everyone, or nobody. */
export const accessModes = ['auto', 'key', 'open'] as const;
export type AccessMode = (typeof accessModes)[number];

/** What a key opens, with its label on the page. `inference` is the models, answers and embeddings of `/v1`. */
export const keyScopes = {
  full: { label: 'Everything' },
  inference: { label: 'Models, answers and embeddings of /v1' },
} as const satisfies Record<string, { readonly label: string }>;

export type KeyScope = keyof typeof keyScopes;
export const keyScopeNames = Object.keys(keyScopes) as [KeyScope, ...KeyScope[]];

/** A name of a key: without control characters, line separators and halves of surrogate pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it refuses
export const keyNamePattern = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]{1,64}$/u;
export const keyNameRule = 'must have 1 to 64 characters, and no control characters';
