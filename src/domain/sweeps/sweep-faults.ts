import { graderOf } from '../../contract/graders/grader-types.ts';
import { usualMetric } from '../../contract/sweeps.ts';
import { comparesAnswers } from '../../contract/training/steps.ts';
import type { FieldIssue } from '../../errors.ts';
import { createFaults } from '../../faults.ts';
import type { Description } from '../../trainer/protocol.ts';
import type { Jobs } from '../jobs/jobs.ts';
import { defaultStrategy } from '../machine/trainer-registry.ts';
import { metricFault } from './metrics.ts';
import { corners, nameOf, type SweepRequest, spaceFaults } from './sweep-request.ts';

/** Every error of a request, as far as it can be read; `refused` are the fields that cannot. */
export async function sweepFaults(
  fields: Partial<SweepRequest>,
  refused: ReadonlySet<string>,
  { describe, jobs }: { describe(): Promise<Description>; jobs: Pick<Jobs, 'faults'> },
): Promise<readonly FieldIssue[]> {
  const found = createFaults();
  const wrong = fields.space === undefined ? [] : spaceFaults(fields.space, fields.trials);
  for (const msg of wrong) found.add('space', msg);
  if (!refused.has('metric')) {
    const { metric = usualMetric, task, strategy, graders } = fields;
    const grader = graderOf(metric);
    const isReward = graders?.some((one) => nameOf(one) === grader);
    const fault =
      grader === null
        ? metricFault(await describe(), metric, task, strategy ?? defaultStrategy)
        : comparesAnswers(strategy) && !isReward
          ? `metric is ${metric}, and ${strategy} tells the scores of its rewards alone; name ${grader} in graders`
          : null;
    if (fault !== null) found.add('metric', fault);
  }
  const isRead = !refused.has('eval_split') && !refused.has('validation_dataset');
  if (isRead && !fields.eval_split && fields.validation_dataset == null) {
    found.add(
      'eval_split',
      'A sweep compares its trials on rows that they are not trained on: set eval_split, for example to 0.1, or validation_dataset',
    );
  }
  const ofTrainings = await Promise.all(
    corners(fields).map((request) => jobs.faults({ fields: request, refused })),
  );
  const issues = [...found.issues(), ...ofTrainings.flat()];
  return issues.filter(({ msg }, index) => issues.findIndex((other) => other.msg === msg) === index);
}
