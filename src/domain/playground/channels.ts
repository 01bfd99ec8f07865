/** The tokens of an answer in channels that are shown; `<|start|>` is not, and leaves `assistant` between messages. */
const channel = '<|channel|>';
const message = '<|message|>';
const end = '<|end|>';
const call = '<|call|>';
/** What may stand before a further message. */
const role = 'assistant';
/** What may stand between the role and the channel: whom the message is for. */
const recipient = ' to=';
const calledTool = / to=functions\.[\w.-]+/;

/** The channel of reasoning. */
const reasoningChannel = 'analysis';

type Kind = 'content' | 'reasoning';
type Parts = Record<Kind, string>;

/**
 * Separates the reasoning of an answer in channels, as gpt-oss writes them, from its content: a sequence of messages,
 * `<|channel|>NAME<|message|>TEXT<|end|>`. Text outside of the channels is content (trainer/data/channels.py).
 * @param showsCalls whether messages to functions are content with a header and an end (`gpt-oss` in tool-styles.ts).
 */
export function createChannelSplit(showsCalls = false): { push(text: string): Parts; end(): Parts } {
  let state: 'start' | 'header' | 'text' = 'start';
  let kind: Kind = 'content';
  /** What cannot be told yet: the beginning of a message, its header, or what may be its end. */
  let held = '';
  let isFirst = true;
  let isCall = false;
  /** Which parts have had text, and those that begin a new line with the next. */
  const begun = new Set<Kind>();
  const parted = new Set<Kind>();

  function take(parts: Parts, text: string): void {
    if (text === '') return;
    parts[kind] += parted.has(kind) ? `\n${text}` : text;
    parted.delete(kind);
    begun.add(kind);
  }

  function begin(next: Kind): void {
    state = 'text';
    kind = next;
    if (begun.has(kind)) parted.add(kind);
  }

  function push(text: string): Parts {
    held += text;
    const parts: Parts = { content: '', reasoning: '' };
    for (;;) {
      if (state === 'start') {
        if (mayBegin(held)) return parts;
        if (channelOf(held).startsWith(channel)) state = 'header';
        else begin('content');
      } else if (state === 'header') {
        const at = held.indexOf(message);
        if (at < 0) return parts;
        const header = held.slice(0, at);
        const name = header
          .slice(header.indexOf(channel) + channel.length)
          .trim()
          .split(/\W/, 1)[0];
        held = held.slice(at + message.length);
        begin(name === reasoningChannel ? 'reasoning' : 'content');
        const called = showsCalls ? calledTool.exec(header) : null;
        isCall = called !== null;
        if (called !== null) take(parts, `${channel}commentary${called[0]}${message}`);
      } else {
        // A message that begins without the end of the one before is one, too.
        const [at = -1] = [end, channel]
          .map((mark) => held.indexOf(mark))
          .filter((found) => found >= 0)
          .sort((a, b) => a - b);
        const ready = held.slice(0, at < 0 ? held.length - overlap(held) : at);
        take(parts, ready);
        held = held.slice(ready.length);
        if (at < 0) return parts;
        if (isCall) take(parts, call);
        isCall = false;
        if (held.startsWith(end)) held = held.slice(end.length);
        isFirst = false;
        state = 'start';
      }
    }
  }

  return {
    push,
    /** What is left when the answer has ended; not the header of a message that was not begun. */
    end() {
      const parts: Parts = { content: '', reasoning: '' };
      if (state === 'start' && (isFirst || !mayBegin(held))) begin('content');
      if (state === 'text') take(parts, held);
      held = '';
      return parts;
    },
  };
}

/** What stands behind the role and the recipient that a message begins with. */
function channelOf(text: string): string {
  const rest = text.startsWith(role) ? text.slice(role.length) : text;
  return rest.startsWith(recipient) ? rest.replace(/^ to=[\w.-]*/, '') : rest;
}

/** Whether a text may become the beginning of a message. */
function mayBegin(text: string): boolean {
  const rest = text.startsWith(role) ? text.slice(role.length) : text;
  const after = channelOf(text);
  if (role.startsWith(text) || recipient.startsWith(rest)) return true;
  return after !== channel && channel.startsWith(after);
}

/** How much of the end of `text` may be the beginning of the end of a message, or of the next one. */
function overlap(text: string): number {
  let length = Math.min(channel.length - 1, text.length);
  while (length > 0 && ![end, channel].some((mark) => mark.startsWith(text.slice(text.length - length))))
    length -= 1;
  return length;
}
