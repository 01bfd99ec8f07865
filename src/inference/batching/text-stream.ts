/**
 * Decodes token bytes into displayable text: complete characters only, without the characters of `lead` that it begins
 * with, and no part of a stop string, not even its first characters.
 */
export interface TextStream {
  /** Takes the next bytes. Returns the text to show now, and the stop string that was found, or `null`. */
  push(bytes: Uint8Array): { text: string; stop: string | null };
  /** The text that was held back as a possible stop string, once the answer has ended. */
  end(): string;
}

export function createTextStream(stops: readonly string[], lead = ''): TextStream {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const wanted = stops.filter((stop) => stop !== '');
  let held = '';
  /** What of `lead` the next characters may be. */
  let leading = lead;
  const withoutLead = (text: string): string => {
    let rest = text;
    while (leading !== '' && rest !== '') {
      if (rest[0] === leading[0]) rest = rest.slice(1);
      else leading = '';
      leading = leading.slice(1);
    }
    return rest;
  };
  let stop: string | null = null;
  return {
    push(bytes) {
      if (stop !== null) return { text: '', stop };
      held += withoutLead(decoder.decode(bytes, { stream: true }));
      let first = -1;
      for (const one of wanted) {
        const at = held.indexOf(one);
        if (at < 0 || (first >= 0 && at >= first)) continue;
        first = at;
        stop = one;
      }
      if (stop !== null) {
        const text = held.slice(0, first);
        held = '';
        return { text, stop };
      }
      let keep = 0;
      for (const one of wanted) {
        for (let length = Math.min(one.length - 1, held.length); length > keep; length--) {
          if (held.endsWith(one.slice(0, length))) keep = length;
        }
      }
      const text = held.slice(0, held.length - keep);
      held = held.slice(held.length - keep);
      return { text, stop };
    },
    end() {
      // the decoder keeps the bytes of an incomplete character
      const text = stop === null ? held : '';
      held = '';
      return text;
    },
  };
}
