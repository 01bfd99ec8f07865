import { randomBytes } from 'node:crypto';
import { callable, type ToolUse } from '../../../inference/protocol/generation.ts';
import type { ToolStyle } from '../../../inference/template/tool-styles.ts';
import { type CallReader, createCallReader } from './call-readers.ts';

/** What is new of a call in an answer: first its ID and name, then the text of its arguments. */
export interface CallDelta {
  readonly index: number;
  readonly id?: string;
  readonly name?: string;
  readonly arguments: string;
}

/** What an answer is made of. */
export interface AnswerParts {
  readonly content: string;
  readonly calls: readonly CallDelta[];
}

/** The properties of a tool's arguments. */
const propertiesOf = (parameters: unknown): Readonly<Record<string, unknown>> => {
  const { properties } = (parameters ?? {}) as { properties?: unknown };
  return typeof properties === 'object' && properties !== null ? { ...properties } : {};
};

const idOf = () => `call_${randomBytes(12).toString('hex')}`;

/**
 * Separates the calls of an answer from its text, as the models of a style write them. A text that begins like a call but is
 * none is content. White space beside calls is left out. Where an answer must be a call, its name is told as soon as only one
 * tool can be meant.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a step for each state of the answer that is read
export function createToolSplit(
  style: ToolStyle,
  use: Pick<ToolUse, 'tools' | 'parallel' | 'choice'>,
): { push(text: string): AnswerParts; end(): AnswerParts } {
  const known = new Map(
    use.tools.map(({ function: tool }) => [tool.name, propertiesOf(tool.parameters)] as const),
  );
  /** The names that the grammar of the answer allows. */
  const allowed = use.choice === 'auto' ? [] : callable(use).map(({ function: { name } }) => name);
  /** What a call without a mark begins with. */
  const bare = style.syntax === 'object' ? ['{'] : [...known.keys()].map((name) => `${name}\n`);
  const marks = style.starts.filter((start) => start.length > 1);
  const last = style.starts.at(-1);
  const dropped = [...style.starts, ...style.ends].toSorted((one, other) => other.length - one.length);
  /** In `gap`, texts around calls are dropped. */
  let state: 'text' | 'gap' | 'call' | 'ended' = 'text';
  let held = '';
  /** What is content if no call follows. */
  let pending = '';
  /** Whether the next is an object or name. */
  let isOpened = false;
  let hasContent = false;
  let isAfterCall = false;
  let reader: CallReader | null = null;
  let index = -1;
  /** The characters of the arguments that were told; `null` before the name was. */
  let told: number | null = null;
  let content = '';
  let calls: CallDelta[] = [];

  function say(text: string): void {
    const shown = isAfterCall ? text.trimStart() : text;
    if (shown === '') return;
    content += shown;
    [hasContent, isAfterCall] = [true, false];
  }

  function open(mark: string, before = ''): void {
    state = 'gap';
    [pending, isOpened] = [before + mark, mark === last || style.syntax === 'object' || style.isBare];
  }

  /** It was no call. */
  function giveBack(): void {
    state = 'text';
    say(pending);
    pending = '';
  }

  /** Returns whether there is more to read, as each of the following. */
  function readText(): boolean {
    if (style.isBare && !hasContent && index < 0) {
      const text = held.trimStart();
      if (bare.some((start) => text.startsWith(start))) {
        open('');
        return true;
      }
      if (bare.some((start) => start.startsWith(text))) return false;
    }
    const found = marks.map((mark) => held.indexOf(mark)).filter((at) => at >= 0);
    if (found.length > 0) {
      const at = Math.min(...found);
      const mark = marks.find((one) => held.startsWith(one, at)) as string;
      const ready = held.slice(0, at).trimEnd();
      say(ready);
      open(mark, held.slice(ready.length, at));
      held = held.slice(at + mark.length);
      return true;
    }
    // White space before a call is left out.
    const ready = held.slice(0, held.length - waiting(held, marks)).trimEnd();
    say(ready);
    held = held.slice(ready.length);
    return false;
  }

  function readGap(): boolean {
    const text = held.trimStart();
    if (dropped.some((one) => one.length > text.length && one.startsWith(text))) return false;
    const drop = dropped.find((one) => text.startsWith(one));
    if (drop !== undefined) {
      if (style.starts.includes(drop)) {
        pending += held.slice(0, held.length - text.length) + drop;
        isOpened ||= drop === last;
      } else if (drop === ',') isOpened = true;
      held = text.slice(drop.length);
      return true;
    }
    if (isOpened && (style.syntax !== 'object' || text.startsWith('{'))) {
      state = 'call';
      reader = createCallReader(style, known);
      pending += held.slice(0, held.length - text.length);
      held = text;
      return true;
    }
    giveBack();
    return true;
  }

  function nameOf({ name, begunName }: CallReader): string | null {
    const meant = name === null ? allowed.filter((one) => one.startsWith(begunName)) : [name];
    return meant.length === 1 ? (meant[0] as string) : null;
  }

  function tell(call: CallReader): void {
    const { arguments: given } = call;
    const name = nameOf(call);
    if (name === null || call.state === 'none') return;
    if (told === null) {
      index += 1;
      told = 0;
      pending = '';
      calls.push({ index, id: idOf(), name, arguments: '' });
    }
    if (given.length > told) calls.push({ index, arguments: given.slice(told) });
    told = given.length;
  }

  function readCall(): boolean {
    const call = reader as CallReader;
    const read = call.push(held);
    if (told === null) pending += held.slice(0, read);
    held = held.slice(read);
    if (call.state === 'none') {
      giveBack();
      return true;
    }
    tell(call);
    if (call.state === 'reading') return false;
    [told, isAfterCall, isOpened, pending] = [null, true, style.syntax === 'object', ''];
    state = use.parallel ? 'gap' : 'ended';
    return true;
  }

  const step = (): boolean => {
    if (state === 'text') return readText();
    if (state === 'gap') return readGap();
    if (state === 'call') return readCall();
    held = '';
    return false;
  };
  const taken = (): AnswerParts => {
    const parts = { content, calls };
    [content, calls] = ['', []];
    return parts;
  };

  return {
    push(text) {
      held += text;
      while (held !== '' && step());
      return taken();
    },
    end() {
      if (state === 'call') {
        reader?.end();
        tell(reader as CallReader);
        if (told === null) giveBack();
      } else if (state === 'gap') {
        if (index >= 0 && dropped.includes(held.trim())) held = '';
        giveBack();
      }
      if (state === 'text') say(index < 0 ? held : held.trimEnd());
      held = '';
      return taken();
    },
  };
}

/** How much of the end of `text` may be the beginning of a mark. */
function waiting(text: string, marks: readonly string[]): number {
  let length = Math.min(text.length, Math.max(0, ...marks.map((mark) => mark.length - 1)));
  while (length > 0 && !marks.some((mark) => mark.startsWith(text.slice(text.length - length)))) length -= 1;
  return length;
}
