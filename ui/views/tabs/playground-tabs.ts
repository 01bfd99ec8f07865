import { html, nothing, type TemplateResult } from 'lit';
import { playgroundPath, trafficPath } from '../../state/router.ts';

type Tab = 'Chat' | 'Compare' | 'Traffic';

/** Navigation between the playground and the kept answers. @param modelId the model that is asked; empty for the last one. */
export function playgroundTabs(here: Tab, modelId = ''): TemplateResult {
  const tab = (name: Tab, path: string) =>
    html`<a href=${path} aria-current=${name === here ? 'page' : nothing}>${name}</a>`;
  const chat = modelId === '' ? '/playground' : playgroundPath(modelId);
  return html`<nav class="sub-tabs" aria-label="Playground">
    ${tab('Chat', chat)} ${modelId === '' ? nothing : tab('Compare', playgroundPath(modelId, true))} ${tab('Traffic', trafficPath())}
  </nav>`;
}
