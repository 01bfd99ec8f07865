import { jsonOf } from '../../../domain/playground/calls/json-value.ts';
import type { CallDelta, OnAnswer, TokenChoice } from '../../../domain/playground/playground.ts';
import { presentChatLogprobs } from '../completions/logprobs.ts';
import { type Item, idOf, outputText } from './items.ts';

type Status = Item['status'];
type OutputItem = Exclude<Item, { type: 'function_call_output' }>;
/** Sends an event. */
type Emit = (type: string, fields: object) => void;

/** The item that is being written. */
interface Open {
  readonly item: OutputItem;
  /** The index of a call in the answer. */
  readonly call: number | null;
}

/** The items of an answer, and the events that tell of each as it is generated. */
export interface AnswerItems {
  readonly push: OnAnswer;
  /** Whether the answer was ended by its limit. An answer without text or calls has an empty message. */
  end(isCut: boolean): void;
  readonly output: readonly OutputItem[];
}

const partOf = (item: OutputItem) =>
  item.type === 'function_call' ? null : (item.content[0] as { text: string });

export function createAnswerItems(emit: Emit): AnswerItems {
  const output: OutputItem[] = [];
  let open: Open | null = null;
  /** Tokens whose text has not come yet. */
  let waiting: TokenChoice[] = [];

  const at = ({ item }: Open) => ({
    item_id: item.id,
    output_index: output.length,
    ...(item.type === 'function_call' ? {} : { content_index: 0 }),
  });

  function begin(item: OutputItem, call: number | null = null): Open {
    if (open !== null) close('completed');
    const empty = item.type === 'function_call' ? item : { ...item, content: [] };
    emit('response.output_item.added', { output_index: output.length, item: empty });
    open = { item, call };
    const part = partOf(item);
    if (part !== null) emit('response.content_part.added', { ...at(open), part });
    return open;
  }

  function close(status: Status): void {
    const closing = open as Open;
    const { item } = closing;
    item.status = status;
    if (item.type === 'function_call') {
      // A call that cannot be made is none.
      if (jsonOf(item.arguments) === undefined) item.status = 'incomplete';
      const { name, arguments: text } = item;
      emit('response.function_call_arguments.done', { ...at(closing), name, arguments: text });
    } else {
      const part = partOf(item) as { text: string; logprobs?: object[] };
      const rated = part.logprobs === undefined ? {} : { logprobs: part.logprobs };
      const done = item.type === 'reasoning' ? 'response.reasoning_text.done' : 'response.output_text.done';
      emit(done, { ...at(closing), text: part.text, ...rated });
      emit('response.content_part.done', { ...at(closing), part });
    }
    emit('response.output_item.done', { output_index: output.length, item });
    output.push(item);
    open = null;
  }

  function say(kind: 'reasoning' | 'message', text: string, tokens: readonly TokenChoice[]): void {
    const writing =
      open?.item.type === kind
        ? open
        : begin(
            kind === 'reasoning'
              ? {
                  id: idOf('rs'),
                  type: kind,
                  status: 'in_progress',
                  summary: [],
                  content: [{ type: 'reasoning_text', text: '' }],
                }
              : {
                  id: idOf('msg'),
                  type: kind,
                  status: 'in_progress',
                  role: 'assistant',
                  content: [outputText('')],
                },
          );
    const part = partOf(writing.item) as { text: string; logprobs?: object[] };
    part.text += text;
    if (text === '') return;
    if (kind === 'reasoning') {
      emit('response.reasoning_text.delta', { ...at(writing), delta: text });
      return;
    }
    const logprobs = presentChatLogprobs(tokens).content;
    part.logprobs?.push(...logprobs);
    emit('response.output_text.delta', { ...at(writing), delta: text, logprobs });
  }

  function call({ index, id = '', name = '', arguments: text }: CallDelta): void {
    const writing =
      open?.call === index
        ? open
        : begin(
            {
              id: idOf('fc'),
              type: 'function_call',
              status: 'in_progress',
              call_id: id,
              name,
              arguments: '',
            },
            index,
          );
    const { item } = writing;
    if (text === '' || item.type !== 'function_call') return;
    item.arguments += text;
    emit('response.function_call_arguments.delta', { ...at(writing), delta: text });
  }

  return {
    output,
    push(content, tokens, reasoning, calls) {
      waiting.push(...tokens);
      if (reasoning !== '') say('reasoning', reasoning, []);
      if (content !== '') say('message', content, waiting);
      for (const delta of calls) call(delta);
      if (content !== '' || reasoning !== '' || calls.length > 0) waiting = [];
    },
    end(isCut) {
      const isEmpty = !output
        .concat(open === null ? [] : [open.item])
        .some(({ type }) => type !== 'reasoning');
      // A limit within the reasoning leaves that alone.
      if (isEmpty && !(isCut && open !== null)) say('message', '', []);
      if (open !== null) close(isCut ? 'incomplete' : 'completed');
    },
  };
}
