import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { focusHeading } from './elements/lost-focus.ts';
import { empty } from './elements/parts.ts';
import { readPage } from './read-page.ts';
import { currentJobId, router, runOf, toasts } from './state/app.ts';
import { phaseName, stateName } from './state/runs/job-words.ts';
import { nameTab, showInTab } from './state/runs/tab-progress.ts';
import { isSignInNeeded, session } from './state/session.ts';
import { Watch } from './state/store.ts';
import './pages/dashboard/dashboard.ts';
import './pages/datasets/dataset.ts';
import './pages/datasets/datasets.ts';
import './pages/datasets/import.ts';
import './pages/runs/history.ts';
import './pages/models/base/base-models.ts';
import './pages/models/model.ts';
import './pages/models/models.ts';
import './pages/runs/run.ts';
import './pages/training/training.ts';
import './views/database-notice.ts';
import './views/shell/away-banner.ts';
import './views/shell/drop-overlay.ts';
import './views/shell/header.ts';
import './views/sign-in.ts';
import { LightElement } from './elements/light-element.ts';

/** The frame around every page, and the page that the URL names. */
@customElement('hone-app')
export class App extends LightElement {
  @state() private _said = '';
  private _shown: string | null = null;
  private _unsubscribe: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, router, currentJobId, session);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    currentJobId.subscribe(() => this._follow());
  }

  /** Announces the phases of the current run to screen readers, and shows its progress in the browser's tab. */
  private _follow(): void {
    this._unsubscribe?.();
    this._unsubscribe = null;
    const jobId = currentJobId.value;
    if (jobId === null) return;
    const run = runOf(jobId);
    let last = '';
    this._unsubscribe = run.subscribe(() => {
      const { job } = run.value;
      if (job === null) return;
      showInTab(job);
      const words = job.state === 'running' ? phaseName(job.phase) : stateName(job.state);
      if (last !== '' && words !== last) this._said = `${jobId}: ${words}`;
      last = words;
    });
  }

  protected override updated(): void {
    const { segments } = router.value;
    const reading = readPage(segments);
    const path = segments.join('/');
    if (path === this._shown) return;
    const isFirst = this._shown === null;
    this._shown = path;
    nameTab(pageTitle(segments));
    void reading.then((isRead) => {
      if (!isRead) toasts.show('This page could not be loaded. Reload the window to try again.', 'error');
      // Screen readers continue at the heading of the new page.
      else if (!isFirst) requestAnimationFrame(focusHeading);
    });
  }

  protected override render(): TemplateResult {
    return html`
      <a class="skip" href="#content" @click=${this._skip}>Skip to content</a>
      <hone-header></hone-header>
      ${openBanner()}
      <hone-away-banner></hone-away-banner>
      <hone-database-notice></hone-database-notice>
      <main id="content" tabindex="-1">${this._page()}</main>
      <div class="off-screen" aria-live="polite">${this._said}</div>
      <hone-toasts></hone-toasts>
      <hone-drop-overlay></hone-drop-overlay>
      ${isSignInNeeded() ? html`<hone-sign-in></hone-sign-in>` : nothing}
    `;
  }

  private _skip(event: Event): void {
    event.preventDefault();
    this.querySelector<HTMLElement>('main')?.focus();
  }

  private _page(): TemplateResult {
    const [first, second, third] = router.value.segments;
    if (first === undefined) return html`<hone-dashboard></hone-dashboard>`;
    if (first === 'training') {
      if (second === undefined) return html`<hone-training></hone-training>`;
      if (second === 'runs') return html`<hone-history></hone-history>`;
      if (second === 'compare') return html`<hone-compare></hone-compare>`;
      if (second === 'sweeps') {
        if (third === undefined) return html`<hone-sweeps></hone-sweeps>`;
        return third === 'new'
          ? html`<hone-new-sweep></hone-new-sweep>`
          : html`<hone-sweep .sweepId=${third}></hone-sweep>`;
      }
      return html`<hone-run .jobId=${second}></hone-run>`;
    }
    if (first === 'datasets') {
      if (second === 'openai') return html`<hone-move-openai></hone-move-openai>`;
      if (second === 'documents') return html`<hone-documents></hone-documents>`;
      if (second === 'import' && third !== undefined)
        return html`<hone-import .importId=${third}></hone-import>`;
      return second === undefined
        ? html`<hone-datasets></hone-datasets>`
        : html`<hone-dataset name=${second}></hone-dataset>`;
    }
    if (first === 'playground') {
      return html`<hone-playground .modelId=${second ?? ''} ?compares=${third === 'compare'}></hone-playground>`;
    }
    if (first === 'traffic' && second === undefined) return html`<hone-traffic></hone-traffic>`;
    if (first === 'models') {
      if (second === 'base') return html`<hone-base-models></hone-base-models>`;
      if (second === 'aliases') return html`<hone-aliases></hone-aliases>`;
      if (second === 'graders') return html`<hone-graders></hone-graders>`;
      if (second === 'evals' && third !== undefined) return html`<hone-eval .evalId=${third}></hone-eval>`;
      if (second === 'evaluations') {
        return third === 'results'
          ? html`<hone-evaluation-results></hone-evaluation-results>`
          : html`<hone-evaluations></hone-evaluations>`;
      }
      return second === undefined
        ? html`<hone-models></hone-models>`
        : html`<hone-model .modelId=${second}></hone-model>`;
    }
    if (first === 'settings' && second === undefined) return html`<hone-settings></hone-settings>`;
    if (first === 'help' && second === undefined) return html`<hone-help></hone-help>`;
    if (first === 'access' && second === undefined) return html`<hone-access></hone-access>`;
    return html`<div class="page">
      <h1>Page not found</h1>
      <section class="card">
        ${empty('This address does not exist', html`<a href="/">Go to the dashboard</a>`)}
      </section>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-app': App;
  }
}

/** Warns where everyone who reaches this service can use it. */
function openBanner(): TemplateResult | typeof nothing {
  const { value } = session.value;
  if (value?.access !== 'open' || !value.reachable) return nothing;
  return html`<section class="banner" aria-label="Warning">
    <p><b>Access is open.</b> Everyone who reaches this address can use Hone without a key: read its data, start trainings and
      delete models. <a href="/access">Manage access</a></p>
  </section>`;
}

const datasetPages: Readonly<Record<string, string>> = {
  '': 'Datasets',
  documents: 'Datasets from documents',
  import: 'Import',
  openai: 'Import from OpenAI',
};

function pageTitle([first, second, third]: readonly string[]): string {
  if (first === undefined) return 'Dashboard';
  if (first === 'training') {
    if (second === undefined) return 'New training';
    if (second === 'sweeps') return third === 'new' ? 'New sweep' : (third ?? 'Sweeps');
    return second === 'runs' ? 'Runs' : second === 'compare' ? 'Compare runs' : second;
  }
  if (first === 'access') return 'Access';
  if (first === 'help') return 'Help';
  if (first === 'traffic') return 'Traffic';
  if (first === 'settings') return 'Settings';
  if (first === 'datasets') return datasetPages[second ?? ''] ?? second ?? '';
  if (first === 'models' && second === 'base') return 'Base models';
  if (first === 'models' && second === 'aliases') return 'Aliases';
  if (first === 'models' && second === 'graders') return 'Graders';
  if (first === 'models' && second === 'evals') return 'Eval';
  if (first === 'models' && second === 'evaluations') return third === undefined ? 'Evaluations' : 'Results';
  if (first === 'playground' && third === 'compare') return 'Compare models';
  return first === 'playground' ? 'Playground' : first === 'models' ? 'Models' : 'Page not found';
}
