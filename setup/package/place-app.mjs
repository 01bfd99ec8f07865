import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

/** Says which build is in the folder, and its files; written last. */
const MANIFEST = 'installed.json';

/** What a user can correct. */
export class PlaceError extends Error {}

/** The build in a folder: its version, its digest and its files; `null` if there is none, or only a part. */
export function readInstalled(app) {
  try {
    return JSON.parse(readFileSync(join(app, MANIFEST), 'utf8'));
  } catch {
    return null;
  }
}

/** Whether one version, as in `2.1.0`, is newer than another. */
export function isNewer(one, other) {
  const [left, right] = [one, other].map((text) => text.split(/[.-]/, 3).map(Number));
  const at = left.findIndex((part, index) => part !== right[index]);
  return at >= 0 && left[at] > right[at];
}

/** Files under a folder, with `/` in their paths. */
export const filesOf = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1))
    .map((path) => path.replaceAll('\\', '/'))
    .sort();

const reasons = {
  // What Node makes of a folder within one that is read-only, or of one within a file.
  ENOENT: 'it cannot be made',
  ENOTDIR: 'it cannot be made',
  EACCES: 'it cannot be written to',
  EPERM: 'it cannot be written to',
  EROFS: 'it cannot be written to',
  ENOSPC: 'the disk is full',
  EDQUOT: 'your quota of the disk is used up',
};

/** What a user can do about an error while files are written to a folder; other errors as they are. */
function placeError(folder, error) {
  const why = reasons[error.code];
  if (why === undefined) return error;
  return new PlaceError(
    `Hone cannot be installed in ${folder}: ${why} (${error.code}). Correct that; on Linux, XDG_CACHE_HOME may also name another folder.`,
    { cause: error },
  );
}

/** Makes the folder that the application comes into. @throws PlaceError where that is not possible. */
export function makeCache(folder) {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw placeError(folder, error);
  }
}

/**
 * Brings the application of a package into its folder, in place of an earlier version: its environment stays there, and the
 * set-up repeats only what has changed. An interrupted copy is done again at the next start.
 * @param from the application in the package.
 * @param build its version and digest.
 * @returns the version that it replaced; `null` where there was none or nothing had to be done.
 * @throws PlaceError where a newer version is there, or the folder cannot be written to.
 */
export function placeApp(from, app, build) {
  const installed = readInstalled(app);
  if (installed?.digest === build.digest) return null;
  if (installed !== null && isNewer(installed.version, build.version))
    throw new PlaceError(
      `Hone ${installed.version} is installed in ${app}, and this is ${build.version}. Use "npx hone-tune@latest", or remove it with "hone uninstall".`,
    );
  try {
    mkdirSync(app, { recursive: true });
    const files = filesOf(from);
    cpSync(from, app, { recursive: true, force: true });
    const kept = new Set(files);
    for (const gone of (installed?.files ?? []).filter((file) => !kept.has(file)))
      rmSync(join(app, gone), { force: true });
    const aside = join(app, `${MANIFEST}.${process.pid}`);
    writeFileSync(aside, JSON.stringify({ ...build, files }));
    renameSync(aside, join(app, MANIFEST));
  } catch (error) {
    throw placeError(app, error);
  }
  return installed?.version ?? null;
}

/** The process of a service that uses the data folder; `null` if none runs. */
export function runningService(data) {
  try {
    const { pid } = JSON.parse(readFileSync(join(data, 'instance.json'), 'utf8'));
    process.kill(pid, 0);
    return pid;
  } catch {
    return null;
  }
}

/**
 * Removes the application, its environment and everything else that can be recreated; the data stays.
 * @throws PlaceError while the service runs.
 */
export function removeApp({ cache, data }) {
  const pid = runningService(data);
  if (pid !== null) throw new PlaceError(`Hone is running (process ${pid}). End it first, with Ctrl+C.`);
  const isThere = existsSync(cache);
  // First what says that it is complete.
  rmSync(join(cache, 'app', MANIFEST), { force: true });
  rmSync(cache, { recursive: true, force: true });
  const kept = existsSync(data) ? ` Your datasets, models and runs are still in ${data}.` : '';
  return `${isThere ? `Removed ${cache}.` : `There is nothing in ${dirname(cache)}.`}${kept}`;
}
