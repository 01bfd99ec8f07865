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
}

interface StrengthLosses {
  readonly strength: number;
  readonly generalLoss: number;
  /** On rows of the dataset: held-out ones if there are any; `null` if the rows have no answers. */
  readonly loss: number | null;
}

/** What a run's figures tell (`trainer/export/retention`), `null` where it was not measured. */
export function readRetention(figures: Readonly<Record<string, number | null>>): Retention | null {
  const { 'general/base_loss': base, 'general/loss': tuned, 'general/kl': divergence = null } = figures;
  if (base == null || tuned == null) return null;
  const strengths = Object.entries(figures)
    .flatMap(([name, generalLoss]) => {
      const [, strength] = /^strength_([\d.]+)\/general_loss$/.exec(name) ?? [];
      if (strength === undefined || generalLoss === null) return [];
      return [
        { strength: Number(strength), generalLoss, loss: figures[`strength_${strength}/loss`] ?? null },
      ];
    })
    .sort((one, other) => one.strength - other.strength);
  return {
    loss: { base, tuned },
    divergence,
    advice: strengths.length === 0 ? null : adviceFor(base, tuned, strengths),
    strengths,
  };
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
