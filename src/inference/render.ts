import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import * as v from 'valibot';
import { AppError } from '../errors.ts';
import { createNormalizer, storedNormalizer, unsupportedNormalizer } from './normalize.ts';
import { compileTemplate } from './python-jinja.ts';

const storedTemplate = v.object({
  chat_template: v.string(),
  bos_token: v.nullable(v.string()),
  eos_token: v.nullable(v.string()),
  stop: v.array(v.string()),
  context_length: v.nullable(v.number()),
  /** Absent in templates of earlier versions, which normalized nothing. */
  normalizer: v.optional(v.nullable(v.union([storedNormalizer, unsupportedNormalizer])), null),
});

export interface Message {
  role: string;
  content: string;
}

/** The prompt template that training used. */
export interface StoredTemplate {
  /** Strings that end an answer (stop strings). */
  stop: string[];
  /** The context length used in training, in tokens. */
  contextLength: number | null;
  /** Renders the prompt for the next answer. @throws AppError `invalid` when the template rejects the messages. */
  render(messages: readonly Message[]): string;
  /** Renders a conversation that ends with an answer. @throws AppError as `render` does. */
  renderAnswered(messages: readonly Message[]): string;
  /** A text as the tokenizer of the training normalizes it before it makes tokens. */
  normalize(text: string): string;
}

/** Reads a `template.json` of the trainer. @throws AppError `invalid` when it is missing or damaged. */
export async function readTemplate(path: string): Promise<StoredTemplate> {
  let stored: v.InferOutput<typeof storedTemplate>;
  let template: ReturnType<typeof compileTemplate>;
  let normalize: ReturnType<typeof createNormalizer>;
  try {
    stored = v.parse(storedTemplate, JSON.parse(await readFile(path, 'utf8')));
    template = compileTemplate(stored.chat_template);
    normalize = createNormalizer(
      stored.normalizer && 'steps' in stored.normalizer ? stored.normalizer : null,
    );
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError('invalid', `Could not read the model's template ${basename(path)}: ${reason}`, {
      cause,
    });
  }
  const rendered = (messages: readonly Message[], isPrompt: boolean): string => {
    try {
      return template({
        messages: messages.map(({ role, content }) => ({ role, content })),
        add_generation_prompt: isPrompt,
        bos_token: stored.bos_token ?? '',
        eos_token: stored.eos_token ?? '',
      });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new AppError('invalid', `The model's template does not accept these messages: ${reason}`, {
        cause,
      });
    }
  };
  return {
    stop: stored.stop,
    contextLength: stored.context_length,
    render: (messages) => rendered(messages, true),
    renderAnswered: (messages) => rendered(messages, false),
    normalize,
  };
}
