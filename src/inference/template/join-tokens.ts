/** A prompt, and what follows it. */
export interface Joined {
  readonly prompt: string;
  readonly rest: string;
}

/**
 * The tokens of both, as in training (trainer/data/encode.py): those of one text, but those of each apart where the
 * tokenizer would join the end of the prompt with what follows.
 */
export function joinTokens<T extends number>(
  { prompt, rest }: Joined,
  tokenize: (text: string) => readonly T[],
): T[] {
  const before = tokenize(prompt);
  if (rest === '') return [...before];
  const whole = tokenize(prompt + rest);
  return before.some((token, index) => token !== whole[index]) ? [...before, ...tokenize(rest)] : [...whole];
}
