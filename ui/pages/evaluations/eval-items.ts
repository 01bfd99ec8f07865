import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import { formatNumber } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';

type Item = Awaited<ReturnType<typeof service.evalItems>>['data'][number];

const verdicts = { pass: 'Passed', fail: 'Failed', error: 'Error' } as const;

/** The rows of a run of an eval, with their answers and results, a page after another. */
@customElement('hone-eval-items')
export class EvalItems extends LightElement {
  @property({ attribute: false }) evalId = '';
  @property({ attribute: false }) runId = '';
  @state() private _items: readonly Item[] | null = null;
  @state() private _hasMore = false;
  private readonly _action = new Action(this);

  override connectedCallback(): void {
    super.connectedCallback();
    void this._more();
  }

  private async _more(): Promise<void> {
    await this._action.run(async () => {
      const known = this._items ?? [];
      const page = await service.evalItems(this.evalId, this.runId, known.at(-1)?.id);
      this._items = [...known, ...page.data];
      this._hasMore = page.has_more;
    });
  }

  protected override render(): TemplateResult {
    const { error, busy } = this._action;
    const items = this._items;
    if (items === null)
      return error === null ? skeleton(4) : serviceErrorPanel('Could not load the rows', error);
    if (items.length === 0)
      return empty('No rows are scored yet', 'They appear once the run has scored them.');
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of scored rows">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col" class="right">Row</th>
              <th scope="col">Item and answer</th>
              <th scope="col">Results</th>
            </tr>
          </thead>
          <tbody>
            ${items.map(
              (item) => html`<tr>
                <th scope="row" class="right">${item.datasource_item_id + 1}</th>
                <td class="two-lines">
                  <bdi class="wrap">${answerOf(item)}</bdi>
                  <small class="muted wrap"><bdi>${JSON.stringify(item.datasource_item)}</bdi></small>
                </td>
                <td class="two-lines">
                  ${verdicts[item.status]}
                  ${item.results.map(
                    ({ name, score, explanation, error: wrong }) => html`<small class="wrap"
                      >${name}: ${formatNumber(score, 3)}${reason(wrong ?? explanation)}</small
                    >`,
                  )}
                </td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      ${
        this._hasMore
          ? html`<button type="button" ?disabled=${busy} @click=${() => this._more()}>Show more rows</button>`
          : nothing
      }
      ${error === null ? nothing : serviceErrorPanel('Could not load more rows', error)}`;
  }
}

/** What was answered: a text, calls, or why there is nothing. */
function answerOf({ sample }: Item): string {
  const texts = sample.output.map(
    ({ content, tool_calls: calls }) => content || (calls && JSON.stringify(calls)),
  );
  return texts.filter(Boolean).join('\n') || (sample.error?.message ?? 'No answer');
}

const reason = (text: unknown) => (typeof text === 'string' && text !== '' ? `, ${text}` : '');

declare global {
  interface HTMLElementTagNameMap {
    'hone-eval-items': EvalItems;
  }
}
