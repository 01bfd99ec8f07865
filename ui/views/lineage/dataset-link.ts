import { html, type TemplateResult } from 'lit';
import { nameText } from '../../elements/parts.ts';
import { datasets } from '../../state/app.ts';
import { datasetPath } from '../../state/router.ts';

/**
 * The name of a dataset, as a link as long as it is there, under this name or another; the page that shows it watches
 * `datasets`.
 */
export const datasetLink = (name: string): TemplateResult =>
  datasets.value.value?.some(
    ({ filename, former_names: formerly }) => filename === name || formerly.includes(name),
  )
    ? html`<a href=${datasetPath(name)}>${nameText(name)}</a>`
    : nameText(name);
