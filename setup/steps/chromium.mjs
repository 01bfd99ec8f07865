import { existsSync } from 'node:fs';
import { onPath } from '../prerequisites.mjs';
import { digest } from '../stamp.mjs';
import { runTool, ToolError } from '../tool.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];
const findChromium = () =>
  process.env.HONE_CHROMIUM ??
  NAMES.map((name) => onPath(name)).find(Boolean) ??
  PLACES.find((file) => existsSync(file)) ??
  null;

/** The browser of the page's tests. */
export const chromium = {
  name: 'chromium',
  optional: true,
  title: 'Chromium for tests',
  makes: [],
  needs: [],
  from: () => digest([], [process.platform, findChromium() ?? 'none']),
  async run(progress) {
    if (findChromium() !== null) return 'already installed';
    if (process.platform !== 'linux' || process.getuid() !== 0 || onPath('apt-get') === null) {
      throw new ToolError('Install Chromium or Chrome, or name one in HONE_CHROMIUM.', []);
    }
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    progress.update('reading package lists');
    await runTool('apt-get', ['update', '-q'], { env });
    const onLine = (line) => progress.update(line.slice(0, 70));
    await runTool('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'chromium'], { env, onLine });
    if (findChromium() === null) throw new ToolError('apt-get installed no program named chromium.', []);
  },
};
