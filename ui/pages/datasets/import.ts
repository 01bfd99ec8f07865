import { html, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { LightElement } from '../../elements/light-element.ts';
import { router } from '../../state/app.ts';
import { draft } from '../../state/drafts/draft.ts';
import '../../views/datasets/import-view.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';

/** The page of an import. */
@customElement('hone-import')
export class ImportPage extends LightElement {
  @property() importId = '';

  protected override render(): TemplateResult {
    return html`<div class="page">
      ${sectionTabs('Training', '/datasets', true)}
      <hone-import-view
        .importId=${this.importId}
        @chosen=${({ detail: dataset }: CustomEvent<string>) => {
          draft.change({ dataset });
          router.go('/training');
        }}
        @removed=${() => router.go('/datasets', { replace: true })}
      ></hone-import-view>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-import': ImportPage;
  }
}
