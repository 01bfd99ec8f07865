/** The parts of an answer as it is generated. */
interface Parts {
  readonly content: string;
  readonly reasoning: string;
}

/**
 * Separates the reasoning that an answer begins with from its content. White space at the ends of the reasoning and
 * before the content is left out, as training does (trainer/data/thinking.py).
 * @param begun whether the prompt has begun the reasoning.
 */
export function createReasoningSplit(
  { open, close }: { readonly open: string; readonly close: string },
  begun: boolean,
): { push(text: string): Parts; end(): Parts } {
  let state: 'start' | 'reasoning' | 'gap' | 'content' = 'start';
  /** What cannot be told yet: the beginning of a tag, or white space that may be the end of a part. */
  let held = '';
  let hasReasoning = false;

  function push(text: string): Parts {
    held += text;
    let content = '';
    let reasoning = '';
    for (;;) {
      if (state === 'start') {
        const trimmed = held.trimStart();
        if (trimmed.length < open.length && open.startsWith(trimmed)) return { content, reasoning };
        if (trimmed.startsWith(open)) held = trimmed.slice(open.length);
        state = trimmed.startsWith(open) || begun ? 'reasoning' : 'content';
      } else if (state === 'reasoning') {
        if (!hasReasoning) held = held.trimStart();
        const at = held.indexOf(close);
        const ready =
          at < 0 ? held.slice(0, held.length - waiting(held, close)) : held.slice(0, at).trimEnd();
        reasoning += ready;
        hasReasoning ||= ready !== '';
        held = at < 0 ? held.slice(ready.length) : held.slice(at + close.length);
        if (at < 0) return { content, reasoning };
        state = 'gap';
      } else if (state === 'gap') {
        held = held.trimStart();
        if (held === '') return { content, reasoning };
        state = 'content';
      } else {
        content += held;
        held = '';
        return { content, reasoning };
      }
    }
  }

  return {
    push,
    /** What is left when the answer has ended. */
    end() {
      const left = held;
      held = '';
      if (state === 'reasoning') return { content: '', reasoning: left.trimEnd() };
      return begun && state === 'start' ? { content: '', reasoning: left } : { content: left, reasoning: '' };
    },
  };
}

/** How much of the end of `text` may be white space before the tag `close` and a part of the tag. */
function waiting(text: string, close: string): number {
  let part = Math.min(close.length - 1, text.length);
  while (part > 0 && !close.startsWith(text.slice(text.length - part))) part -= 1;
  const before = text.slice(0, text.length - part);
  return part + before.length - before.trimEnd().length;
}
