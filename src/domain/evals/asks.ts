import * as v from 'valibot';
import { filled, referredBy } from '../../contract/graders/templates.ts';
import type { ToolUse } from '../../inference/protocol/generation.ts';
import type { PlaygroundRequest } from '../playground/playground.ts';

const text = v.looseObject({ text: v.string() });
const content = v.union([v.string(), text, v.array(v.union([v.string(), text]))]);
/** Messages with templates, or those that a row has. */
const messages = v.pipe(
  v.array(
    v.looseObject({ role: v.picklist(['system', 'developer', 'user', 'assistant']), content }),
    'must be a list of messages',
  ),
  v.minLength(1, 'must have at least one message'),
);
export type AskedMessages = v.InferOutput<typeof messages>;

/** How a run asks its model. */
export interface Asks {
  readonly model: string;
  /** Templates, or the reference to the messages of a row, such as `item.messages`. */
  readonly messages: AskedMessages | string;
  readonly sampling: Pick<PlaygroundRequest, 'maxTokens' | 'temperature' | 'topP' | 'seed' | 'schema'>;
  readonly tools: ToolUse | null;
  readonly thinking: boolean | null;
}

const textOf = (given: v.InferOutput<typeof content>): string =>
  typeof given === 'string'
    ? given
    : [given].flat().reduce<string>((all, one) => all + (typeof one === 'string' ? one : one.text), '');

/** What a model is asked for a row. @throws RangeError if the row lacks what is asked for. */
export function messagesFor(
  { messages: asked }: Pick<Asks, 'messages'>,
  item: Readonly<Record<string, unknown>>,
): { readonly role: string; readonly content: string }[] {
  const isReference = typeof asked === 'string';
  const { success, output, issues } = v.safeParse(messages, isReference ? referredBy(asked, item) : asked);
  if (!success) throw new RangeError(`${asked}: ${v.getDotPath(issues[0]) ?? ''} ${issues[0].message}`);
  return output.map(({ role, content: given }) => ({
    role: role === 'developer' ? 'system' : role,
    content: isReference ? textOf(given) : filled(textOf(given), item),
  }));
}
