import type { TemplateResult } from 'lit';
import type { Conversation } from '../../../state/playground/conversation.ts';
import type { Exchange, Side } from '../../../state/playground/exchange.ts';
import type { AnswerActions } from '../answer-view.ts';
import type { EditedText } from './edited-text.ts';

/** What can be done with the answer of a side. @param add adds it to a dataset. */
export function answerActions(
  {
    talk,
    edited,
    add,
    calls,
  }: {
    readonly talk: Conversation;
    readonly edited: EditedText;
    readonly add: () => void;
    /** The calls with fields for their results, where they are awaited. */
    readonly calls: TemplateResult | null;
  },
  exchange: Exchange,
  side: Side,
  index: number,
): AnswerActions {
  const isBusy = talk.busy;
  const correct = () => edited.begin(exchange, 'correction', index, side.correction ?? side.text.trim());
  const leaving = (act: (text: string) => void) => (text: string) => {
    act(text);
    edited.leave();
  };
  return {
    calls,
    rate: (rating) => {
      const isTaken = side.rating === rating;
      talk.judge(exchange, side, { rating: isTaken ? null : rating });
      if (rating === 'bad' && !isTaken) correct();
    },
    correct,
    add: isBusy ? null : add,
    edit:
      isBusy || exchange.sides.length > 1 || side.text === ''
        ? null
        : () => edited.begin(exchange, 'answer', index, side.text.trim()),
    editor:
      edited.editor(exchange, 'answer', index, {
        label: 'Edited answer',
        done: 'Save',
        hint: 'The conversation goes on from this answer.',
        isBusy,
        send: leaving((text) => talk.answer(exchange, side, text)),
      }) ??
      edited.editor(exchange, 'correction', index, {
        label: 'Corrected answer',
        done: 'Save',
        hint: 'What it should have been; for a dataset.',
        isBusy,
        send: leaving((text) => talk.judge(exchange, side, { rating: 'bad', correction: text })),
      }),
  };
}
