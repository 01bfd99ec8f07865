import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../api/service.ts';
import type { AnswerFigures } from '../api/types.ts';
import { Every } from '../elements/every.ts';
import { formatCount, formatMemory, formatNumber } from '../elements/format.ts';
import { LightElement } from '../elements/light-element.ts';
import { figure, nameText } from '../elements/parts.ts';

const refreshMs = 5_000;

/** What models answer: requests, queue, speed, tokens that were kept, and memory. Nothing before the first request. */
@customElement('hone-answering')
export class Answering extends LightElement {
  @state() private _figures: AnswerFigures | null = null;

  constructor() {
    super();
    new Every(this, refreshMs, () => this._look());
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._look();
  }

  private _look(): void {
    service.answerFigures().then(
      (figures) => {
        this._figures = figures;
      },
      // The page says elsewhere that the service is not reachable.
      () => undefined,
    );
  }

  protected override render(): TemplateResult | typeof nothing {
    const figures = this._figures;
    if (figures === null || figures.ended + figures.running + figures.waiting === 0) return nothing;
    const { failed, prompt_tokens: prompt, cached_tokens: cached, generated_tokens: generated } = figures;
    const share = (part: number, whole: number) => `${Math.round((100 * part) / Math.max(1, whole))}%`;
    return html`<section class="card" aria-labelledby="answering">
      <h2 id="answering">Answering</h2>
      <dl class="facts">
        ${figure('Running', formatCount(figures.running))} ${figure('Waiting', formatCount(figures.waiting))}
        ${figure('Answered', formatCount(figures.ended - failed), failed === 0 ? null : `${formatCount(failed)} failed`)}
        ${figure('Speed', figures.tokens_per_second === null ? '–' : `${formatNumber(figures.tokens_per_second, 3)} tokens/s`)}
        ${figure('First token', figures.first_token_ms === null ? '–' : milliseconds(figures.first_token_ms))}
        ${figure('Prompt tokens reused', share(cached, prompt))}
        ${figure('Draft tokens accepted', share(figures.guessed_tokens, generated))}
      </dl>
      ${
        figures.processes.length === 0
          ? nothing
          : html`<h3>Models in memory</h3>
              <dl class="facts">
                ${figures.processes.map(
                  ({ models, memory_bytes: bytes }) => html`<div class="figure">
                    <dt>${models.map((name, index) => html`${index === 0 ? nothing : ', '}${nameText(name)}`)}</dt>
                    <dd>${bytes === null ? 'loading' : formatMemory(bytes)}</dd>
                  </div>`,
                )}
              </dl>`
      }
      <p class="note">Since the start of Hone; speed and first token of the latest 20 answers.</p>
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-answering': Answering;
  }
}

function milliseconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${formatNumber(ms / 1000, 3)} s`;
}
