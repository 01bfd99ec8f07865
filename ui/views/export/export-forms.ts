import { html, nothing, type TemplateResult } from 'lit';
import { type ExportForm, exportForms } from '../../../src/contract/models/export-forms.ts';
import type { ModelExport } from '../../api/types.ts';
import { formatBytes } from '../../elements/format.ts';
import { info } from '../../elements/info/info.ts';

/** The forms besides GGUF types, as the page calls them. */
const labels: Readonly<Record<ExportForm, string>> = {
  merged: 'Merged weights (safetensors)',
  adapter_gguf: 'Adapter as GGUF',
};

/** As part of a sentence. */
export const formWords: Readonly<Record<ExportForm, string>> = {
  merged: 'merged weights',
  adapter_gguf: 'adapter GGUF',
};

/** Checkboxes for the forms; why one cannot be made is said below it. */
export function formFields(
  found: ModelExport,
  chosen: readonly ExportForm[],
  isBusy: boolean,
  toggle: (form: ExportForm) => void,
): TemplateResult {
  return html`<fieldset class="plain">
    <legend>Other forms</legend>
    ${exportForms.map((form) => {
      const { obstacle } = found[form];
      const id = `export-${form}-obstacle`;
      return html`<div>
        <label class="check"
          ><input
            type="checkbox"
            .checked=${chosen.includes(form)}
            ?disabled=${isBusy || obstacle !== null}
            aria-describedby=${obstacle === null ? nothing : id}
            @change=${() => toggle(form)}
          />${labels[form]}</label
        >${info(labels[form])}
        ${obstacle === null ? nothing : html`<p class="note wrap" id=${id}><bdi>${obstacle}.</bdi></p>`}
      </div>`;
    })}
  </fieldset>`;
}

/** The merged weights that there are, and forms that could not be made. The adapter's file is among the model's files. */
export function formLines(found: ModelExport): TemplateResult[] {
  return exportForms.flatMap((form) => {
    const { state, reason, bytes } = found[form];
    if (state === null || (state === 'done' && form !== 'merged')) return [];
    return [
      html`<li class="file">
        <span class="list-main">
          <span>${labels[form]}</span
          ><small class="muted wrap"
            >${state === 'done' ? 'verified' : html`failed${reason === null ? nothing : html`: <bdi>${reason}</bdi>`}`}</small
          >
        </span>
        <span class="tabular">${bytes === null ? '' : formatBytes(bytes)}</span>
      </li>`,
    ];
  });
}
