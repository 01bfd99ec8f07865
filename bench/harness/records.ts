import type { Outcome, SideOutcome } from './run-scenario.ts';
import type { Comparison, Goal } from './scenario.ts';
import { compareSpread, type Summary, summarize } from './statistics.ts';

/** One row of the report, as `--json` writes it. */
export interface Record {
  readonly scenario: string;
  readonly metric: string;
  readonly unit: string;
  /** Medians; of a row for what must never happen, the worst of our runs. */
  readonly ours: number | null;
  readonly theirs: number | null;
  readonly peer: string | null;
  /** In the sense of the goal: ours as a share of theirs, or how many times better; `null` where not told. */
  readonly ratio: number | null;
  readonly goal: string | null;
  /** Whether the goal is met; `null` where there is none; a text that says why this is not told. */
  readonly met: boolean | string | null;
  /** Measured runs of each side. */
  readonly runs: number;
  readonly machine: string;
}

/** The rows of a scenario, with the spreads that the lines for a reader also show. */
export function toRecords(
  { scenario, runs, sides }: Outcome,
  machine: string,
): { readonly record: Record; readonly ours: Summary | null; readonly theirs: Summary | null }[] {
  return scenario.comparisons.map((comparison) => {
    const ours = summaryOf(sides[0] as SideOutcome, comparison.figure);
    const peer = sides.find(({ name }) => name === comparison.peer) ?? null;
    if (comparison.peer !== null && peer === null) {
      throw new Error(`${scenario.name} has no side ${comparison.peer}`);
    }
    const theirs = peer === null ? null : summaryOf(peer, comparison.figure);
    const skipped = (sides[0] as SideOutcome).skipped ?? peer?.skipped ?? null;
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
  if (values === undefined) throw new Error(`${side.name} gave no ${figure}`);
  return summarize(values);
}

/** The one value of our runs that the row is about. */
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
  if (spread > effect) {
    const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
    const off =
      ours.runs < 2 ? `what a single run may be off, ${percent(spread)},` : `spread ${percent(spread)}`;
    return { ratio: null, met: `not told: ${off} is larger than the effect ${percent(effect)}` };
  }
  const share = ours.median / theirs.median;
  const ratio = goal !== null && 'share' in goal ? share : better === 'more' ? share : 1 / share;
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
