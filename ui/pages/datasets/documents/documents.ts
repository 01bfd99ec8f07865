import { html, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { LightElement } from '../../../elements/light-element.ts';
import { sectionTabs } from '../../../views/tabs/section-tabs.ts';
import './document-list.ts';
import './making-form.ts';
import './making-list.ts';

/** The page on which datasets are made from documents. */
@customElement('hone-documents')
export class DocumentsPage extends LightElement {
  protected override render(): TemplateResult {
    return html`<div class="page">
      ${sectionTabs('Training', '/datasets', true)}
      <header class="page-head"><h1>Datasets from documents</h1></header>
      <hone-document-list></hone-document-list>
      <hone-making-form></hone-making-form>
      <hone-making-list></hone-making-list>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-documents': DocumentsPage;
  }
}
