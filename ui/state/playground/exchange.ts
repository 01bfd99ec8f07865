import type { Answer } from '../../api/generate.ts';
import type { ServiceError } from '../../api/request.ts';
import type { StoredTurn } from '../../api/types.ts';

/** A call of a tool. */
export type Call = StoredTurn['answers'][number]['calls'][number];

/** What a call gave. */
export type Result = StoredTurn['results'][number];

/** One answer to a prompt. */
export interface Side {
  /** What answers. */
  readonly name: string;
  /** What it does before its first token. */
  readonly first: string;
  text: string;
  /** What the model wrote before its answer; absent without. */
  reasoning?: string | undefined;
  /** Its calls of tools; absent without. */
  calls?: readonly Call[];
  busy: boolean;
  answer: Answer | null;
  error: ServiceError | null;
  stopped: boolean;
  /** Whether the user wrote it. */
  readonly edited?: boolean;
  rating?: 'good' | 'bad' | null;
  /** What the answer should have been. */
  correction?: string | null;
}

/** A prompt, or results of calls, with the answer, or with up to four side by side. */
export interface Exchange {
  readonly id: string;
  /** The ID of the exchange that it follows; empty for a first one. Those that follow the same one are versions. */
  readonly after: string;
  /** The exchange whose followers it shares, where each prompt stands alone. */
  readonly like?: string | null;
  /** The system prompt that was sent with it. */
  readonly system: string;
  readonly prompt: string;
  /** What the calls of the exchange before gave, in place of a prompt. */
  readonly results: readonly Result[];
  readonly sides: readonly Side[];
}
