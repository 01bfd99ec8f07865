import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inRoot } from '../paths.mjs';
import { digest } from '../stamp.mjs';
import { runTool } from '../tool.mjs';
import { Unavailable } from '../unavailable.mjs';

const DEADLINE_MS = 20_000;
const VERSION = JSON.parse(readFileSync(inRoot('package.json'), 'utf8')).config['uWebSockets.js'];
/**
 * The release's files in the project's repository; it is in no registry. `HONE_UWS_FROM` overrides the URL, for a mirror or
 * a test; it ends with a slash.
 */
const RELEASE = `https://raw.githubusercontent.com/uNetworking/uWebSockets.js/v${VERSION}/`;
/** The module versions of Node 22, 24 and 26; on Linux for glibc. */
const ABIS = ['127', '137', '147'];
const PLATFORMS = ['linux x64', 'linux arm64', 'darwin x64', 'darwin arm64', 'win32 x64'];

const { platform, arch, versions } = process;
const FILE = `uws_${platform}_${arch}_${versions.modules}.node`;
const HAS_BUILD = ABIS.includes(versions.modules) && PLATFORMS.includes(`${platform} ${arch}`);
/** Where src/http looks for it. */
const PLACE = `build/uws/${VERSION}/${FILE}`;

/** The native HTTP server for Node 22 and later; without it, Node's own server is used. */
export const uws = {
  name: 'uws',
  title: `uWebSockets.js ${VERSION}`,
  optional: true,
  makes: HAS_BUILD ? [PLACE] : [],
  needs: [],
  from: () => digest([], [VERSION, platform, arch, versions.modules]),
  async run(progress) {
    if (versions.modules === '115') return 'not needed: included in the packages on Node 20';
    if (!HAS_BUILD) return `skipped: no build for Node ${versions.node} on ${platform} ${arch}`;
    if (existsSync(inRoot(PLACE))) return 'already installed';
    progress.update('downloading');
    mkdirSync(inRoot('build'), { recursive: true });
    const aside = mkdtempSync(inRoot('build', 'uws-'));
    try {
      const program = inRoot('setup', 'fetch-native.mjs');
      const url = (process.env.HONE_UWS_FROM ?? RELEASE) + FILE;
      // Node uses a proxy only if this is set.
      const env = { ...process.env, NODE_USE_ENV_PROXY: '1' };
      await runTool(process.execPath, [program, url, join(aside, FILE), 'App'], {
        env,
        deadlineMs: DEADLINE_MS,
      });
      mkdirSync(dirname(inRoot(PLACE)), { recursive: true });
      renameSync(join(aside, FILE), inRoot(PLACE));
    } catch (error) {
      // No output means that loading the file crashed the process.
      const said = error.tail?.at(-1) ?? 'the downloaded file does not load: it crashes';
      const why = error.timedOut ? `not downloaded within ${DEADLINE_MS / 1000} s` : said;
      throw new Unavailable(`not available (${why}); Node's own HTTP server is used instead`);
    } finally {
      rmSync(aside, { recursive: true, force: true });
    }
  },
};
