import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import * as v from 'valibot';
import { AppError } from '../../errors.ts';
import { begunAnswer } from './begun-answer.ts';
import type { Joined } from './join-tokens.ts';
import type { Message, Tool } from './message.ts';
import { createNormalizer, storedNormalizer, unsupportedNormalizer } from './normalize.ts';
import { compileTemplate } from './python-jinja.ts';
import { probeTools, type ToolForms, withCalls } from './tool-messages.ts';
import { type ToolStyle, toolStyleOf } from './tool-styles.ts';

const storedTemplate = v.object({
  chat_template: v.string(),
  bos_token: v.nullable(v.string()),
  eos_token: v.nullable(v.string()),
  stop: v.array(v.string()),
  context_length: v.nullable(v.number()),
  /** Absent in templates of earlier versions, which normalized nothing. */
  thinking: v.optional(
    v.nullable(
      v.object({
        /** The template's variable that turns reasoning on and off, if it has one. */
        switch: v.nullable(v.string()),
        /** What reasoning stands between. */
        open: v.string(),
        close: v.string(),
        /** What an answer after it begins with, where answers are in channels. */
        final: v.nullish(v.string()),
        /** Whether a prompt begins the reasoning, and whether it does where a request turns it on. */
        opens: v.boolean(),
        opens_on: v.boolean(),
      }),
    ),
    null,
  ),
  normalizer: v.optional(v.nullable(v.union([storedNormalizer, unsupportedNormalizer])), null),
});

/** The prompt template that training used. */
export interface StoredTemplate {
  /** Strings that end an answer (stop strings). */
  stop: string[];
  /** The context length used in training, in tokens. */
  contextLength: number | null;
  /** The tags around reasoning, in one text. Control tokens among them are part of an answer. */
  tags: string;
  /**
   * Renders the prompt for the next answer. @throws AppError `invalid` when the template rejects the messages.
   * @param thinking turns reasoning on or off where the template can; off ends reasoning that it begins all the same.
   * @param tools those that it lists.
   */
  render(messages: readonly Message[], thinking?: boolean, tools?: readonly Tool[]): string;
  /** Renders a conversation that ends with an answer. @throws AppError as `render` does. */
  renderAnswered(messages: readonly Message[], tools?: readonly Tool[]): string;
  /**
   * Renders a conversation that ends with the beginning of an answer. @throws AppError as `render` does, and where the
   * template leaves out reasoning that was given.
   */
  renderBegun(messages: readonly Message[], thinking?: boolean, tools?: readonly Tool[]): Joined;
  /** Whether an answer that has come so far is reasoning. Channels have no doubt. */
  isReasoning(text: string, thinking?: boolean): boolean;
  /** How its model writes calls; `null` if that is not known. */
  toolStyle: ToolStyle | null;
  /** Why it takes no tools, in a sentence; `null` if it takes them. */
  toolsFault(): string | null;
  /** A text as the tokenizer of the training normalizes it before it makes tokens. */
  normalize(text: string): string;
}

/**
 * What a `template.json` says of the parts of an answer: how reasoning stands in it (`null` in those of earlier versions), and
 * calls of tools (`null` if that is not known). @throws AppError as `readTemplate`.
 */
export async function readAnswerForm(path: string) {
  const { thinking, chat_template: text } = await readStored(path);
  return { thinking, toolStyle: toolStyleOf(text) };
}

async function readStored(path: string): Promise<v.InferOutput<typeof storedTemplate>> {
  try {
    return v.parse(storedTemplate, JSON.parse(await readFile(path, 'utf8')));
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

function unreadable(path: string, cause: unknown): AppError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AppError('invalid', `Could not read the model's template ${basename(path)}: ${reason}`, {
    cause,
  });
}

/** Reads a `template.json` of the trainer. @throws AppError `invalid` when it is missing or damaged. */
export async function readTemplate(path: string): Promise<StoredTemplate> {
  const stored = await readStored(path);
  let template: ReturnType<typeof compileTemplate>;
  let normalize: ReturnType<typeof createNormalizer>;
  try {
    template = compileTemplate(stored.chat_template);
    normalize = createNormalizer(
      stored.normalizer && 'steps' in stored.normalizer ? stored.normalizer : null,
    );
  } catch (cause) {
    throw unreadable(path, cause);
  }
  const { thinking: reasoning } = stored;
  const bare = (
    messages: readonly object[],
    isPrompt: boolean,
    tools: readonly Tool[],
    more: object,
  ): string =>
    template({
      messages,
      add_generation_prompt: isPrompt,
      bos_token: stored.bos_token ?? '',
      eos_token: stored.eos_token ?? '',
      // Templates ask whether there are any.
      ...(tools.length > 0 ? { tools } : {}),
      ...more,
    });
  const toolStyle = toolStyleOf(stored.chat_template);
  let probed: ToolForms | null = null;
  const forms = (): ToolForms => {
    probed ??= probeTools((messages, tools) => bare(messages, true, tools, {}));
    return probed;
  };
  const rendered = (
    messages: readonly Message[],
    isPrompt: boolean,
    thinking?: boolean,
    tools: readonly Tool[] = [],
  ): string => {
    const isSwitched = thinking !== undefined && reasoning !== null && reasoning.switch !== null;
    const hasCalls = messages.some(({ calls, answers }) => calls !== undefined || answers !== undefined);
    if (tools.length > 0 && !forms().listsTools) throw withoutTools(unlisted);
    if (hasCalls && forms().calls === null) throw withoutTools('has no place for calls of tools', 'messages');
    const form = (hasCalls ? forms().calls : null) ?? { arguments: 'text', content: '', isParallel: true };
    try {
      // Templates have defaults of their own.
      const more = isSwitched ? { [reasoning.switch as string]: thinking } : {};
      return bare(withCalls(messages, form), isPrompt, tools, more);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new AppError('invalid', `The model's template does not accept these messages: ${reason}`, {
        cause,
      });
    }
  };
  const prompted = (messages: readonly Message[], thinking?: boolean, tools?: readonly Tool[]): string => {
    const prompt = rendered(messages, true, thinking, tools);
    return thinking === false && reasoning !== null ? prompt + withoutSwitch(reasoning, prompt) : prompt;
  };
  return {
    stop: stored.stop,
    contextLength: stored.context_length,
    tags: reasoning === null ? '' : [reasoning.open, reasoning.close, reasoning.final].join(''),
    isReasoning(text, thinking) {
      if (reasoning === null || reasoning.final || text.includes(reasoning.close)) return false;
      const opens = thinking === undefined ? reasoning.opens : thinking && reasoning.opens_on;
      return opens || text.trimStart().startsWith(reasoning.open);
    },
    toolStyle,
    toolsFault: () =>
      toolStyle === null ? ofTemplate(unknownStyle) : forms().listsTools ? null : ofTemplate(unlisted),
    render: prompted,
    renderAnswered: (messages, tools) => rendered(messages, false, undefined, tools),
    renderBegun: (messages, thinking, tools) =>
      begunAnswer(messages, thinking, reasoning, (said, isPrompt) =>
        isPrompt ? prompted(said, thinking, tools) : rendered(said, false, thinking, tools),
      ),
    normalize,
  };
}

/** Why a template takes no tools. */
const unlisted = 'does not list tools';
const unknownStyle = 'has no tools, or calls in a form that is not known';
const ofTemplate = (what: string) => `The model’s chat template ${what}.`;

/** The refusal of a request with tools. @param field of the request. */
export function withoutTools(what = unknownStyle, field = 'tools'): AppError {
  return new AppError(
    'invalid',
    `${ofTemplate(what)} Leave tools out, or choose a model that was trained to call them.`,
    { details: { field } },
  );
}

/** What follows a prompt that is not to reason, and whose template cannot do it (`without_switch` in thinking.py). */
function withoutSwitch(
  { open, close, final }: { open: string; close: string; final?: string | null | undefined },
  prompt: string,
): string {
  if (final) return prompt.endsWith(final) ? '' : final;
  return prompt.trimEnd().endsWith(open) ? `\n${close}\n\n` : '';
}
