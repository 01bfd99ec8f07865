import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Scenario, Side, Size } from './scenario.ts';

/** The results of one side: the values of every figure, in order, or why it was skipped. */
export interface SideOutcome {
  readonly name: string;
  readonly about: string;
  readonly skipped: string | null;
  readonly figures: Readonly<Record<string, readonly number[]>>;
}

export interface Outcome {
  readonly scenario: Scenario;
  readonly runs: number;
  readonly sides: readonly SideOutcome[];
}

/** How many unmeasured and measured runs each side gets. */
function counts(scenario: Scenario, size: Size): { warmUps: number; runs: number } {
  if (size === 'test') return { warmUps: 0, runs: 1 };
  return { warmUps: scenario.warmUps?.[size] ?? 1, runs: scenario.runs?.[size] ?? (size === 'full' ? 5 : 3) };
}

/** Makes a scenario's folder with the inputs that its sides share; `runScenario` removes it. */
export async function prepareScenario(scenario: Scenario, size: Size): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'hone-bench-'));
  try {
    await scenario.prepare?.({ size, dir });
    return dir;
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Runs the sides of a scenario in turn. A missing side is skipped and reported; if all of ours are missing, nothing
 * runs.
 * @param prepared the folder from `prepareScenario`, if it has already been called.
 * @throws when a side fails, or when the sides did not do the same work.
 */
export async function runScenario(
  scenario: Scenario,
  size: Size,
  progress: (text: string) => void = () => undefined,
  prepared: string | null = null,
): Promise<Outcome> {
  const { warmUps, runs } = counts(scenario, size);
  const sides = await Promise.all(scenario.sides.map(look));
  const ourNames = scenario.comparisons.map(({ ours }) => ours ?? scenario.sides[0].name);
  const ours = sides.filter(({ name }) => ourNames.includes(name));
  if (ours.every(({ skipped }) => skipped !== null)) {
    if (prepared !== null) await rm(prepared, { recursive: true, force: true });
    return {
      scenario,
      runs: 0,
      sides: sides.map((side) => ({
        ...side,
        figures: {},
        skipped: side.skipped ?? 'nothing to compare it with',
      })),
    };
  }
  const present = sides.filter(({ skipped }) => skipped === null);
  const values = new Map(sides.map(({ name }) => [name, {} as Record<string, number[]>]));
  const dir = prepared ?? (await prepareScenario(scenario, size));
  try {
    for (let number = 0; number < warmUps + runs; number += 1) {
      const answers: Record<string, unknown> = {};
      for (const { name, side } of present) {
        progress(`${name}, ${number < warmUps ? 'warm-up' : `run ${number - warmUps + 1} of ${runs}`}`);
        const { figures, answer } = await side.trial({ size, dir, number });
        answers[name] = answer;
        if (number >= warmUps) note(values.get(name) as Record<string, number[]>, figures, name);
      }
      try {
        (scenario.check ?? checkEqual)(answers);
      } catch (error) {
        // The figures of a long scenario help to find out why.
        const measured = JSON.stringify(Object.fromEntries(values));
        throw new Error(`${(error as Error).message}\n  measured: ${measured}`, { cause: error });
      }
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
  return {
    scenario,
    runs,
    sides: sides.map(({ name, about, skipped }) => ({
      name,
      about,
      skipped,
      figures: values.get(name) as Record<string, number[]>,
    })),
  };
}

interface Looked {
  readonly side: Side;
  readonly name: string;
  readonly about: string;
  readonly skipped: string | null;
}

async function look(side: Side): Promise<Looked> {
  const skipped = (await side.missing?.()) ?? null;
  const about =
    typeof side.about === 'string' ? side.about : skipped === null ? await side.about() : side.name;
  return { side, name: side.name, about, skipped };
}

function note(
  values: Record<string, number[]>,
  figures: Readonly<Record<string, number>>,
  side: string,
): void {
  for (const [figure, value] of Object.entries(figures)) {
    if (!Number.isFinite(value)) throw new Error(`${side} returned ${value} for ${figure}`);
    values[figure] ??= [];
    values[figure].push(value);
  }
}

function checkEqual(answers: Readonly<Record<string, unknown>>): void {
  const [[ours, answer] = ['', null], ...others] = Object.entries(answers);
  for (const [name, other] of others) {
    if (isDeepStrictEqual(answer, other)) continue;
    const shown = (value: unknown) => JSON.stringify(value)?.slice(0, 1000);
    throw new Error(`The sides did not do the same.\n${ours}: ${shown(answer)}\n${name}: ${shown(other)}`);
  }
}
