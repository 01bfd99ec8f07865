import { html, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { Action } from '../../../state/action.ts';
import { toasts } from '../../../state/app.ts';
import { deletion } from '../../../views/deletion.ts';
import '../../../elements/dialog.ts';

/** The dialog that deletes kept answers. Fires `removed` with the IDs of those that are gone, and `dismiss` when closed. */
@customElement('hone-delete-answers')
export class DeleteAnswers extends LightElement {
  @property({ attribute: false }) ids: readonly string[] = [];
  private readonly _action = new Action(this);

  private async _remove(): Promise<void> {
    const removed: string[] = [];
    await this._action.run(async () => {
      for (const id of this.ids) {
        await service.removeAnswer(id);
        removed.push(id);
      }
    });
    this.dispatchEvent(new CustomEvent<readonly string[]>('removed', { detail: removed }));
    if (this._action.error !== null) return;
    this.querySelector('dialog')?.close();
    const { length } = removed;
    toasts.show(length === 1 ? 'The answer was deleted' : `${length} answers were deleted`);
  }

  protected override render(): TemplateResult {
    const { length } = this.ids;
    const noun = length === 1 ? 'answer' : `${length} answers`;
    return html`<hone-dialog
      heading="Delete ${length === 1 ? 'this answer' : noun}?"
      .content=${deletion({
        noun,
        consequence:
          'What was asked, the answer, and what was said of it are overwritten on the disk. This cannot be undone. Rows of datasets stay.',
        busy: this._action.busy,
        error: this._action.error,
        remove: () => void this._remove(),
        close: () => this.querySelector('dialog')?.close(),
      })}
    ></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-delete-answers': DeleteAnswers;
  }
}
