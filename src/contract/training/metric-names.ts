import { figureLabel, isOfGrader } from '../evaluations.ts';

const names: Readonly<Record<string, string>> = {
  final_loss: 'Final loss',
  eval_loss: 'Evaluation loss',
  rouge1: 'ROUGE-1',
  rouge2: 'ROUGE-2',
  rougeL: 'ROUGE-L',
  f1: 'F1',
  right_tool: 'Right tool (%)',
  right_arguments: 'Right arguments (%)',
  kl: 'KL divergence',
  divergence: 'Divergence from the teacher',
  label_loss: 'Loss of the rows’ answers',
  'general/base_loss': 'Loss of the base on general text',
  'general/loss': 'Loss on general text',
  'general/kl': 'KL divergence on general text',
  'rewards/chosen': 'Chosen reward',
  'rewards/rejected': 'Rejected reward',
  'rewards/margins': 'Reward margin',
  'rewards/accuracies': 'Reward accuracy',
  reward_std: 'Spread of the reward',
  frac_reward_zero_std: 'Groups without spread',
  'completions/mean_length': 'Answer length',
  'completions/clipped_ratio': 'Answers cut',
};

/** What is told of each grader of a training. */
const ofGrader: Readonly<Record<string, string>> = {
  mean: 'Score of',
  std: 'Spread of',
  errors: 'Errors of',
};

/** A metric's display name. */
export function metricName(key: string): string {
  if (isOfGrader(key)) return figureLabel(key);
  const [, grader, what = ''] = /^rewards\/(.+)\/(mean|std|errors)$/.exec(key) ?? [];
  if (grader !== undefined) return `${ofGrader[what]} ${grader}`;
  const words = key.replaceAll('_', ' ').replace('/', ': ');
  return names[key] ?? `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}
