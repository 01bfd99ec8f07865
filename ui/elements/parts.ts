import { html, nothing, type TemplateResult } from 'lit';
import type { JobState } from '../../src/contract/jobs.ts';
import type { ServiceError } from '../api/request.ts';
import { stateName } from '../state/runs/job-words.ts';
import type { Child } from './child.ts';
import { info } from './info/info.ts';

/** Small stateless templates used by every page. */

/** A coloured badge with the state of a job. */
export function stateBadge(state: JobState): TemplateResult {
  return html`<span class="badge" data-state=${state}>${stateName(state)}</span>`;
}

/** A user-supplied name, isolated from the surrounding text direction; a long one breaks after `_`, `-` and `.`. */
export function nameText(name: string): TemplateResult {
  // A learning rate such as 2e-4 stays on one line.
  const parts = name.split(/([\d.]+e-\d+)/);
  return html`<bdi class="name">${parts.map((part, index) => (index % 2 === 1 ? html`<span class="unbroken">${part}</span>` : breakable(part)))}</bdi>`;
}

/** A text that may break after each `_`, `-` and `.`, other than those of a number. */
const breakable = (text: string): Child =>
  text
    .split(/(?<=[_-]|\.(?!\d))(?![_.-]|$)/)
    .map((part, index) => (index === 0 ? part : html`<wbr />${part}`));

/** A base model's short name: a full hub ID, or the last part of a folder. */
export function shortModelName(name: string): string {
  const isFolder = /^(\/|~|\.|[A-Za-z]:\\)/.test(name);
  const last = name.split(/[/\\]/).findLast((part) => part !== '');
  return isFolder ? (last ?? name) : name;
}

/** A base model's short name, as an element. */
export const modelName = (name: string): TemplateResult => nameText(shortModelName(name));

/** A progress bar; indeterminate if `percent` is null. */
export function progressBar(label: string, percent: number | null): TemplateResult {
  return percent === null
    ? html`<progress class="bar" aria-label=${label}></progress>`
    : html`<progress class="bar" aria-label=${label} max="100" .value=${percent}></progress>`;
}

/** A labelled figure, with what it means behind a button where its name does not say that. */
export function figure(name: string, value: Child, note: string | null = null): TemplateResult {
  return html`<div class="figure">
    <dt>${name}${info(name)}</dt>
    <dd>${value}${note === null ? nothing : html` <small>${note}</small>`}</dd>
  </div>`;
}

/** Placeholder lines for content that is loading. */
export function skeleton(lines: number): TemplateResult {
  return html`<div class="skeleton" aria-hidden="true">${Array.from({ length: lines }, () => html`<i></i>`)}</div>
    <span class="off-screen" role="status">Loading</span>`;
}

/** An empty state. */
export function empty(title: Child, body: Child): TemplateResult {
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    <div>${body}</div>
  </div>`;
}

/** An error: what happened, what to do next, and the detail to copy. */
export function errorPanel(options: {
  title: string;
  cause: string;
  next?: Child | null | undefined;
  detail?: string | null;
}): TemplateResult {
  return html`<div class="panel-error" role="alert">
    <p class="panel-title">${options.title}</p>
    <p class="wrap"><bdi>${options.cause}</bdi></p>
    ${options.next ? html`<p class="wrap">${options.next}</p>` : nothing}
    ${
      options.detail
        ? html`<details>
            <summary>Detail</summary>
            <pre class="log" tabindex="0" role="region" aria-label="Error detail">${options.detail}</pre>
            <hone-copy .text=${options.detail} label="Copy detail"></hone-copy>
          </details>`
        : nothing
    }
  </div>`;
}

const nextSteps: Readonly<Record<number, string>> = {
  0: 'Start it again with “npm start”. This page reconnects automatically.',
  403: 'Check the name. For a private or gated model, accept its terms on the hub and set a hub token under Settings.',
  413: 'Split the file or remove rows.',
  502: 'Check the network. Downloaded models and local folders work offline.',
  507: 'Free some disk space, then try again.',
};

/** An error response of the service. */
export function serviceErrorPanel(title: string, error: ServiceError, next?: Child): TemplateResult {
  return errorPanel({
    title,
    cause: error.message,
    next: next ?? nextSteps[error.status],
    detail: error.detail,
  });
}

/** A radio option with a description. */
export function option(
  group: string,
  value: string,
  title: Child,
  sentence: Child,
  chosen: boolean,
  choose: () => void,
  disabled = false,
): TemplateResult {
  return html`<label class="option" data-disabled=${disabled ? 'yes' : nothing}>
    <input
      type="radio"
      name=${group}
      .value=${value}
      .checked=${chosen}
      ?disabled=${disabled}
      @change=${choose}
    />
    <span><b>${title}</b>${sentence === '' ? nothing : html`<small>${sentence}</small>`}</span>
  </label>`;
}
