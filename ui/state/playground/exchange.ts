import type { Answer } from '../../api/generate.ts';
import type { ServiceError } from '../../api/request.ts';

/** One answer to a prompt. */
export interface Side {
  /** What answers. */
  readonly name: string;
  /** What it does before its first token. */
  readonly first: string;
  text: string;
  /** What the model wrote before its answer; absent without, and in chats of earlier versions. */
  reasoning?: string;
  busy: boolean;
  answer: Answer | null;
  error: ServiceError | null;
  stopped: boolean;
}

/** A prompt with its answer, or with two answers side by side. */
export interface Exchange {
  readonly id: number;
  readonly prompt: string;
  readonly sides: readonly Side[];
}
