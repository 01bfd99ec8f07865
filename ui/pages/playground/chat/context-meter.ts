import { html, nothing, type TemplateResult } from 'lit';
import { formatCount } from '../../../elements/format.ts';
import { progressBar } from '../../../elements/parts.ts';
import type { Exchange } from '../../../state/playground/exchange.ts';
import type { Answering } from './chat-requests.ts';

/** What a conversation takes of a model's context. */
export interface ContextUse {
  readonly tokens: number;
  /** The most tokens of a prompt and its answer. */
  readonly most: number;
  /** Whether it takes more than that: the figures of the latest answers are not known. */
  readonly isLeast: boolean;
}

/** That of the side whose context is fullest; `null` if none is known, as before the first answer. */
export function contextUse(exchanges: readonly Exchange[], sides: Answering['sides']): ContextUse | null {
  let fullest: ContextUse | null = null;
  for (const [index, { facts }] of sides.entries()) {
    const most = facts?.hasChatTemplate ? facts.contextTokens : null;
    const taken = exchanges.map(({ sides: answers }) => {
      const { promptTokens, tokens } = (answers[index] ?? answers[0])?.answer ?? {};
      return promptTokens == null || tokens == null ? null : promptTokens + tokens;
    });
    const place = taken.findLastIndex((tokens) => tokens !== null);
    const tokens = taken[place] ?? null;
    if (most === null || tokens === null || tokens / most <= (fullest ? fullest.tokens / fullest.most : -1))
      continue;
    fullest = { tokens, most, isLeast: place < taken.length - 1 };
  }
  return fullest;
}

/** How full the context is, in tokens and as a bar. */
export function contextMeter(use: ContextUse | null): TemplateResult | typeof nothing {
  if (use === null) return nothing;
  const { tokens, most, isLeast } = use;
  return html`<div class="context-meter" title="What the conversation takes of the model’s context">
    ${progressBar('Context in use', Math.min(100, (tokens / most) * 100))}
    <span class="hint tabular">${isLeast ? 'more than ' : nothing}${formatCount(tokens)} of ${formatCount(most)} tokens</span>
  </div>`;
}

/** What becomes of the next prompt where the context is nearly full. @param maxTokens those of an answer. */
export function contextWarning(use: ContextUse | null, maxTokens: number): TemplateResult | typeof nothing {
  if (use === null) return nothing;
  const left = use.most - use.tokens;
  if (left >= Math.min(maxTokens, use.most / 4)) return nothing;
  return html`<p class="warning" role="status">
    ${
      left <= 1
        ? 'The model’s context is full, and the next prompt will be refused. '
        : `${formatCount(left)} tokens of the model’s context are left for the next prompt and its answer. The answer ends there, and a longer prompt is refused. `
    }
    Start a new chat, or edit an earlier prompt.
  </p>`;
}
