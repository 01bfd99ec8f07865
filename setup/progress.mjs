const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const FRAME_MS = 100;
/** Interval of progress lines without a terminal. */
const PLAIN_MS = 10_000;

const seconds = (ms) =>
  ms < 60_000
    ? `${Math.round(ms / 1000)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;

/**
 * Shows the progress of several steps at once: updated lines on a terminal, plain lines elsewhere.
 * @param stream where to write, a terminal or not.
 */
export function createProgress(stream = process.stderr) {
  const live = stream.isTTY === true;
  const active = new Set();
  let drawn = 0;
  let frame = 0;
  let timer = null;

  const line = ({ label, detail, began }) =>
    `${label} · ${seconds(performance.now() - began)}${detail && ` · ${detail}`}`;
  const clear = () => {
    if (drawn > 0) stream.write(`\x1b[${drawn}A\x1b[J`);
    drawn = 0;
  };
  const draw = () => {
    clear();
    frame = (frame + 1) % FRAMES.length;
    for (const step of active) {
      stream.write(`${`${FRAMES[frame]} ${line(step)}`.slice(0, (stream.columns || 100) - 1)}\n`);
      drawn += 1;
    }
  };
  const drawPlain = () => {
    for (const step of active) stream.write(`${line(step)}\n`);
  };
  const say = (text) => {
    clear();
    stream.write(`${text}\n`);
  };
  const leave = (step) => {
    active.delete(step);
    if (active.size > 0) return;
    clearInterval(timer);
    timer = null;
  };

  return {
    /** Prints a permanent line. */
    say,
    /** Starts a step; `label` is its number and title. */
    begin(label) {
      const step = { label, detail: '', began: performance.now() };
      active.add(step);
      if (!live) say(`${label} …`);
      timer ??= live ? setInterval(draw, FRAME_MS) : setInterval(drawPlain, PLAIN_MS);
      return {
        say,
        /** Updates the step's progress. */
        update(text) {
          step.detail = text;
        },
        done(note = 'done') {
          leave(step);
          say(`${label}: ${note} (${seconds(performance.now() - step.began)})`);
        },
        /** Ends the step with an error and the last output of its tool. */
        fail(error) {
          leave(step);
          say(
            [`${label}: failed. ${error.message}`, ...(error.tail ?? []).map((text) => `    ${text}`)].join(
              '\n',
            ),
          );
        },
      };
    },
  };
}
