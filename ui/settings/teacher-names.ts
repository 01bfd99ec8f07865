import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../api/service.ts';
import type { Teacher } from '../api/types.ts';
import { LightElement } from '../elements/light-element.ts';
import { draft } from '../state/drafts/draft.ts';
import { asServiceError } from '../state/remote.ts';
import { Watch } from '../state/store.ts';

/** The models that may teach the draft's model, to choose from, and why others may not. */
@customElement('hone-teacher-names')
export class TeacherNames extends LightElement {
  @state() private _teachers: readonly Teacher[] | null = null;
  @state() private _fault: string | null = null;
  private _asked: string | null = null;

  constructor() {
    super();
    new Watch(this, draft);
  }

  protected override willUpdate(): void {
    const model = draft.value.model.trim();
    if (model === this._asked) return;
    this._asked = model;
    this._teachers = null;
    this._fault = null;
    if (model !== '') void this._ask(model);
  }

  private async _ask(model: string): Promise<void> {
    try {
      const found = await service.teachers(model);
      if (model === this._asked) this._teachers = found;
    } catch (error) {
      if (model === this._asked) this._fault = asServiceError(error).message;
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this._fault !== null) return html`<p class="hint">${this._fault}</p>`;
    if (this._teachers === null) return nothing;
    const chosen = draft.value.settings.teacher ?? '';
    const fit = this._teachers.filter(({ reason }) => reason === null);
    const others = this._teachers.filter(({ reason }) => reason !== null);
    return html`${
      fit.length === 0
        ? html`<p class="hint">No other model here has the same tokens.</p>`
        : html`<select
            aria-label="Models that may teach"
            @change=${(event: Event) => draft.setting('teacher', (event.target as HTMLSelectElement).value || null)}
          >
            <option value="" .selected=${!fit.some(({ name }) => name === chosen)}>Choose from ${fit.length}…</option>
            ${fit.map(({ name, kind }) => html`<option value=${name} .selected=${name === chosen}>${name}${kind === 'model' ? '' : ' (base)'}</option>`)}
          </select>`
    }
    ${
      others.length === 0
        ? nothing
        : html`<details class="fold">
            <summary>${others.length} that cannot teach it</summary>
            <dl>${others.map(({ name, reason }) => html`<dt>${name}</dt><dd>${reason ?? nothing}</dd>`)}</dl>
          </details>`
    }`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-teacher-names': TeacherNames;
  }
}
