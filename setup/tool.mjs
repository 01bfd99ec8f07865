import { spawn } from 'node:child_process';

const TAIL_LINES = 20;
/** What programs write when the disk is full. */
const DISK_FULL = /No space left on device|ENOSPC|not enough space on the disk/i;
const running = new Set();

/** A tool that failed: `tail` has its last output, `timedOut` whether it exceeded its deadline. */
export class ToolError extends Error {
  constructor(message, tail, timedOut = false) {
    super(message);
    this.name = 'ToolError';
    this.tail = tail;
    this.timedOut = timedOut;
  }
}

/**
 * Runs a program until it ends or for `deadlineMs`, and passes each line of output to `onLine(line)`.
 * @returns everything it wrote to stdout.
 * @throws ToolError with the last lines of stdout and stderr when it cannot start or does not exit with 0.
 */
export function runTool(command, args, { onLine = () => {}, cwd, env = process.env, deadlineMs } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
    running.add(child);
    let timedOut = false;
    const late =
      deadlineMs &&
      setTimeout(() => {
        timedOut = true;
        child.kill('SIGKILL');
      }, deadlineMs);
    const tail = [];
    let output = '';
    const listen = (stream, keep) => {
      let rest = '';
      const take = (line) => {
        if (keep) output += `${line}\n`;
        if (line.trim() === '') return;
        tail.push(line.trimEnd());
        if (tail.length > TAIL_LINES) tail.shift();
        onLine(line);
      };
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        const lines = (rest + text).split(/\r\n|\n|\r/);
        rest = lines.pop();
        for (const line of lines) take(line);
      });
      stream.on('end', () => rest && take(rest));
    };
    listen(child.stdout, true);
    listen(child.stderr, false);
    child.on('error', (error) => {
      running.delete(child);
      clearTimeout(late);
      reject(new ToolError(`${command} could not be started: ${error.message}`, tail));
    });
    child.on('close', (code, signal) => {
      running.delete(child);
      clearTimeout(late);
      if (code === 0) return resolve(output);
      const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
      const why = tail.some((line) => DISK_FULL.test(line))
        ? ': the disk is full. Free some space, then run the command again.'
        : '';
      reject(new ToolError(`${[command, ...args].join(' ')} ${how}${why}`, tail, timedOut));
    });
  });
}

/** Ends all running tools. */
export function endTools(signal) {
  for (const child of running) child.kill(signal);
}
