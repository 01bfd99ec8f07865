import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { LightElement } from '../light-element.ts';
import { noteOf } from './notes.ts';

let nextId = 1;
/** Between the button and its note, and around the note, in pixels. */
const gap = 8;

/** A button beside a term that opens what the term means. Escape and a click elsewhere close it. */
@customElement('hone-info')
export class Info extends LightElement {
  @property() term = '';
  @property() note = '';
  /** Only an open note is in the page, where searches would find it. */
  @state() private _open = false;
  private readonly _id = `info-${nextId++}`;
  private _shown: AbortController | null = null;

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._shown?.abort();
  }

  private _toggling({ newState }: ToggleEvent): void {
    this._open = newState === 'open';
  }

  /** Puts the open note below its button, or above where there is more room; scrolling closes it. */
  private _toggled(event: Event): void {
    this._shown?.abort();
    if (!this._open) return;
    const note = event.currentTarget as HTMLElement;
    const button = this.querySelector('button') as HTMLElement;
    const { left, top, bottom } = button.getBoundingClientRect();
    const { width, height } = note.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const isAbove = bottom + gap + height > clientHeight && top > clientHeight - bottom;
    note.style.left = `${Math.max(gap, Math.min(left, clientWidth - width - gap))}px`;
    note.style.top = `${isAbove ? top - height - gap : bottom + gap}px`;
    this._shown = new AbortController();
    // The event of an earlier scroll may come late, when the button stands where it stood.
    const scrolled = () => Math.abs(button.getBoundingClientRect().top - top) > 1 && note.hidePopover();
    addEventListener('scroll', scrolled, { capture: true, passive: true, signal: this._shown.signal });
  }

  protected override render(): TemplateResult {
    return html`<button type="button" class="info" popovertarget=${this._id} aria-label="About ${this.term}"></button>
      <span id=${this._id} class="info-note" popover role="note" @beforetoggle=${this._toggling} @toggle=${this._toggled}
        >${this._open ? this.note : nothing}</span
      >`;
  }
}

/** What a figure or a type of file means, behind a button; nothing where its name says all. */
export function info(term: string): TemplateResult | typeof nothing {
  const note = noteOf(term);
  return note === undefined ? nothing : html`<hone-info .term=${term} .note=${note}></hone-info>`;
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-info': Info;
  }
}
