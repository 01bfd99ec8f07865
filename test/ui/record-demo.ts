/**
 * Records `npm run demo` on a terminal and draws it as an animated SVG: `node --import tsx test/ui/record-demo.ts` writes
 * `ui/pictures/demo.svg`. It runs faster than the demo did, which the picture says.
 */
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { root } from '../service.ts';

const columns = 100;
const rows = 26;
/** How long the picture runs, and the least between two frames. Seconds. */
const pictureSeconds = 16;
const leastFrame = 0.3;
/** How long the end is shown. */
const restSeconds = 6;

interface Frame {
  /** Seconds from the start of the picture. */
  readonly at: number;
  readonly lines: readonly string[];
}

/** What a terminal shows after carriage returns, line feeds and the deletion of a line; other sequences are left out. */
function createScreen() {
  const lines = [''];
  let column = 0;
  return {
    write(text: string): void {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a terminal obeys
      for (const [part] of text.matchAll(/\x1b\[[0-9;?]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+|\x1b/g)) {
        const line = lines[lines.length - 1] as string;
        if (part === '\r') column = 0;
        else if (part === '\n') lines.push('');
        else if (part === '\x1b[K') lines[lines.length - 1] = line.slice(0, column);
        else if (!part.startsWith('\x1b')) {
          lines[lines.length - 1] =
            line.slice(0, column).padEnd(column) + part + line.slice(column + part.length);
          column += part.length;
        }
        if (part === '\n') column = 0;
      }
    },
    shown: () => lines.slice(-rows),
  };
}

/** Runs the demo on a terminal of its own. @returns what it showed, frame by frame. */
async function record(): Promise<Frame[]> {
  const screen = createScreen();
  screen.write('$ npm run demo\r\n');
  const frames: Frame[] = [{ at: 0, lines: screen.shown() }];
  // What is missing is set up before: that has lines above each other, and differs from machine to machine.
  execFileSync(process.execPath, ['setup.mjs', 'setup'], { cwd: root, stdio: 'ignore' });
  const command = `stty cols ${columns} rows ${rows}; node setup.mjs demo`;
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: root,
    env: { ...process.env, COLUMNS: String(columns), TERM: 'xterm' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const began = performance.now();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen.write(text.replaceAll(homedir(), '~').replace(/^Node 20 reached its end of life.*\r\n/m, ''));
    frames.push({ at: (performance.now() - began) / 1000, lines: screen.shown() });
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`the demo ended with the exit code ${code}`);
  return frames;
}

/** The frames at a speed at which they take so long as the picture, without those that follow too soon. */
function hasten(frames: readonly Frame[], speed: number): Frame[] {
  const last = frames.at(-1) as Frame;
  const kept: Frame[] = [];
  for (const { at, lines } of frames) {
    if (at / speed - (kept.at(-1)?.at ?? -1) >= leastFrame) kept.push({ at: at / speed, lines });
  }
  return [...kept, { at: last.at / speed + leastFrame, lines: last.lines }];
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const coloured = (line: string) =>
  escaped(line)
    .replaceAll('✓', '<tspan fill="#6fcf97">✓</tspan>')
    .replaceAll('✗', '<tspan fill="#eb8a80">✗</tspan>');

/** Each text of a row is drawn once, and visible while the row has it. */
function draw(frames: readonly Frame[], speed: number): string {
  const whole = (frames.at(-1) as Frame).at + restSeconds;
  const share = (at: number) => Number((at / whole).toFixed(4));
  const [width, height, size, leading] = [columns * 7.8 + 32, rows * 18 + 60, 13, 18];
  const texts: string[] = [];
  for (let row = 0; row < rows; row += 1) {
    let from = 0;
    while (from < frames.length) {
      const text = frames[from]?.lines[row] ?? '';
      let to = from + 1;
      while (to < frames.length && (frames[to]?.lines[row] ?? '') === text) to += 1;
      const [begin, end] = [
        share(frames[from]?.at ?? 0),
        to < frames.length ? share(frames[to]?.at ?? 0) : 1,
      ];
      // Without animation, the last frame is shown.
      const visibility = to < frames.length ? ' visibility="hidden"' : '';
      const times = [0, ...(begin > 0 ? [begin] : []), ...(end < 1 ? [end] : [])];
      const values = [
        begin > 0 ? 'hidden' : 'visible',
        ...(begin > 0 ? ['visible'] : []),
        ...(end < 1 ? ['hidden'] : []),
      ];
      const animation =
        values.length === 1
          ? ''
          : `<animate attributeName="visibility" values="${values.join(';')}" keyTimes="${times.join(';')}" calcMode="discrete" dur="${whole.toFixed(1)}s" repeatCount="indefinite"/>`;
      if (text.trim() !== '')
        texts.push(
          `<text x="16" y="${52 + row * leading}"${visibility}>${coloured(text.slice(0, columns))}${animation}</text>`,
        );
      from = to;
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">
<title id="title">hone demo in a terminal: rows are uploaded, a model is trained, and ten questions are answered by the base model, none right, and by the tuned one, all right</title>
<style>text { font: ${size}px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #e6e4dd; white-space: pre; }</style>
<rect width="${width}" height="${height}" rx="8" fill="#16191a"/>
<g fill="#4b5152"><circle cx="20" cy="18" r="5"/><circle cx="38" cy="18" r="5"/><circle cx="56" cy="18" r="5"/></g>
<text x="${width - 16}" y="22" text-anchor="end" style="fill: #9aa0a0">${speed.toFixed(0)} × as fast</text>
${texts.join('\n')}
</svg>
`;
}

const recorded = await record();
const speed = Math.max(1, (recorded.at(-1) as Frame).at / pictureSeconds);
const frames = hasten(recorded, speed);
const picture = draw(frames, speed);
writeFileSync(join(root, 'ui', 'pictures', 'demo.svg'), picture);
console.log(`ui/pictures/demo.svg: ${frames.length} frames, ${(picture.length / 1000).toFixed(0)} kB`);
