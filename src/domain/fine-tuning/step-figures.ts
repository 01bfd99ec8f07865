/** A step's figures under OpenAI's names; the `full_` ones are of the whole validation part, which is always evaluated. */
export interface StepFigures {
  readonly train_loss?: number;
  readonly train_mean_token_accuracy?: number;
  readonly valid_loss?: number;
  readonly valid_mean_token_accuracy?: number;
  readonly full_valid_loss?: number;
  readonly full_valid_mean_token_accuracy?: number;
  /** Of jobs whose answers are rewarded, as the tokens of an answer. */
  readonly train_mean_reward?: number;
  readonly valid_mean_reward?: number;
  readonly full_valid_mean_reward?: number;
  readonly completion_tokens_mean?: number;
}

/** The figures of a `metrics` frame; those that were not measured are left out. */
export function stepFigures({ kind, loss, extra, metrics }: Readonly<Record<string, unknown>>): StepFigures {
  const length = 'completions/mean_length';
  if (kind === 'train') {
    const { mean_token_accuracy: accuracy, reward, [length]: tokens } = (extra ?? {}) as Numbers;
    return known({
      train_loss: loss,
      train_mean_token_accuracy: accuracy,
      train_mean_reward: reward,
      completion_tokens_mean: tokens,
    });
  }
  const { eval_loss: valid, mean_token_accuracy: accuracy, reward } = (metrics ?? {}) as Numbers;
  return known({
    valid_loss: valid,
    valid_mean_token_accuracy: accuracy,
    full_valid_loss: valid,
    full_valid_mean_token_accuracy: accuracy,
    valid_mean_reward: reward,
    full_valid_mean_reward: reward,
  });
}

type Numbers = Readonly<Record<string, number | null>>;

const known = (figures: Readonly<Record<string, unknown>>): StepFigures =>
  Object.fromEntries(
    Object.entries(figures).filter(([, value]) => typeof value === 'number' && Number.isFinite(value)),
  );
