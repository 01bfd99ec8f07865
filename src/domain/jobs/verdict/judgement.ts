import { figureLabel, isOfGrader } from '../../../contract/evaluations.ts';
import { lossText } from '../../../contract/training/loss-text.ts';
import { presets } from '../../../contract/training/presets.ts';

/** A figure of the trained model, and of its base; `null` where that was not measured. */
export interface Pair {
  readonly base: number | null;
  readonly tuned: number;
  /** That of the model whose adapter the training goes on from; absent without one. */
  readonly parent?: number;
}

/** An evaluation during a training. */
export interface EvaluatedStep {
  readonly step: number;
  readonly loss: number | null;
  /** The share of the answers' tokens that are the likeliest ones; `null` if it is not measured. */
  readonly accuracy: number | null;
  /** What the run is judged by beside the loss, as `metric` of it; `null` if it is not measured. */
  readonly score: number | null;
}

/** What a completed training is judged by. */
export interface JudgedRun {
  readonly loss: Pair | null;
  /** What the task is judged by; higher is better wherever there is no loss. */
  readonly metric: (Pair & { readonly name: string }) | null;
  /** By step; that of the base model has step 0. */
  readonly evaluations: readonly EvaluatedStep[];
  readonly heldOutRows: number;
  /** The epochs that were asked for, and those after which it ended. */
  readonly epochs: number;
  readonly trainedEpochs: number;
  /** The steps after which it had to end; 0 without a limit. */
  readonly maxSteps: number;
  readonly learningRate: number;
  /** The learning rate that suits strategy and model; `null` if unknown. */
  readonly suitedRate: number | null;
  readonly lastStep: number;
  /** The step whose weights are the model's, if it is not the last. */
  readonly bestStep: number | null;
  /** The steps of the checkpoints that are kept. */
  readonly kept: readonly number[];
  /** What was found to be wrong with the validation rows. */
  readonly warnings: readonly string[];
}

export const judgementKinds = ['learned', 'barely', 'overfitted', 'unmeasured'] as const;

/** What a training came to, in words, and what follows from it. */
export interface Judgement {
  readonly kind: (typeof judgementKinds)[number];
  readonly sentence: string;
  /** What to bear in mind about the figures. */
  readonly notes: readonly string[];
  /** Settings to train again with; `null` if none are better for all that is known. */
  readonly changes: Readonly<Record<string, number | boolean>> | null;
  /** The step of a checkpoint that is better than the model. */
  readonly checkpoint: number | null;
}

/** A loss that fell by less than this share was hardly learned from. */
const leastFall = 0.1;
/** With fewer right tokens than this, a loss must have fallen by a larger share. */
const fewRight = { accuracy: 0.5, fall: 0.6 };
/** So much more loss than at the best evaluation is overfitting rather than chance. */
const worse = 1.1;
/** Figures of fewer rows depend much on which these are. */
const firmRows = 20;
/** As many steps are enough for an adapter to learn a task, and with as few rows more epochs only memorize them. */
const { steps: enoughSteps, mostPasses: mostEpochs } = presets.thorough;
/** Advice is to train at most so many times longer. */
const mostTimes = 4;
/** A training that ended before this share of its epochs was stopped early. */
const wholeShare = 0.99;
/** A rate below this share of the suited one is too low. */
const lowRate = 0.6;

/** Judges a completed training by what was measured on rows that it was not trained on. */
export function judge(run: JudgedRun): Judgement {
  const { loss, metric } = run;
  const measured = loss ?? metric;
  if (measured === null) return unmeasured;
  const notes = [
    ...run.warnings,
    ...(run.heldOutRows > 0 && run.heldOutRows < firmRows
      ? [
          `Only ${rows(run.heldOutRows)} ${run.heldOutRows === 1 ? 'was' : 'were'} held out, so these figures are rough.`,
        ]
      : []),
  ];
  const judged = overfitted(run) ?? barely(run) ?? learned(run);
  return { ...judged, notes };
}

const unmeasured: Judgement = {
  kind: 'unmeasured',
  sentence: 'What it learned is not known: no rows were held out to measure it on.',
  notes: [],
  changes: null,
  checkpoint: null,
};

type Found = Omit<Judgement, 'notes'>;
const plain = { changes: null, checkpoint: null };

/** What evaluations are compared by: the loss, or the metric without one. `values` are those of trained weights, the best first. */
function compared({ loss, evaluations, ...run }: JudgedRun) {
  const values = evaluations.flatMap(({ step, loss: lost, score }) => {
    const value = loss === null ? score : lost;
    return step === 0 || value === null ? [] : [{ step, value }];
  });
  return loss === null
    ? {
        values: values.sort((one, other) => other.value - one.value),
        name: nameOf(run.metric),
        change: 'fallen',
        text: numberText,
        isWorse: (value: number, best: number) => best - value > (worse - 1) * Math.abs(best),
      }
    : {
        values: values.sort((one, other) => one.value - other.value),
        name: 'the evaluation loss',
        change: 'risen',
        text: lossText,
        isWorse: (value: number, best: number) => value > worse * best,
      };
}

/** A later evaluation is worse than an earlier one, and the model has the last weights. */
function overfitted(run: JudgedRun): Found | null {
  const { bestStep, lastStep, kept, epochs, trainedEpochs, maxSteps } = run;
  const { values, name, change, text, isWorse } = compared(run);
  const { tuned } = (run.loss ?? run.metric) as Pair;
  const [best] = values;
  if (bestStep !== null || best === undefined || best.step >= lastStep) return null;
  if (!isWorse(tuned, best.value)) return null;
  const isKept = kept.includes(best.step);
  // One evaluation more than it took to get to the best.
  const enough = Math.max(1, Math.min(epochs, Math.ceil((trainedEpochs * best.step) / lastStep) + 1));
  return {
    kind: 'overfitted',
    sentence: `Overfitted: ${name} was best at step ${best.step} (${text(best.value)}) and had ${change} to ${text(tuned)} by step ${lastStep}. ${
      isKept ? `Use the checkpoint from step ${best.step}.` : 'Train again and keep the best checkpoint.'
    }`,
    changes: maxSteps > 0 ? { keep_best: true } : { keep_best: true, num_train_epochs: enough },
    checkpoint: isKept ? best.step : null,
  };
}

/** The loss fell little, or few of the tokens are right. */
function barely(run: JudgedRun): Found | null {
  const { loss, metric } = run;
  const accuracy = accuracyOf(run);
  const after = run.evaluations.findLast((one) => one.step > 0);
  const { base, tuned } = loss ?? (metric as Pair);
  if (base === null) return null;
  const fall = loss === null ? null : base - tuned;
  const share = fall === null ? null : base > 0 ? fall / base : 0;
  const isLow =
    share === null
      ? tuned <= base
      : share < leastFall || (accuracy !== null && accuracy < fewRight.accuracy && share < fewRight.fall);
  if (!isLow || after === undefined) return null;
  const changes = better(run);
  const rose = fall !== null && fall < 0;
  const what =
    loss === null
      ? `${nameOf(metric)} did not improve (${numberText(base)} before, ${numberText(tuned)} after)`
      : accuracy === null
        ? `the evaluation loss ${rose ? 'rose' : 'only fell'} from ${lossText(base)} to ${lossText(tuned)}`
        : `${percent(accuracy)} of the tokens are right, and the evaluation loss ${rose ? 'rose' : 'fell'} from ${lossText(base)} to ${lossText(tuned)}`;
  return {
    kind: 'barely',
    sentence: `${rose || (loss === null && tuned < base) ? 'Did not learn' : 'Barely learned'}: ${what} ${onHeldOut(run)}.${changes === null ? '' : ` Try ${changeWords(changes)}.`}`,
    changes,
    checkpoint: null,
  };
}

function learned(run: JudgedRun): Found {
  const { loss, metric, bestStep } = run;
  const on = onHeldOut(run);
  const kept =
    bestStep === null
      ? ''
      : ` It has the weights of step ${bestStep}, the best evaluation.${laterText(run, bestStep)}`;
  if (loss === null) {
    const { base, tuned } = metric as NonNullable<typeof metric>;
    const before = base === null ? '' : ` from ${numberText(base)}`;
    return {
      ...plain,
      kind: 'learned',
      sentence: `Learned: ${nameOf(metric)} rose${before} to ${numberText(tuned)} ${on}.${kept}`,
    };
  }
  const accuracy = accuracyOf(run);
  const before = run.evaluations.find((one) => one.step === 0)?.accuracy ?? null;
  const right =
    accuracy === null
      ? ''
      : ` ${percent(accuracy)} of the tokens are right${before === null ? '' : `, ${percent(before)} before`}.`;
  const change =
    loss.base === null
      ? `Trained: the evaluation loss is ${lossText(loss.tuned)} ${on}.`
      : `Learned: the evaluation loss fell from ${lossText(loss.base)} to ${lossText(loss.tuned)} ${on}.`;
  return { ...plain, kind: 'learned', sentence: `${change}${right}${kept}` };
}

/** That the evaluations after the best one were worse, if they were. */
function laterText(run: JudgedRun, bestStep: number): string {
  const { values, name, change, text, isWorse } = compared(run);
  const last = values.filter(({ step }) => step > bestStep).sort((one, other) => other.step - one.step)[0];
  return last !== undefined && isWorse(last.value, ((run.loss ?? run.metric) as Pair).tuned)
    ? ` Later ones overfitted: ${name} had ${change} to ${text(last.value)} by step ${last.step}.`
    : '';
}

function nameOf(metric: JudgedRun['metric']): string {
  const { name } = metric as NonNullable<typeof metric>;
  return isOfGrader(name) ? figureLabel(name) : name;
}

/** The share of right tokens of the model's own weights. */
const accuracyOf = ({ evaluations, bestStep }: JudgedRun): number | null =>
  (bestStep === null
    ? evaluations.findLast((one) => one.step > 0)
    : evaluations.find((one) => one.step === bestStep)
  )?.accuracy ?? null;

/** More steps where they were few, and a higher rate where it was lower than suits the model. */
function better({ learningRate, suitedRate, ...run }: JudgedRun): Judgement['changes'] {
  const isLow = suitedRate !== null && learningRate < lowRate * suitedRate;
  const changes = longer(run);
  if (isLow) changes.learning_rate = suitedRate;
  return Object.keys(changes).length === 0 ? null : changes;
}

/** The limit that ended a training, raised until there are enough steps. */
function longer({
  epochs,
  trainedEpochs,
  maxSteps,
  lastStep,
}: Pick<JudgedRun, 'epochs' | 'trainedEpochs' | 'maxSteps' | 'lastStep'>): Record<string, number> {
  const times = Math.min(mostTimes, enoughSteps / Math.max(1, lastStep));
  if (maxSteps > 0) {
    const steps = Math.ceil(maxSteps * times);
    return steps > maxSteps ? { max_steps: steps } : {};
  }
  const isWhole = trainedEpochs >= wholeShare * epochs;
  const more = Math.min(mostEpochs, Math.ceil(epochs * times));
  return isWhole && more > epochs ? { num_train_epochs: more } : {};
}

const changeWords = ({
  num_train_epochs: epochs,
  max_steps: steps,
  learning_rate: rate,
}: NonNullable<Judgement['changes']>) =>
  [
    ...(epochs === undefined ? [] : [`${epochs} epochs`]),
    ...(steps === undefined ? [] : [`${steps} steps`]),
    ...(rate === undefined ? [] : [`a learning rate of ${rate}`]),
  ].join(' and ');

/** "on 40 held-out rows"; their number is 0 if it is not known. */
const onHeldOut = ({ heldOutRows: count }: JudgedRun) =>
  `on ${count === 0 ? '' : `${count.toLocaleString('en')} `}held-out ${count === 1 ? 'row' : 'rows'}`;
const rows = (count: number) => `${count.toLocaleString('en')} ${count === 1 ? 'row' : 'rows'}`;
const percent = (share: number) => `${Math.round(100 * share)}%`;
const numberText = (value: number) => String(Number(value.toPrecision(3)));
