import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import type { KeptFacets, KeptSummary } from '../../../api/types.ts';
import { Every } from '../../../elements/every.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { empty, serviceErrorPanel, skeleton } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { router, toasts } from '../../../state/app.ts';
import { readStored } from '../../../state/local-storage.ts';
import { asServiceError, Remote, Reread } from '../../../state/remote.ts';
import { trafficPath } from '../../../state/router.ts';
import { session } from '../../../state/session.ts';
import { Watch } from '../../../state/store.ts';
import { ChosenEntries } from '../../../views/lists/chosen-entries.ts';
import { MoreRows } from '../../../views/lists/more-rows.ts';
import { loopSteps } from '../../../views/tabs/loop-steps.ts';
import { playgroundTabs } from '../../../views/tabs/playground-tabs.ts';
import { answerCard } from './answer-card.ts';
import { answerList } from './answer-list.ts';
import { type AnswerFilter, AnswerSearch, filterOf, sentFilter } from './answer-search.ts';
import { answerTools } from './answer-tools.ts';
import { correctionEditor } from './correction-editor.ts';
import { newerAnswers } from './newer-answers.ts';
import { OpenAnswer } from './open-answer.ts';
import { howToRecord, retention } from './recording.ts';
import { selectedAnswers } from './selected-answers.ts';
import { pressed } from './traffic-keys.ts';
import '../../../elements/copy.ts';
import './delete-answers.ts';
import './rows/rows-dialog.ts';

/** How often it looks for answers that were kept since. */
const lookMs = 5_000;

/**
 * The answers that clients asked to keep: found, read, rated, corrected, deleted, and made rows of. The address has the
 * search, the filters and the answer that is shown.
 */
@customElement('hone-traffic')
export class Traffic extends LightElement {
  private readonly _facets = new Remote<KeptFacets>(service.keptFacets);
  private readonly _search = new AnswerSearch();
  private readonly _open = new OpenAnswer();
  private readonly _chosen = new ChosenEntries<KeptSummary>(this, ({ id }) => id);
  private readonly _more = new MoreRows(this, () => void this._search.more());
  private readonly _saving = new Action(this);
  /** The correction that is being written. */
  @state() private _edited: { readonly id: string; readonly text: string } | null = null;
  /** The answers that are to be deleted. */
  @state() private _removing: readonly string[] = [];
  /** What rows are made of: all that match, or the selected ones. */
  @state() private _rowsOf: 'all' | 'chosen' | null = null;
  private _connected = new AbortController();

  constructor() {
    super();
    new Watch(this, router, session, this._search, this._open);
    new Reread(this, this._facets);
    new Every(this, lookMs, () => this._look());
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._connected = new AbortController();
    document.addEventListener('keydown', (event) => this._pressed(event), { signal: this._connected.signal });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._connected.abort();
    this._search.stop();
  }

  protected override willUpdate(): void {
    if (!this.isConnected || router.value.segments[0] !== 'traffic') return;
    this._search.find(this._filter);
    this._open.show(this._current);
    this._chosen.renew(this._answers);
    if (this._edited !== null && this._edited.id !== this._current) this._edited = null;
  }

  private get _filter(): AnswerFilter {
    return filterOf(router.value.query);
  }

  /** The ID of the answer that is shown. */
  private get _current(): string {
    return router.value.query.get('answer') ?? '';
  }

  private get _answers(): readonly KeptSummary[] {
    return this._search.value.answers ?? [];
  }

  /** The address with one part of it changed. */
  private _with(name: 'q' | 'model' | 'rating' | 'answer', value: string): string {
    return trafficPath({ ...Object.fromEntries(router.value.query), [name]: value });
  }

  private _pressed(event: KeyboardEvent): void {
    const current = this._current;
    const entry = this._answers.find(({ id }) => id === current);
    pressed(event, current !== '', {
      move: (by) => void this._move(by),
      rate: (rating) => void this._rate(current, rating),
      correct: () => void this._correct(),
      choose: () => entry && this._chosen.choose([entry], !this._chosen.has(entry)),
    });
  }

  /** Shows the answer after or before the one that is shown. */
  private async _move(by: -1 | 1): Promise<void> {
    const at = this._answers.findIndex(({ id }) => id === this._current);
    const next = at < 0 ? 0 : at + by;
    if (next === this._answers.length) await this._search.more();
    const found = this._answers[next];
    if (found !== undefined) await this._show(found.id);
  }

  private async _show(id: string): Promise<void> {
    router.go(this._with('answer', id), { replace: true });
    scrollTo(0, 0);
    await this.updateComplete;
    this._focus();
  }

  /** Puts the keyboard on the answer that is shown, in the list. */
  private _focus(): void {
    const link = this.querySelector<HTMLElement>('.kept-list a[aria-current="true"]');
    link?.focus({ preventScroll: true });
    link?.closest('li')?.scrollIntoView({ block: 'nearest' });
  }

  /** Rates an answer, or takes its rating back. */
  private async _rate(id: string, rating: 'up' | 'down'): Promise<void> {
    const known = this._answers.find((one) => one.id === id)?.rating ?? this._open.ratingOf(id);
    try {
      this._search.judged(id, await this._open.judge(id, { rating: known === rating ? null : rating }));
    } catch (error) {
      toasts.show(asServiceError(error).message, 'error');
    }
  }

  private async _correct(): Promise<void> {
    const { id, answer } = this._open.value;
    if (answer?.id !== id || this._edited !== null) return;
    this._saving.clear();
    this._edited = { id, text: answer.correction ?? answer.answer.content.trim() };
    await this.updateComplete;
    const field = this.querySelector<HTMLTextAreaElement>('#correction');
    field?.focus();
    field?.scrollIntoView({ block: 'nearest' });
  }

  private async _leave(): Promise<void> {
    this._edited = null;
    await this.updateComplete;
    this._focus();
  }

  /** Saves a correction, which says that the answer was bad, or takes it back. */
  private async _save(id: string, correction: string | null): Promise<void> {
    await this._saving.run(async () => {
      const said = correction === null ? { correction } : { correction, rating: 'down' as const };
      this._search.judged(id, await this._open.judge(id, said));
      if (this._edited?.id === id) await this._leave();
    });
  }

  private _startRows(of: 'all' | 'chosen'): void {
    this._rowsOf = of;
  }

  private _startRemoval(ids: readonly string[]): void {
    this._removing = ids;
  }

  /** Shows the answer after those that were deleted. */
  private async _removed(ids: readonly string[]): Promise<void> {
    const isLeft = ({ id }: KeptSummary) => !ids.includes(id);
    if (ids.includes(this._current)) {
      const at = this._answers.findIndex(({ id }) => id === this._current);
      const next = this._answers.slice(at + 1).find(isLeft) ?? this._answers.slice(0, at).findLast(isLeft);
      router.go(this._with('answer', next?.id ?? ''), { replace: true });
    }
    this._chosen.keep(this._chosen.ids.filter((id) => !ids.includes(id)));
    this._removing = this._removing.filter((id) => !ids.includes(id));
    this._search.drop(ids);
    void this._facets.refresh();
    await this.updateComplete;
    this._focus();
  }

  protected override render(): TemplateResult {
    const { value: facets } = this._facets.value;
    return html`<div class="page">
      ${playgroundTabs('Traffic', readStored('playground-model', ''))}
      <header class="page-head">
        <div>
          <h1>Traffic</h1>
          ${loopSteps('Traffic')}
          ${facets === null ? html`<p class="muted">Answers that clients asked to keep.</p>` : retention(facets)}
        </div>
        ${
          this._answers.length === 0
            ? nothing
            : html`<div class="actions">
                <button type="button" class="primary" @click=${() => this._startRows('all')}>Make rows…</button>
              </div>`
        }
      </header>
      ${this._body()} ${this._dialogs()}
    </div>`;
  }

  private _body(): TemplateResult {
    const { answers, error } = this._search.value;
    const { value: facets } = this._facets.value;
    if (answers === null || facets === null) {
      const fault = error ?? this._facets.value.error;
      return html`<section class="card tall" aria-label="Kept answers">
        ${fault === null ? skeleton(8) : serviceErrorPanel('Could not load the answers', fault)}
      </section>`;
    }
    const model = facets.models[0]?.value ?? 'MODEL';
    if (facets.answers === 0 && answers.length === 0) {
      return html`<section class="card" aria-label="Kept answers">
        ${empty('No answers are kept yet', 'Rate and correct what your models answer, and train on it.')}
        ${howToRecord(model)}
      </section>`;
    }
    return html`<div class="traffic" data-open=${this._current === '' ? 'no' : 'yes'}>
        <section class="card traffic-list" aria-label="Kept answers">${this._list()}</section>
        <section class="card traffic-answer" aria-label="Answer">${this._answer()}</section>
      </div>
      <details class="fold bare">
        <summary>How answers are kept</summary>
        <div class="column">${howToRecord(model)}</div>
      </details>`;
  }

  private _list(): TemplateResult {
    const { hasMore, newer, isReading, error } = this._search.value;
    return html`${answerTools({
      filter: this._filter,
      typed: router.value.query.get('q') ?? '',
      models: this._facets.value.value?.models,
      type: (text) => router.go(this._with('q', text), { typed: true }),
      choose: (name, value) => router.go(this._with(name, value), { replace: true }),
      refresh: () => this._refresh(),
    })}
      ${selectedAnswers({
        ids: this._chosen.ids,
        makeRows: () => this._startRows('chosen'),
        remove: (ids) => this._startRemoval(ids),
        clear: () => this._chosen.keep([]),
      })}
      ${newerAnswers(newer, () => this._refresh())} ${error === null ? nothing : serviceErrorPanel('Could not load the answers', error)}
      ${
        this._answers.length === 0
          ? empty('No matching answers', 'Try a shorter search, or fewer filters.')
          : answerList({
              answers: this._answers,
              current: this._current,
              chosen: this._chosen,
              pathOf: (id) => this._with('answer', id),
              end: this._more.end(hasMore, isReading),
            })
      }`;
  }

  /** Shows the first answers by themselves, and says how many came since to those that are shown. */
  private async _look(): Promise<void> {
    const { value } = this._facets.value;
    await this._search.look();
    if (value?.answers === 0 && this._answers.length > 0) await this._facets.refresh();
  }

  private _refresh(): void {
    void this._search.refresh();
    void this._facets.refresh();
  }

  private _answer(): TemplateResult {
    const { id, answer, error } = this._open.value;
    const back = html`<a class="tool traffic-back" href=${this._with('answer', '')}>‹ All answers</a>`;
    if (error !== null) {
      const gone = empty('Answer not found', 'It was deleted, or it was older than answers are kept.');
      return html`${back} ${error.status === 404 ? gone : serviceErrorPanel('Could not load the answer', error)}`;
    }
    if (id === '')
      return empty('No answer is chosen', html`Choose one, or press <kbd>j</kbd>. All keys: <kbd>?</kbd>`);
    if (answer === null) return html`${back} ${skeleton(8)}`;
    return html`${back}
    ${answerCard(answer, {
      rate: (rating) => void this._rate(answer.id, rating),
      correct: () => void this._correct(),
      remove: () => this._startRemoval([answer.id]),
      editor: this._editor(answer.correction !== null),
    })}`;
  }

  private _editor(isCorrected: boolean): TemplateResult | null {
    const edited = this._edited;
    if (edited === null) return null;
    const { id, text } = edited;
    return correctionEditor({
      text,
      isBusy: this._saving.busy,
      error: this._saving.error,
      isCorrected,
      write: (now) => {
        this._edited = { id, text: now };
      },
      save: () => void this._save(id, text.trim()),
      takeBack: () => void this._save(id, null),
      leave: () => void this._leave(),
    });
  }

  private _dialogs(): TemplateResult | typeof nothing {
    if (this._rowsOf !== null) return this._rowsDialog(this._rowsOf);
    if (this._removing.length === 0) return nothing;
    return html`<hone-delete-answers
      .ids=${this._removing}
      @removed=${({ detail }: CustomEvent<readonly string[]>) => void this._removed(detail)}
      @dismiss=${() => {
        this._removing = [];
      }}
    ></hone-delete-answers>`;
  }

  private _rowsDialog(of: 'all' | 'chosen'): TemplateResult {
    const { ids } = this._chosen;
    const isFiltered = Object.values(this._filter).some((text) => text !== '');
    const count = ids.length === 1 ? 'the selected answer' : `the ${ids.length} selected answers`;
    return html`<hone-answer-rows
      .of=${of === 'chosen' ? { ids } : sentFilter(this._filter)}
      from=${of === 'chosen' ? count : isFiltered ? 'all answers that match the search and filters' : 'all kept answers'}
      @dismiss=${() => {
        this._rowsOf = null;
      }}
    ></hone-answer-rows>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-traffic': Traffic;
  }
}
