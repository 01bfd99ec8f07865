/** The kind of a value, for messages. */
export const kindOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'an array'
      : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`;

/** Why a text with a lone surrogate is refused. */
export const halfCharacter =
  'contains half of a surrogate pair (such as \\ud83d without \\ude00), which is no character; remove it';

export const hasHalfCharacter = (text: string): boolean => /\p{Surrogate}/u.test(text);
