import { html, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Child } from '../child.ts';
import '../copy.ts';
import { LightElement } from '../light-element.ts';
import { type Markdown, type MarkdownElement, markdownReader, type ReadMarkdown } from './markdown-tree.ts';

/** A longer text is shown as it is: laying it out would hold up the page. */
const longest = 100_000;

/** A text in Markdown, as elements: nothing of it is parsed as HTML. Until the reader is loaded, and without it, as it is. */
@customElement('hone-markdown')
export class MarkdownView extends LightElement {
  @property({ attribute: false }) text = '';
  @state() private _read: ReadMarkdown | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    if (this._read !== null) return;
    markdownReader().then(
      (read) => {
        this._read = read;
      },
      // The text is there, as it is.
      () => undefined,
    );
  }

  protected override render(): TemplateResult {
    return this._read === null || this.text.length > longest
      ? html`<p class="wrap as-it-is"><bdi>${this.text}</bdi></p>`
      : html`<div class="markdown wrap" dir="auto">${this._read(this.text).map(view)}</div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-markdown': MarkdownView;
  }
}

const views: Readonly<Record<string, (content: Child, element: MarkdownElement) => TemplateResult>> = {
  p: (content) => html`<p>${content}</p>`,
  strong: (content) => html`<strong>${content}</strong>`,
  em: (content) => html`<em>${content}</em>`,
  s: (content) => html`<s>${content}</s>`,
  code: (content) => html`<code>${content}</code>`,
  blockquote: (content) => html`<blockquote>${content}</blockquote>`,
  ul: (content) => html`<ul>${content}</ul>`,
  ol: (content, { start = 1 }) => html`<ol start=${start}>${content}</ol>`,
  li: (content) => html`<li>${content}</li>`,
  br: () => html`<br />`,
  hr: () => html`<hr />`,
  a: (content, { href = '' }) =>
    html`<a href=${href} target="_blank" rel="noreferrer nofollow">${content}</a>`,
  table: (content) =>
    html`<div class="scroll-box" tabindex="0" role="group" aria-label="Table of the answer"><table>${content}</table></div>`,
  thead: (content) => html`<thead>${content}</thead>`,
  tbody: (content) => html`<tbody>${content}</tbody>`,
  tr: (content) => html`<tr>${content}</tr>`,
  th: (content) => html`<th scope="col">${content}</th>`,
  td: (content) => html`<td>${content}</td>`,
  pre: (content, { children, language = '' }) => html`<figure class="code">
    <figcaption><span class="hint">${language}</span><hone-copy .text=${children.join('')}></hone-copy></figcaption>
    <pre tabindex="0" dir="ltr"><code>${content}</code></pre>
  </figure>`,
};

/** A heading of an answer is none of the page's outline. */
const heading = (content: Child) => html`<p class="heading"><strong>${content}</strong></p>`;

function view(part: Markdown): Child {
  if (typeof part === 'string') return part;
  const content = part.children.map(view);
  const draw = views[part.tag] ?? (/^h\d$/.test(part.tag) ? heading : views.p);
  return draw?.(content, part) ?? content;
}
