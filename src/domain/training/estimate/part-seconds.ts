import { phasesOf } from '../../../contract/jobs.ts';
import { type Quantization, quantizations } from '../../../contract/models/quantizations.ts';
import type { PlannedPart, TimePlan } from '../../job-record/timing/time-plan.ts';

/** What an earlier run tells of the parts before and after training. */
export interface TimedParts {
  /** The seconds of each part that has ended. */
  readonly partSeconds: Readonly<Partial<Record<PlannedPart, number>>>;
  /** The GGUF types that it made. */
  readonly quantizations: readonly Quantization[];
}

/** What the first training of a base model does once, and later ones find done. */
const onlyOnce: readonly PlannedPart[] = ['download', 'merge_base', 'gguf', 'dry_run'];

/**
 * What parts take where no earlier run tells it: so many seconds, and so many for each billion parameters. Measured on one
 * core of a server; a run corrects it by what its first parts take.
 */
const usual: Readonly<Partial<Record<PlannedPart, readonly [number, number]>>> = {
  start: [0.4, 0],
  check: [0.1, 0],
  dry_run: [8.5, 5],
  load: [8, 30],
  probe: [0.5, 40],
  answers: [2, 50],
  save: [0.8, 10],
  merge: [4.5, 1],
  convert: [0.4, 15],
  quantize: [0.5, 30],
  verify: [4, 60],
};

const exporting: readonly PlannedPart[] = phasesOf('Export', 'Verify');

/** How often a part is done for the files of an export. */
function times(part: PlannedPart, types: readonly Quantization[]): number {
  if (!exporting.includes(part)) return 1;
  if (types.length === 0) return 0;
  const direct = types.filter((type) => quantizations[type].direct).length;
  if (part === 'quantize') return types.length - direct;
  const isBetween = direct < types.length && !types.includes('F16');
  if (part === 'convert') return direct + (isBetween ? 1 : 0);
  return part === 'verify' ? types.length : 1;
}

/** Of the newest runs that tell of a part, so many are looked at. */
const lookedAt = 3;

/**
 * What the parts of a run before and after training take: what they took in the newest runs of the same model, or what is
 * usual.
 * @param runs newest first.
 */
export function partSeconds(
  runs: readonly TimedParts[],
  types: readonly Quantization[],
  parameters: number | null,
): TimePlan['seconds'] {
  const parts = Object.keys(usual) as PlannedPart[];
  return Object.fromEntries(
    parts.flatMap((part) => {
      if (onlyOnce.includes(part) && runs.length > 0) return [];
      if (part === 'dry_run' && types.length === 0) return [];
      const count = times(part, types);
      const told = runs.flatMap(({ partSeconds: took, quantizations: made }) => {
        const before = times(part, made);
        return took[part] === undefined || before === 0 ? [] : [(took[part] * count) / before];
      });
      const seconds = median(told.slice(0, lookedAt)) ?? usualSeconds(part, parameters) * count;
      return seconds === 0 ? [] : [[part, seconds]];
    }),
  );
}

function usualSeconds(part: PlannedPart, parameters: number | null): number {
  const [fixed, ofBillion] = usual[part] ?? [0, 0];
  return fixed + (ofBillion * (parameters ?? 0)) / 1e9;
}

function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}
