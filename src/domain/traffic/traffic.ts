import type { AnswerScores, AnswerTotals, NamedAnswers } from '../../db/answer-scores.ts';
import type {
  AnswerFilter,
  AnswerPage,
  KeptAnswer,
  KeptOfModel,
  NewAnswer,
  TrafficStore,
} from '../../db/traffic-store.ts';
import { AppError } from '../../errors.ts';

export type { AnswerFilter, AnswerTotals, KeptAnswer, NamedAnswers };

/** The answers that clients asked to keep. */
export interface Traffic {
  /** Keeps an answer. It is written soon after: no answer waits for the disk. */
  record(answer: Omit<NewAnswer, 'words'>): void;
  /** @param owner that it must have; `undefined` for any. @throws AppError `not_found`. */
  get(owner: string | undefined, id: string): KeptAnswer;
  /** @returns `null` if there is no answer `after`. */
  list(filter: AnswerFilter): AnswerPage | null;
  /** The figures of answers, and the scores that graders gave them. */
  readonly scores: AnswerScores & Pick<TrafficStore, 'toGrade'>;
  /** What is kept now, and how long and how much is. */
  kept(): TrafficLimits & { readonly models: readonly KeptOfModel[] };
  /** Changes fields of an answer. @throws AppError `not_found`. */
  update(
    owner: string | undefined,
    id: string,
    changes: { readonly [F in 'metadata' | 'rating' | 'correction']?: KeptAnswer[F] | undefined },
  ): KeptAnswer;
  /** @throws AppError `not_found`. */
  remove(owner: string | undefined, id: string): void;
  /** Deletes what is too old or too much. */
  tidy(): Promise<void>;
  /** Writes what is not written yet. */
  close(): void;
}

/** How long answers are kept, and how much of them. */
export interface TrafficLimits {
  readonly keepMs: number;
  readonly keepBytes: number;
}

/** How long answers wait for others to be written with them. */
const waitMs = 200;
/** More that cannot be written are dropped. */
const mostWaiting = 10_000;

/**
 * @param warn of answers that could not be written yet.
 */
export function createTraffic(
  store: TrafficStore,
  limits: TrafficLimits,
  warn: (message: string) => void,
  now: () => number = Date.now,
): Traffic {
  let waiting: NewAnswer[] = [];
  let timer: NodeJS.Timeout | null = null;

  function write(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (waiting.length === 0) return;
    try {
      store.add(waiting);
      waiting = [];
    } catch (error) {
      warn(
        `Kept answers could not be written (${waiting.length}), and wait for the next one: ${String(error)}`,
      );
      waiting = waiting.slice(-mostWaiting);
    }
  }

  function find(owner: string | undefined, id: string): KeptAnswer | null {
    write();
    const found = store.get(id);
    return found !== null && (owner === undefined || found.owner === owner) ? found : null;
  }

  function get(owner: string | undefined, id: string): KeptAnswer {
    const found = find(owner, id);
    if (found !== null) return found;
    throw new AppError('not_found', `No stored completion found with ID '${id.slice(0, 100)}'.`, {
      details: { code: null },
    });
  }

  return {
    record(answer) {
      waiting.push({ ...answer, words: wordsOf(answer) });
      timer ??= setTimeout(write, waitMs).unref();
    },
    get,
    list(filter) {
      write();
      const { owner, after } = filter;
      return after !== undefined && find(owner, after) === null ? null : store.list(filter);
    },
    scores: {
      ...store.scores,
      totals(those, grader) {
        write();
        return store.scores.totals(those, grader);
      },
      toGrade(those, grader, limit) {
        write();
        return store.toGrade(those, grader, limit);
      },
    },
    kept() {
      write();
      const { keepMs, keepBytes } = limits;
      return { keepMs, keepBytes, models: store.kept() };
    },
    update(owner, id, changes) {
      const found = get(owner, id);
      const { metadata = found.metadata, rating = found.rating, correction = found.correction } = changes;
      store.update(id, { metadata, rating, correction });
      return get(owner, id);
    },
    remove(owner, id) {
      get(owner, id);
      store.remove(id);
    },
    async tidy() {
      write();
      await store.prune(Math.floor((now() - limits.keepMs) / 1000), limits.keepBytes);
    },
    close() {
      write();
      store.close();
    },
  };
}

/** All texts of the messages and the answer. */
function wordsOf({ messages, completion }: Pick<NewAnswer, 'messages' | 'completion'>): string {
  const texts: string[] = [];
  const walk = (value: unknown, key: string): void => {
    if (typeof value === 'string') {
      if (searchedFields.has(key)) texts.push(value);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) walk(one, Array.isArray(value) ? key : name);
    }
  };
  walk(messages, 'content');
  walk((completion as { choices?: unknown }).choices, 'choices');
  return texts.join('\n');
}

/** The fields of messages whose text a search finds. */
const searchedFields: ReadonlySet<string> = new Set([
  'content',
  'text',
  'reasoning_content',
  'name',
  'arguments',
]);
