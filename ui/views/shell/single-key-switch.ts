import type { TemplateResult } from 'lit';
import { checkField } from '../../elements/fields.ts';
import { singleKeys } from '../../state/single-keys.ts';

/** Switches the shortcuts of a single key on and off. */
export const singleKeySwitch = (): TemplateResult =>
  checkField('Single-key shortcuts', singleKeys.value, (on) => singleKeys.choose(on));
