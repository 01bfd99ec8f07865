import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { Model } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { formatBytes, formatMoment } from '../../elements/format.ts';
import { empty, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { choices, models, router } from '../../state/app.ts';
import { strategyName, taskName } from '../../state/choice-words.ts';
import { Watch } from '../../state/store.ts';
import { tagList } from '../../views/identity.ts';

const pageRows = 100;

const columns = [
  {
    key: 'name',
    spare: false,
    name: 'Name',
    right: false,
    of: (model: Model) => model.display_name.toLowerCase(),
  },
  {
    key: 'base',
    spare: true,
    name: 'Base model',
    right: false,
    of: (model: Model) => model.base_model.toLowerCase(),
  },
  { key: 'task', spare: false, name: 'Task', right: false, of: (model: Model) => model.task },
  { key: 'strategy', spare: true, name: 'Strategy', right: false, of: (model: Model) => model.strategy },
  { key: 'size', spare: false, name: 'Size', right: true, of: (model: Model) => model.size_mb },
  { key: 'created', spare: true, name: 'Created', right: true, of: (model: Model) => model.created_at },
] as const;

/** What a model is found by. */
const wordsOf = ({ name, display_name, notes, tags, base_model, dataset, task, strategy }: Model) =>
  `${display_name} ${name} ${tags.join(' ')} ${base_model} ${dataset} ${task} ${strategy} ${notes}`.toLowerCase();

/** All models, with search and sorting. The URL holds both. */
@customElement('hone-models')
export class ModelList extends LitElement {
  @state() private _limit = pageRows;
  private readonly _watcher = new IntersectionObserver((entries) => {
    if (entries.some(({ isIntersecting }) => isIntersecting)) this._limit += pageRows;
  });

  constructor() {
    super();
    new Watch(this, choices, models, router);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._watcher.disconnect();
  }

  protected override updated(): void {
    this._watcher.disconnect();
    const more = this.querySelector('.more');
    if (more !== null) this._watcher.observe(more);
  }

  private get _words(): string {
    return router.value.query.get('q') ?? '';
  }

  private get _sort() {
    const asked = router.value.query.get('sort') ?? '-created';
    const key = asked.replace(/^-/, '');
    const column = columns.find((entry) => entry.key === key) ?? columns[5];
    return { column, down: asked.startsWith('-') };
  }

  private _go(words: string, sort: string): void {
    const query = new URLSearchParams();
    if (words !== '') query.set('q', words);
    if (sort !== '-created') query.set('sort', sort);
    const text = query.toString();
    router.go(`/models${text === '' ? '' : `?${text}`}`, { replace: true });
    this._limit = pageRows;
  }

  protected override render(): TemplateResult {
    const { value, error } = models.value;
    return html`<div class="page">
      <header class="page-head">
        <h1>Models</h1>
        <div class="actions"><a class="button primary" href="/training">New training</a></div>
      </header>
      ${
        value === null
          ? html`<section class="card tall">
              ${error === null ? skeleton(8) : serviceErrorPanel('Could not load the models', error)}
            </section>`
          : value.length === 0
            ? html`<section class="card">
                ${empty('No models yet', html`Models appear here when a <a href="/training">training</a> is complete.`)}
              </section>`
            : this._table(value)
      }
    </div>`;
  }

  private _table(all: readonly Model[]): TemplateResult {
    const { column, down } = this._sort;
    const words = this._words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all
      .filter((model) => words.every((word) => wordsOf(model).includes(word)))
      .sort((a, b) => {
        const [left, right] = [column.of(a), column.of(b)];
        return (left < right ? -1 : left > right ? 1 : 0) * (down ? -1 : 1);
      });
    const shown = found.slice(0, this._limit);
    return html`<section class="card" aria-label="Models">
      <div class="row between wrap-row">
        <input
          type="search"
          class="search"
          placeholder="Search models"
          aria-label="Search models"
          .value=${this._words}
          @input=${(event: Event) => this._go((event.target as HTMLInputElement).value, this._sortText)}
        />
        <span class="muted tabular" role="status">
          ${found.length.toLocaleString('en')} of ${all.length.toLocaleString('en')}
        </span>
      </div>
      <div class="scroll-box" tabindex="0" role="region" aria-label="Table of models">
        <table class="rows">
          <thead>
            <tr>
              ${columns.map(
                (entry) => html`<th
                  scope="col"
                  class="${entry.right ? 'right' : ''} ${entry.spare ? 'spare' : ''}"
                  aria-sort=${entry === column ? (down ? 'descending' : 'ascending') : nothing}
                >
                  <button
                    type="button"
                    class="sort"
                    @click=${() => this._go(this._words, entry === column && !down ? `-${entry.key}` : entry.key)}
                  >
                    ${entry.name}<span aria-hidden="true">${entry === column ? (down ? ' ↓' : ' ↑') : ''}</span>
                  </button>
                </th>`,
              )}
            </tr>
          </thead>
          <tbody>
            ${keyedRow(
              shown,
              ({ model_id }) => model_id,
              (model) => html`<tr>
                <th scope="row" class="named two-lines">
                  <a href="/models/${model.model_id}">${nameText(model.display_name)}</a>
                  ${model.display_name === model.name ? nothing : html`<small class="muted">${nameText(model.name)}</small>`}
                  ${tagList(model.tags)}
                </th>
                <td class="named spare">${nameText(model.base_model)}</td>
                <td>${taskName(model.task)}</td>
                <td class="spare">${model.strategy == null ? '–' : strategyName(model.strategy)}</td>
                <td class="right">${formatBytes(model.size_mb * 1e6)}</td>
                <td class="right spare">${formatMoment(model.created_at)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${found.length === 0 ? empty('No matching models', 'Try a shorter search.') : nothing}
      ${
        shown.length < found.length
          ? html`<p class="more">
              <button
                type="button"
                @click=${() => {
                  this._limit += pageRows;
                }}
              >
                Show more
              </button>
            </p>`
          : nothing
      }
    </section>`;
  }

  private get _sortText(): string {
    const { column, down } = this._sort;
    return `${down ? '-' : ''}${column.key}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-models': ModelList;
  }
}
