import { html, type TemplateResult } from 'lit';
import { closeMenu, menu } from '../../elements/menu.ts';

const choices = [
  { name: 'New training', path: '/training' },
  { name: 'New sweep', path: '/training/sweeps/new' },
  { name: 'Import data', path: '/datasets' },
  { name: 'Import from OpenAI', path: '/datasets/openai' },
] as const;

/** What can be started from every page. */
export const newMenu = (): TemplateResult =>
  menu(
    'New',
    html`<div class="menu-body">
      ${choices.map(({ name, path }) => html`<a href=${path} @click=${closeMenu}>${name}</a>`)}
    </div>`,
  );
