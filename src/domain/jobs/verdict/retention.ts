import { lossText } from '../../../contract/training/loss-text.ts';

/** How much of the base model a training has kept, measured on the same general text in every run. */
export interface Retention {
  /** The loss on the text. */
  readonly loss: { readonly base: number; readonly tuned: number };
  /** The divergence from the base model's predictions in answers to general questions (nats a token). */
  readonly divergence: number | null;
  /** What to do about it if much was lost. */
  readonly advice: string | null;
  /** Both losses at parts of the adapter's strength, from 0 to 1; empty unless much was lost. */
  readonly strengths: readonly StrengthLosses[];
  /** Both losses at checkpoints, by step; empty unless much was lost. */
  readonly checkpoints: readonly CheckpointLosses[];
}

interface Losses {
  readonly generalLoss: number;
  /** On rows of the dataset: held-out ones if there are any; `null` if the rows have no answers. */
  readonly loss: number | null;
}
interface StrengthLosses extends Losses {
  readonly strength: number;
}
interface CheckpointLosses extends Losses {
  readonly step: number;
}

/**
 * What a run's figures tell (`trainer/export/retention`), `null` where it was not measured.
 * @param kept the steps of the checkpoints that are still there.
 */
export function readRetention(
  figures: Readonly<Record<string, number | null>>,
  kept: readonly number[],
): Retention | null {
  const { 'general/base_loss': base, 'general/loss': tuned, 'general/kl': divergence = null } = figures;
  if (base == null || tuned == null) return null;
  const strengths = lossesAt(figures, 'strength').map(({ at, ...losses }) => ({ strength: at, ...losses }));
  const checkpoints = lossesAt(figures, 'checkpoint').map(({ at, ...losses }) => ({ step: at, ...losses }));
  return {
    loss: { base, tuned },
    divergence,
    advice: strengths.length === 0 ? null : adviceFor(base, tuned, strengths),
    strengths,
    checkpoints: checkpoints.filter(({ step }) => kept.includes(step)),
  };
}

/** The losses at the places that figures are named by, such as `strength_0.5/loss`, in their order. */
function lossesAt(figures: Readonly<Record<string, number | null>>, place: string) {
  return Object.entries(figures)
    .flatMap(([name, generalLoss]) => {
      const [prefix = '', figure] = name.split('/');
      if (!prefix.startsWith(`${place}_`) || figure !== 'general_loss' || generalLoss === null) return [];
      const at = Number(prefix.slice(place.length + 1));
      return [{ at, generalLoss, loss: figures[`${prefix}/loss`] ?? null }];
    })
    .sort((one, other) => one.at - other.at);
}

/** What happened and what helps, with the largest strength that was measured at which at most half as much is lost. */
function adviceFor(base: number, tuned: number, strengths: readonly StrengthLosses[]): string {
  const milder = strengths.findLast(
    ({ strength, generalLoss }) => strength > 0 && strength < 1 && generalLoss - base <= (tuned - base) / 2,
  );
  const advice = `The model forgot some of what its base knew: its loss on general text rose from ${lossText(base)} to ${lossText(tuned)}. Train with a lower learning rate or fewer epochs, or use less of the adapter’s strength.`;
  if (milder === undefined) return advice;
  const whole = strengths.at(-1)?.loss ?? null;
  const onRows =
    milder.loss === null || whole === null
      ? ''
      : `, and ${lossText(milder.loss)} on your rows (${lossText(whole)} at full strength)`;
  return `${advice} At ${100 * milder.strength}% it is ${lossText(milder.generalLoss)}${onRows}.`;
}
