import table from './architectures.json' with { type: 'json' };

/** What became of a toy of an architecture (`npm run test:long -- architectures`). */
export interface TriedArchitecture {
  /** The class of transformers, as in `config.json`. */
  readonly architecture: string;
  readonly trains: boolean;
  /** Whether rows are padded; `null` if no step was reached. */
  readonly padded: boolean | null;
  /** The kinds of modules that get an adapter by default, separated by spaces. */
  readonly adapts: string;
  /** Whether a GGUF file was made and verified. */
  readonly gguf: boolean;
  /** Whether losses equal those of transformers and PEFT alone. */
  readonly loss_equal: boolean;
  /** Whether llama.cpp and the tokenizer of training give texts the same tokens. */
  readonly tokens_equal: boolean;
  /** Whether the file's log-probabilities equal those of transformers with the adapter. */
  readonly answer_equal: boolean;
  /** Why something was not made. */
  readonly why: string | null;
}

/** Every toy that was tried, by name. Some architectures have several, of different kinds of layers. */
export const triedArchitectures: Readonly<Record<string, TriedArchitecture>> = table;

/** Why none of the toys of an architecture became a GGUF file; `null` if one did, or if none was tried. */
export function whyNoGgufWasMade(architecture: string): string | null {
  const tried = Object.values(triedArchitectures).filter((row) => row.architecture === architecture);
  return tried.some(({ gguf }) => gguf) ? null : (tried[0]?.why ?? null);
}
