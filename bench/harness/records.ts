import type { Outcome, SideOutcome } from './run-scenario.ts';
import type { Comparison, Goal } from './scenario.ts';
import { compareSpread, type Summary, summarize } from './statistics.ts';

/** One row of the report, in the format of `--json`. */
export interface Record {
  readonly scenario: string;
  readonly metric: string;
  readonly unit: string;
  /** Medians; for a comparison with `worst`, the worst of our runs. */
  readonly ours: number | null;
  readonly theirs: number | null;
  readonly peer: string | null;
  /** Ours as a share of theirs, or how many times better, depending on the goal; `null` if not reported. */
  readonly ratio: number | null;
  readonly goal: string | null;
  /** Whether the goal is met; `null` if there is none; a string explains why that is not known. */
  readonly met: boolean | string | null;
  /** The number of measured runs per side. */
  readonly runs: number;
  readonly machine: string;
}

/** The rows of a scenario, with the spreads for the terminal output. */
export function toRecords(
  { scenario, runs, sides }: Outcome,
  machine: string,
): { readonly record: Record; readonly ours: Summary | null; readonly theirs: Summary | null }[] {
  return scenario.comparisons.map((comparison) => {
    const sideOf = (name: string): SideOutcome => {
      const found = sides.find((side) => side.name === name);
      if (found === undefined) throw new Error(`${scenario.name} has no side ${name}`);
      return found;
    };
    const side = sideOf(comparison.ours ?? scenario.sides[0].name);
    const ours = summaryOf(side, comparison.figure);
    const peer = comparison.peer === null ? null : sideOf(comparison.peer);
    const theirs = peer === null ? null : summaryOf(peer, comparison.figure);
    const skipped = side.skipped ?? peer?.skipped ?? null;
    return {
      ours,
      theirs,
      record: {
        scenario: scenario.name,
        metric: comparison.metric,
        unit: comparison.unit,
        ours: ours === null ? null : told(comparison, ours),
        theirs: theirs?.median ?? null,
        peer: comparison.peer,
        ...judge(comparison, ours, theirs, skipped),
        goal: comparison.goal === null ? null : goalText(comparison.goal),
        runs,
        machine,
      },
    };
  });
}

function summaryOf(side: SideOutcome, figure: string): Summary | null {
  if (side.skipped !== null) return null;
  const values = side.figures[figure];
  if (values === undefined) throw new Error(`${side.name} returned no ${figure}`);
  return summarize(values);
}

/** The value of our runs that the row reports. */
const told = ({ worst, better }: Comparison, { median, least, most }: Summary) =>
  worst ? (better === 'less' ? most : least) : median;

function judge(
  comparison: Comparison,
  ours: Summary | null,
  theirs: Summary | null,
  skipped: string | null,
): Pick<Record, 'ratio' | 'met'> {
  const { goal, better, peer } = comparison;
  if (skipped !== null || ours === null) return { ratio: null, met: `skipped: ${skipped}` };
  if (peer === null || theirs === null)
    return { ratio: null, met: goal === null ? null : meets(goal, told(comparison, ours)) };
  if (goal !== null && ('below' in goal || 'atMost' in goal || 'atLeast' in goal)) {
    throw new Error('A goal of our own figure needs a comparison without a peer');
  }
  const { spread, effect } = compareSpread(ours, theirs);
  const share = ours.median / theirs.median;
  const ratio = goal !== null && 'share' in goal ? share : better === 'more' ? share : 1 / share;
  if (spread > effect) {
    // What cannot be told from 1 may still be far enough from the goal.
    const [worst, best] = [ratio / (1 + spread), ratio * (1 + spread)].map(
      (one) => goal !== null && meets(goal, one),
    );
    if (goal !== null && worst === best) return { ratio: null, met: worst as boolean };
    const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
    const off =
      ours.runs < 2 ? `the assumed spread of a single run, ${percent(spread)},` : `spread ${percent(spread)}`;
    return { ratio: null, met: `inconclusive: ${off} is larger than the effect ${percent(effect)}` };
  }
  return { ratio, met: goal === null ? null : meets(goal, ratio) };
}

function meets(goal: Goal, value: number): boolean {
  if ('share' in goal) return value <= goal.share;
  if ('times' in goal) return value >= goal.times;
  if ('below' in goal) return value < goal.below;
  return 'atMost' in goal ? value <= goal.atMost : value >= goal.atLeast;
}

function goalText(goal: Goal): string {
  if ('share' in goal) return `≤ ${Number(goal.share.toPrecision(3))} of theirs`;
  if ('times' in goal) return `≥ ${goal.times} ×`;
  if ('below' in goal) return `< ${goal.below}`;
  return 'atMost' in goal ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`;
}
