/*
 * The definition of a scenario. To add one, write `bench/NAME.ts` that exports `scenario`. `npm run bench -- NAME` then
 * runs it, and `test/bench/scenarios.test.ts` checks that its smallest size works. Programs that a side needs, other
 * than the TypeScript of the harness, are in `bench/programs/`.
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
 *     check: (answers) => …throw if they differ too much…,
 *   };
 *
 * The first side is ours. The harness calls the sides' `trial` in turn, A B A B, first `warmUps` times unmeasured and
 * then `runs` times. A trial starts a fresh process (`runMeasured` in measured.ts for a program that exits,
 * `startServer` in server.ts for a server) and returns the figures of this run.
 */

/** `full`: for the published table. `quick`: all scenarios in a few minutes. `test`: seconds, one run. */
export type Size = 'full' | 'quick' | 'test';

export interface TrialInput {
  readonly size: Size;
  /** The scenario's scratch folder: filled by `prepare`, shared by all trials, removed at the end. */
  readonly dir: string;
  /** 0, 1, 2 … over all trials of this side, including warm-ups: for unique file names. */
  readonly number: number;
}

/** The result of one run of one side. */
export interface Trial {
  /** Measured values by name. */
  readonly figures: Readonly<Record<string, number>>;
  /** What the side computed; equal for all sides, unless `check` defines another comparison. */
  readonly answer: unknown;
}

export interface Side {
  readonly name: string;
  /** A description with its version. */
  readonly about: string | (() => string | Promise<string>);
  /** Why it cannot run here and how to install it, or `null` if it can. */
  readonly missing?: () => string | null | Promise<string | null>;
  /** One run in fresh processes. @throws on any error; results are never made up. */
  readonly trial: (input: TrialInput) => Promise<Trial>;
}

/**
 * `share`: ours is at most this fraction of theirs. `times`: ours is at least this many times better. The others are
 * limits for our own figure, in its unit.
 */
export type Goal =
  | { readonly share: number }
  | { readonly times: number }
  | { readonly below: number }
  | { readonly atMost: number }
  | { readonly atLeast: number };

/** One row of the table: our figure compared with a peer's. */
export interface Comparison {
  /** Which of our sides the row is about; the first by default. */
  readonly ours?: string;
  readonly metric: string;
  /** The name in `figures`. */
  readonly figure: string;
  readonly unit: string;
  readonly better: 'less' | 'more';
  /** The name of the other side; `null` for a goal on our own figure. */
  readonly peer: string | null;
  readonly goal: Goal | null;
  /** Reports and judges the worst of our runs instead of the median, for what must never happen. Without a peer. */
  readonly worst?: true;
}

export interface Scenario {
  /** The name of its file, without extension. */
  readonly name: string;
  readonly about: string;
  /** Ours first. */
  readonly sides: readonly [Side, ...Side[]];
  readonly comparisons: readonly Comparison[];
  /** Measured runs of each side (default 5, quick 3), after this many unmeasured ones (default 1). */
  readonly runs?: { readonly full: number; readonly quick: number };
  readonly warmUps?: { readonly full: number; readonly quick: number };
  /** Makes the inputs that the sides share. Not measured. */
  readonly prepare?: (input: { readonly size: Size; readonly dir: string }) => Promise<void>;
  /**
   * Checks that all sides did the same work; by default the answers must be deeply equal. Called for each round with
   * the answers by side name. @throws with the difference.
   */
  readonly check?: (answers: Readonly<Record<string, unknown>>) => void;
}
