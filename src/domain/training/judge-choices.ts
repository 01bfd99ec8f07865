import type { Settings } from '../../contract/settings.ts';
import { createFaults, type Faults } from '../../faults.ts';
import {
  type Choice,
  defaultProvider,
  defaultStrategy,
  type TrainerRegistry,
} from '../machine/trainer-registry.ts';
import { judgeSettings } from './setting-rules.ts';
import { type SettingsContext, settingsOf } from './settings.ts';
import type { ReadRequest, TrainingRequest } from './training-request.ts';

/** The choices of a request, as far as they can be read. */
export interface Choices extends Choice {
  readonly settings: Settings;
  readonly context: SettingsContext;
}

/** The choices of a valid request. */
export interface JudgedChoices extends Choices {
  readonly strategy: string;
  readonly provider: string;
}

/** What choices are validated against. */
export interface ChoiceJudges {
  readonly registry: TrainerRegistry;
  readonly settingsContext: (profile: TrainingRequest['compute_specs']) => Promise<SettingsContext>;
}

/** Validates task, strategy, provider and settings against the trainer's registry and this machine. */
export async function judgeChoices(
  request: ReadRequest,
  { registry, settingsContext }: ChoiceJudges,
  faults: Faults,
): Promise<Choices> {
  const { fields, refused } = request;
  const asked = {
    task: fields.task ?? null,
    strategy: refused.has('strategy') ? null : (fields.strategy ?? defaultStrategy),
    provider: refused.has('provider') ? null : (fields.provider ?? defaultProvider),
  };
  const choice = await registry.judge(asked, faults);
  const context = await settingsContext(fields.compute_specs);
  judgeSettings(request, choice.provider, context, faults);
  return { ...choice, settings: settingsOf(fields, context), context };
}

/** Validates choices regardless of model and rows. @throws AppError `invalid` as a start does. */
export async function checkChoices(request: TrainingRequest, judges: ChoiceJudges): Promise<JudgedChoices> {
  const faults = createFaults();
  const choices = await judgeChoices({ fields: request, refused: new Set() }, judges, faults);
  faults.raise();
  return choices as JudgedChoices;
}
