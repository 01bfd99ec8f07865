import { html, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import type { ListedModel } from '../../../api/types.ts';
import { type Child, keyedRow } from '../../../elements/child.ts';
import { Every } from '../../../elements/every.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { empty, serviceErrorPanel, skeleton } from '../../../elements/parts.ts';
import { aliases, baseModels, models, router } from '../../../state/app.ts';
import { Remote, Reread } from '../../../state/remote.ts';
import { Watch } from '../../../state/store.ts';
import { loopSteps } from '../../../views/tabs/loop-steps.ts';
import { sectionTabs } from '../../../views/tabs/section-tabs.ts';
import './alias-card.ts';
import './alias-form.ts';
import { type Target, targetsOf } from '../../../views/model-select.ts';

/** The figures of splits grow while clients rate answers. */
const refreshMs = 5_000;

/** The aliases: what each stands for, moves, and splits between two models. */
@customElement('hone-aliases')
export class Aliases extends LightElement {
  private readonly _listed = new Remote<readonly ListedModel[]>(service.listedModels);

  constructor() {
    super();
    new Reread(this, aliases, baseModels, models, this._listed);
    new Watch(this, router);
    new Every(this, refreshMs, () => {
      if (!aliases.value.loading) void aliases.refresh();
    });
  }

  protected override render(): TemplateResult {
    return html`<div class="page">
      ${sectionTabs('Models', '/models/aliases')}
      <header class="page-head">
        <div>
          <h1>Aliases</h1>
          ${loopSteps('Live')}
          <p class="muted">Names such as <code>support@live</code> that move from model to model, while programs ask for the same name.</p>
        </div>
      </header>
      ${this._body()}
    </div>`;
  }

  private _body(): Child {
    const { value, error } = aliases.value;
    const { value: listed, error: unlisted } = this._listed.value;
    const fault = error ?? unlisted;
    if (value === null || listed === null)
      return html`<section class="card tall" aria-label="Aliases">
        ${fault === null ? skeleton(4) : serviceErrorPanel('Could not load the aliases', fault)}
      </section>`;
    const names = value.map(({ name }) => name);
    const targets = targetsOf(listed, baseModels.value.value ?? [], names);
    return html`<section class="card" aria-labelledby="new-alias">
        <h2 id="new-alias">New alias</h2>
        ${targets.length === 0 ? noModels : html`<hone-alias-form .targets=${targets} .names=${names} wanted=${this._wanted}></hone-alias-form>`}
      </section>
      ${value.length === 0 ? html`<section class="card" aria-label="Aliases">${noAliases}</section>` : this._cards(targets)}`;
  }

  /** The name of the model that the address asks to make live; empty without one. */
  private get _wanted(): string {
    const id = router.value.query.get('model');
    return models.value.value?.find(({ model_id: one }) => String(one) === id)?.name ?? '';
  }

  private _cards(targets: readonly Target[]): Child {
    return keyedRow(
      aliases.value.value ?? [],
      ({ name }) => name,
      (alias) => html`<hone-alias .alias=${alias} .targets=${targets} wanted=${this._wanted}></hone-alias>`,
    );
  }
}

const noModels = empty(
  'No models yet',
  html`An alias stands for a model: <a href="/training">train one</a>, or
    <a href="/models/base">add one of another service</a>.`,
);
const noAliases = empty(
  'No aliases yet',
  'Let your programs ask for a name, and choose here which model answers.',
);

declare global {
  interface HTMLElementTagNameMap {
    'hone-aliases': Aliases;
  }
}
