import type { Config } from '../../config.ts';
import type { Graders } from '../../domain/graders/graders.ts';
import type { Services } from '../../domain/services.ts';
import { createAnswerGrades } from '../../domain/traffic/answer-grades.ts';
import { createMasking } from '../../domain/traffic/masking.ts';
import type { Traffic } from '../../domain/traffic/traffic.ts';

/** Kept answers, and what is done with them. */
export const composeAnswers = (
  config: Config,
  traffic: Traffic,
  graders: Graders,
): Pick<Services, 'traffic' | 'answerGrades' | 'masking'> => ({
  traffic,
  answerGrades: createAnswerGrades(graders, traffic),
  masking: createMasking(config),
});
