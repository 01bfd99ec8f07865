/*
 * What a scenario is. To add one, write `bench/NAME.ts` that exports `scenario`; `npm run bench -- NAME` then
 * runs it, and `test/bench/scenarios.test.ts` runs its smallest form for its correctness. Whatever a side needs
 * that is not TypeScript of the harness lies in `bench/programs/`.
 *
 *   export const scenario: Scenario = {
 *     name: 'training',
 *     about: 'Real tokens per second of processor time, at equal loss',
 *     prepare: async ({ dir, size }) => …write model and rows into dir…,
 *     sides: [
 *       { name: 'hone', about: 'python -m trainer', trial: async ({ dir, size }) => {
 *           const run = await runMeasured(python, ['-m', 'trainer', 'run', …], { cwd: root, env });
 *           const said = JSON.parse(run.stdout);
 *           return { figures: { rate: said.tokens / run.cpuSeconds }, answer: said.losses };
 *       } },
 *       { name: 'TRL', about: async () => `TRL ${await pythonVersion('trl')}`, missing: …, trial: … },
 *     ],
 *     comparisons: [
 *       { metric: 'tokens per CPU second', figure: 'rate', unit: 'tokens', better: 'more', peer: 'TRL', goal: { times: 2.5 } },
 *     ],
 *     check: (answers) => …throw where they differ by more than they may…,
 *   };
 *
 * The first side is ours. The harness calls the sides' `trial` in turn, A B A B, first `warmUps` times unmeasured
 * and then `runs` times; a trial starts its own fresh process (`runMeasured` in measured.ts for a program that
 * ends, `startServer` in server.ts for one that serves) and gives the figures of this one run.
 */

/** `full`: what the table tells. `quick`: every scenario together in some minutes. `test`: seconds, once. */
export type Size = 'full' | 'quick' | 'test';

export interface TrialInput {
  readonly size: Size;
  /** The scenario's scratch folder: filled by `prepare`, shared by all trials, removed at the end. */
  readonly dir: string;
  /** 0, 1, 2 … over all trials of this side, warm-ups included: for names of files that must be new. */
  readonly number: number;
}

/** What one run of one side gave. */
export interface Trial {
  /** Measured values by name. */
  readonly figures: Readonly<Record<string, number>>;
  /** What the side computed; all sides must give the same, or `check` says what is the same. */
  readonly answer: unknown;
}

export interface Side {
  readonly name: string;
  /** What it is, with its version. */
  readonly about: string | (() => string | Promise<string>);
  /** Why it cannot run here and how to install it, or `null` when it can. */
  readonly missing?: () => string | null | Promise<string | null>;
  /** One run in fresh processes. @throws when anything went wrong: a figure is never made up. */
  readonly trial: (input: TrialInput) => Promise<Trial>;
}

/**
 * `share`: ours is at most this part of theirs. `times`: ours is better at least so many times. The others are
 * of our own figure alone, in its unit.
 */
export type Goal =
  | { readonly share: number }
  | { readonly times: number }
  | { readonly below: number }
  | { readonly atMost: number }
  | { readonly atLeast: number };

/** One row of the table: a figure of ours beside a peer's. */
export interface Comparison {
  readonly metric: string;
  /** Name in `figures`. */
  readonly figure: string;
  readonly unit: string;
  readonly better: 'less' | 'more';
  /** Name of the other side; `null` where the goal is of our own figure alone. */
  readonly peer: string | null;
  readonly goal: Goal | null;
  /** Whether the worst of our runs is told and judged, not the median: for what must never happen. Without a peer. */
  readonly worst?: true;
}

export interface Scenario {
  /** The name of its file. */
  readonly name: string;
  readonly about: string;
  /** Ours first. */
  readonly sides: readonly [Side, ...Side[]];
  readonly comparisons: readonly Comparison[];
  /** Measured runs of each side (default 5, quick 3), after as many unmeasured ones (default 1). */
  readonly runs?: { readonly full: number; readonly quick: number };
  readonly warmUps?: { readonly full: number; readonly quick: number };
  /** Makes what the sides share. Not measured. */
  readonly prepare?: (input: { readonly size: Size; readonly dir: string }) => Promise<void>;
  /**
   * Whether all sides did the same work; without it the answers must be deeply equal. Called with the answers of
   * each round by the names of the sides that ran. @throws with what differs.
   */
  readonly check?: (answers: Readonly<Record<string, unknown>>) => void;
}
