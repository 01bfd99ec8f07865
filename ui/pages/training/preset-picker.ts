import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { type PresetName, presetNames, presets } from '../../../src/contract/training/presets.ts';
import { comparesAnswers } from '../../../src/contract/training/steps.ts';
import { formatCount, formatDuration, formatNumber } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { option } from '../../elements/parts.ts';
import { choosePreset, presetOf } from '../../settings/form-defaults.ts';
import { datasets, settings } from '../../state/app.ts';
import { draft } from '../../state/drafts/draft.ts';
import { presetFacts } from '../../state/preset-facts.ts';
import { Watch } from '../../state/store.ts';

/** Chooses how long to train: each preset is a set of numbers for the fields below it. */
@customElement('hone-preset-picker')
export class PresetPicker extends LightElement {
  constructor() {
    super();
    new Watch(this, draft, datasets, settings, presetFacts);
  }

  protected override willUpdate(): void {
    presetFacts.follow();
  }

  protected override render(): TemplateResult | typeof nothing {
    const { strategy, preset } = draft.value;
    if (comparesAnswers(strategy)) return nothing;
    return html`<div class="form-row">
      <span class="form-row-label" id="preset">Training</span>
      <div class="options presets" role="radiogroup" aria-labelledby="preset">
        ${presetNames.map((name) => option('preset', name, presets[name].label, words(name), preset === name, () => choosePreset(name)))}
      </div>
    </div>`;
  }
}

/** A preset in numbers. */
function words(name: PresetName): string {
  const found = presetOf(name);
  if (found === null) return '';
  const { settings: chosen, steps, seconds } = found;
  const epochs = chosen.num_train_epochs;
  return [
    `${formatNumber(epochs, 3)} ${epochs === 1 ? 'epoch' : 'epochs'}`,
    `${formatCount(steps)} steps`,
    ...(seconds === null ? [] : [`about ${formatDuration(seconds)}`]),
  ].join(', ');
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-preset-picker': PresetPicker;
  }
}
