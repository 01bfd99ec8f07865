/**
 * Turns the bytes of tokens into text that can be shown: whole characters alone, and nothing of a stop string,
 * not even its beginning.
 */
export interface TextStream {
  /** Takes the next bytes. Returns what can be shown now, and whether a stop string was met. */
  push(bytes: Uint8Array): { text: string; stopped: boolean };
  /** What was held back as the possible beginning of a stop string, now that the answer is over. */
  end(): string;
}

export function createTextStream(stops: readonly string[]): TextStream {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const wanted = stops.filter((stop) => stop !== '');
  let held = '';
  let stopped = false;
  return {
    push(bytes) {
      if (stopped) return { text: '', stopped };
      held += decoder.decode(bytes, { stream: true });
      let first = -1;
      for (const stop of wanted) {
        const at = held.indexOf(stop);
        if (at >= 0 && (first < 0 || at < first)) first = at;
      }
      if (first >= 0) {
        const text = held.slice(0, first);
        held = '';
        stopped = true;
        return { text, stopped };
      }
      let keep = 0;
      for (const stop of wanted) {
        for (let length = Math.min(stop.length - 1, held.length); length > keep; length--) {
          if (held.endsWith(stop.slice(0, length))) keep = length;
        }
      }
      const text = held.slice(0, held.length - keep);
      held = held.slice(held.length - keep);
      return { text, stopped };
    },
    end() {
      // bytes of an unfinished character stay in the decoder and are not shown
      const text = stopped ? '' : held;
      held = '';
      return text;
    },
  };
}
