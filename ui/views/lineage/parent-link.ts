import { html, nothing, type TemplateResult } from 'lit';
import type { JobDetail } from '../../api/types.ts';
import { nameText } from '../../elements/parts.ts';
import { isKept } from '../../state/app.ts';

type Parent = NonNullable<JobDetail['parent']>;

const ways: Readonly<Record<Parent['how'], string>> = {
  adapter: 'its adapter is trained on',
  merged: 'its adapter is merged into a new base first',
  whole: 'its weights are the base',
};

/** The model that a run goes on from, as a link unless it was deleted, and what is done with it. */
export function parentLink(parent: Parent): TemplateResult {
  const { model_id: id, name, step, how, why } = parent;
  return html`${isKept(id) ? html`<a href="/models/${id}">${nameText(name)}</a>` : nameText(name)}${step === null ? nothing : `, step ${step}`}:
    ${ways[how]}${how === 'merged' && why !== null ? html` (<bdi>${why}</bdi>)` : nothing}`;
}
