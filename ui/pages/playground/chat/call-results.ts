import { html, nothing, type ReactiveControllerHost, type TemplateResult } from 'lit';
import { checkField } from '../../../elements/fields.ts';
import type { Call, Result } from '../../../state/playground/exchange.ts';
import { callView } from '../call-view.ts';

/** A result as it is written. */
interface Draft {
  readonly text: string;
  /** Whether an empty text is meant. */
  readonly isEmpty: boolean;
}

/** The results of calls that are being written, by the exchange that they belong to. */
export class CallResults {
  readonly #host: ReactiveControllerHost;
  readonly #drafts = new Map<string, readonly Draft[]>();

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
  }

  /** The calls of an answer, each with the field for its result. */
  ofCalls(
    id: string,
    calls: readonly Call[],
    options: { readonly isBusy: boolean; readonly send: (results: readonly Result[]) => void },
  ): TemplateResult {
    const wanted = calls.map((call) => ({ call_id: call.id, name: call.name, content: '' }));
    const none = wanted.map(() => ({ text: '', isEmpty: false }));
    return this.#form(id, wanted, none, {
      ...options,
      calls,
      done: calls.length === 1 ? 'Send result' : 'Send results',
      hint: 'A prompt that is sent instead leaves the calls out.',
      leave: null,
    });
  }

  /** Results that were sent, to write them anew. */
  edited(
    id: string,
    results: readonly Result[],
    options: {
      readonly isBusy: boolean;
      readonly hint: string;
      readonly send: (results: readonly Result[]) => void;
      readonly leave: () => void;
    },
  ): TemplateResult {
    const sent = results.map(({ content }) => ({ text: content, isEmpty: content === '' }));
    return this.#form(`edited ${id}`, results, sent, { ...options, calls: [], done: 'Send again' });
  }

  #form(
    key: string,
    wanted: readonly Result[],
    begun: readonly Draft[],
    options: {
      /** Those that are shown above their fields. */
      readonly calls: readonly Call[];
      readonly isBusy: boolean;
      readonly done: string;
      readonly hint: string;
      readonly send: (results: readonly Result[]) => void;
      readonly leave: (() => void) | null;
    },
  ): TemplateResult {
    const { calls, isBusy, done, hint, send } = options;
    const drafts = this.#drafts.get(key) ?? begun;
    const isSendable = !isBusy && drafts.every(({ text, isEmpty }) => isEmpty || text !== '');
    const set = (at: number, part: Partial<Draft>) => {
      this.#drafts.set(
        key,
        drafts.map((draft, index) => (index === at ? { ...draft, ...part } : draft)),
      );
      this.#host.requestUpdate();
    };
    const leave =
      options.leave &&
      (() => {
        this.#drafts.delete(key);
        options.leave?.();
      });
    const submit = (event: Event) => {
      event.preventDefault();
      if (!isSendable) return;
      this.#drafts.delete(key);
      send(wanted.map((one, index) => ({ ...one, content: contentOf(drafts[index]) })));
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') leave?.();
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event);
    };
    const field = ({ name }: Result, index: number) => {
      const id = `${leave === null ? 'result' : 'edited'}${index === 0 ? '' : `-${index}`}`;
      const { text = '', isEmpty = false } = drafts[index] ?? {};
      const call = calls[index];
      return html`${call === undefined ? nothing : callView(call, false)}
        <div class="field">
          <label for=${id}>
            <span>Result of <bdi>${name}</bdi>${wanted.length === 1 ? nothing : ` (${index + 1})`}</span>
          </label>
          <textarea
            id=${id}
            rows="2"
            ?disabled=${isEmpty}
            .value=${isEmpty ? '' : text}
            @keydown=${onKey}
            @input=${(event: Event) => set(index, { text: (event.target as HTMLTextAreaElement).value })}
          ></textarea>
        </div>
        ${checkField('Empty result', isEmpty, (on) => set(index, { isEmpty: on }))}`;
    };
    return html`<form class="prompt-editor" @submit=${submit}>
      ${wanted.map(field)}
      <div class="row wrap-row">
        <button type="submit" class="small primary" ?disabled=${!isSendable}>${done}</button>
        ${leave === null ? nothing : html`<button type="button" class="small" @click=${leave}>Cancel</button>`}
        ${hint === '' ? nothing : html`<span class="hint">${hint}</span>`}
      </div>
    </form>`;
  }
}

const contentOf = ({ text, isEmpty }: Draft = { text: '', isEmpty: true }) => (isEmpty ? '' : text);
