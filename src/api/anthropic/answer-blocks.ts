import { jsonOf } from '../../domain/playground/calls/json-value.ts';
import type { CallDelta, OnAnswer } from '../../domain/playground/playground.ts';
import type { Message } from './schemas.ts';

type Block = Message['content'][number];
/** Sends an event. */
type Emit = (type: string, fields: object) => void;

/** The content blocks of an answer, and the events that tell of each as it is generated. */
export interface AnswerBlocks {
  readonly push: OnAnswer;
  /** An answer without text or calls has an empty text. */
  end(): void;
  readonly content: readonly Block[];
}

export function createAnswerBlocks(emit: Emit): AnswerBlocks {
  const content: Block[] = [];
  let isOpen = false;
  /** The call that is being written: its index in the answer, and its arguments. */
  let call = -1;
  let json = '';

  function close(): void {
    if (!isOpen) return;
    const block = content.at(-1) as Block;
    // A text that is no JSON is passed on.
    if (block.type === 'tool_use') block.input = jsonOf(json) ?? json;
    emit('content_block_stop', { index: content.length - 1 });
    isOpen = false;
  }

  function begin(block: Block): void {
    close();
    content.push(block);
    emit('content_block_start', { index: content.length - 1, content_block: block });
    isOpen = true;
  }

  const delta = (fields: object) => emit('content_block_delta', { index: content.length - 1, delta: fields });
  const writing = <T extends Block['type']>(type: T, empty: Extract<Block, { type: T }>) => {
    if (!isOpen || content.at(-1)?.type !== type) begin(empty);
    return content.at(-1) as Extract<Block, { type: T }>;
  };

  function think(thinking: string): void {
    writing('thinking', { type: 'thinking', thinking: '', signature: '' }).thinking += thinking;
    delta({ type: 'thinking_delta', thinking });
  }

  function say(text: string): void {
    writing('text', { type: 'text', text: '' }).text += text;
    if (text !== '') delta({ type: 'text_delta', text });
  }

  function take({ index, id = '', name = '', arguments: text }: CallDelta): void {
    if (index !== call || !isOpen) {
      begin({ type: 'tool_use', id, name, input: {} });
      [call, json] = [index, ''];
    }
    json += text;
    if (text !== '') delta({ type: 'input_json_delta', partial_json: text });
  }

  return {
    content,
    push(text, _tokens, reasoning, calls) {
      if (reasoning !== '') think(reasoning);
      if (text !== '') say(text);
      for (const one of calls) take(one);
    },
    end() {
      if (content.every(({ type }) => type === 'thinking')) say('');
      close();
    },
  };
}
