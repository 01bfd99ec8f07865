const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const FRAME_MS = 100;
/** Without a terminal, a line at most this often: enough to see life, few enough to read. */
const PLAIN_MS = 5_000;

const seconds = (ms) =>
  ms < 60_000
    ? `${Math.round(ms / 1000)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;

/**
 * Shows steps as they go: on a terminal one line that is rewritten, elsewhere plain lines.
 * @param stream where to write, a terminal or not.
 */
export function createProgress(stream = process.stderr) {
  const live = stream.isTTY === true;
  let label = '';
  let detail = '';
  let began = 0;
  let frame = 0;
  let lastPlain = 0;
  let timer = null;

  const draw = () => {
    frame = (frame + 1) % FRAMES.length;
    const line = `${FRAMES[frame]} ${label} · ${seconds(performance.now() - began)}${detail && ` · ${detail}`}`;
    stream.write(`\r\x1b[K${line.slice(0, (stream.columns ?? 100) - 1)}`);
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    if (live) stream.write('\r\x1b[K');
  };

  return {
    /** Begins step `index` of `count`. */
    begin(index, count, title) {
      label = `[${index}/${count}] ${title}`;
      detail = '';
      began = performance.now();
      lastPlain = began;
      if (live) timer = setInterval(draw, FRAME_MS);
      else stream.write(`${label} …\n`);
    },
    /** Says how far the step is. */
    update(text) {
      detail = text;
      if (live || performance.now() - lastPlain < PLAIN_MS) return;
      lastPlain = performance.now();
      stream.write(`${label} · ${text}\n`);
    },
    /** Says something that stays on the screen. */
    say(text) {
      if (live && timer) stream.write('\r\x1b[K');
      stream.write(`${text}\n`);
    },
    done(note = 'done') {
      stop();
      stream.write(`${label}: ${note} (${seconds(performance.now() - began)})\n`);
    },
    fail(error) {
      stop();
      stream.write(`${label}: failed. ${error.message}\n`);
      for (const line of error.tail ?? []) stream.write(`    ${line}\n`);
    },
  };
}
