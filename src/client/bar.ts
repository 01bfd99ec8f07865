/** The progress of a part of the demo: `share` is 0 to 1, or null if unknown. */
export interface Bar {
  update(share: number | null, text: string): void;
  /** Ends the bar with a final text. */
  end(text: string): void;
}

const cells = 24;
const frameMs = 100;
/** Without a terminal: a line at most this often. */
const plainMs = 5_000;

const time = (ms: number) => `${Math.round(ms / 1000)} s`;

/** Shows an animated bar on a terminal, and plain lines elsewhere. */
export function startBar(title: string, stream: NodeJS.WriteStream = process.stdout): Bar {
  const live = stream.isTTY === true;
  const began = performance.now();
  let lastPlain = began;
  let share: number | null = null;
  let text = '';
  const line = () => {
    const filled = Math.round((share ?? 0) * cells);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(cells - filled)}`;
    const percent = share === null ? '    ' : `${String(Math.floor(share * 100)).padStart(3)}%`;
    return `${title.padEnd(9)} ${bar} ${percent} · ${time(performance.now() - began)}${text && ` · ${text}`}`;
  };
  const draw = () => stream.write(`\r\x1b[K${line().slice(0, (stream.columns || 100) - 1)}`);
  const timer = live ? setInterval(draw, frameMs) : null;
  return {
    update(newShare, newText) {
      share = newShare;
      text = newText;
      if (live || performance.now() - lastPlain < plainMs) return;
      lastPlain = performance.now();
      stream.write(`${line()}\n`);
    },
    end(last) {
      if (timer !== null) clearInterval(timer);
      stream.write(
        `${live ? '\r\x1b[K' : ''}${title.padEnd(9)} ${last} (${time(performance.now() - began)})\n`,
      );
    },
  };
}
