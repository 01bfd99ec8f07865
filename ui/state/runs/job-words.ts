/** Display names, and predicates for job states. */

import {
  type JobState,
  type Phase,
  phases,
  phasesOf,
  resumableStates,
  stages,
  states,
  unfinishedStates,
} from '../../../src/contract/jobs.ts';
import { type Profile, profileLabels } from '../../../src/contract/profiles.ts';

export const isActive = (state: string) => (unfinishedStates as readonly string[]).includes(state);
export const isEnded = (state: string) => !isActive(state);
/** Whether a job in this state can be stopped. */
export const isStoppable = (state: string) => isActive(state) && state !== 'stopping';
export const isResumable = (state: string) => (resumableStates as readonly string[]).includes(state);

export const stateName = (state: JobState) => states[state].label;
export const phaseName = (phase: Phase | null) => (phase === null ? '' : phases[phase].label);

/** The stages of a run, and the phases of each. */
export const runStages: readonly { readonly name: string; readonly phases: readonly string[] }[] = stages.map(
  (name) => ({ name, phases: phasesOf(name) }),
);

export const profileName = (profile: string) => profileLabels[profile as Profile] ?? profile;
