import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { HubDataset } from '../../api/types.ts';
import { formatBytes } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { router } from '../../state/app.ts';
import { importPath } from '../../state/router.ts';

const repositoryName = /^[\w.-]+\/[\w.-]+$/;

/** The service's own message tells what else to do. */
const tokenHint = ({ status }: ServiceError) =>
  status === 403
    ? 'A private or gated dataset needs a hub token with access to it: set one under Settings, and come back.'
    : undefined;

/** Imports a dataset of the hub: its name, then its configuration and split. */
@customElement('hone-hub-form')
export class HubForm extends LightElement {
  @state() private _repo = '';
  @state() private _found: HubDataset | null = null;
  private _asked = '';
  @state() private _config = '';
  @state() private _split = '';
  private readonly _action = new Action(this);

  private get _splits(): HubDataset['configs'][number]['splits'] {
    return this._found?.configs.find(({ name }) => name === this._config)?.splits ?? [];
  }

  /** Whether the named dataset is the one that was found; its own name may be written otherwise. */
  private get _isFound(): boolean {
    return this._found !== null && this._asked === this._repo;
  }

  private _choose(config: string): void {
    this._config = config;
    this._split = (this._splits.find(({ name }) => name === 'train') ?? this._splits[0])?.name ?? '';
  }

  private async _submit(event: Event): Promise<void> {
    event.preventDefault();
    if (this._action.busy || !repositoryName.test(this._repo)) return;
    await this._action.run(async () => {
      if (this._isFound) {
        const hub = { repo: this._repo, config: this._config, split: this._split };
        router.go(importPath((await service.addImport({ hub })).id));
      } else {
        const repo = this._repo;
        this._found = await service.hubDataset(repo);
        this._asked = repo;
        this._choose(this._found.configs[0]?.name ?? '');
      }
    });
  }

  protected override render(): TemplateResult {
    const isFound = this._isFound;
    return html`<form class="import-form" @submit=${this._submit}>
      <div class="fields">
        <div class="field">
          <label for="hub-repo">Dataset of the hub</label>
          <input
            id="hub-repo"
            type="text"
            class="mono"
            placeholder="owner/name"
            autocomplete="off"
            spellcheck="false"
            .value=${this._repo}
            @input=${(event: Event) => {
              this._repo = (event.target as HTMLInputElement).value.trim();
            }}
          />
        </div>
        ${
          isFound
            ? html`${this._select('hub-config', 'Configuration', this._found?.configs.map(({ name }) => [name, name] as const) ?? [], this._config, (name) => this._choose(name))}
              ${this._select(
                'hub-split',
                'Split',
                this._splits.map(
                  ({ name, size_bytes }) => [name, `${name} (${formatBytes(size_bytes)})`] as const,
                ),
                this._split,
                (name) => {
                  this._split = name;
                },
              )}`
            : nothing
        }
      </div>
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not import from the hub', this._action.error, tokenHint(this._action.error))}
      <div class="row">
        <button type="submit" ?disabled=${!repositoryName.test(this._repo)}>
          ${this._action.busy ? 'Asking the hub…' : isFound ? 'Download and import' : 'Find'}
        </button>
      </div>
    </form>`;
  }

  private _select(
    id: string,
    label: string,
    options: readonly (readonly [name: string, text: string])[],
    chosen: string,
    choose: (name: string) => void,
  ): TemplateResult {
    return html`<div class="field">
      <label for=${id}>${label}</label>
      <select id=${id} @change=${(event: Event) => choose((event.target as HTMLSelectElement).value)}>
        ${options.map(([name, text]) => html`<option value=${name} ?selected=${name === chosen}>${text}</option>`)}
      </select>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-hub-form': HubForm;
  }
}
