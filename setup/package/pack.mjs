import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { npmProgram } from '../npm-program.mjs';
import { inRoot } from '../paths.mjs';
import { filesOf } from './place-app.mjs';

/*
 * `npm run package` makes the package `hone-tune` in `build/`: the command, and the application without its tests, benchmarks
 * and packages, which it sets up at the user's.
 */

const COMMAND = 'app/setup/package/hone.mjs';
/** Files of the repository that only its developers need. */
const isLeftOut = (path) => /^(test|bench|\.ci|\.github|trainer\/tests)\/|(^|\/)\.gitignore$/.test(path);

const stage = inRoot('build', 'package');
const app = join(stage, 'app');
rmSync(stage, { recursive: true, force: true });
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: inRoot(), encoding: 'utf8' }).split('\0');
for (const path of [...tracked.filter((one) => one !== '' && !isLeftOut(one)), 'dist']) {
  mkdirSync(dirname(join(app, path)), { recursive: true });
  cpSync(inRoot(path), join(app, path), { recursive: true });
}
// What was built counts as built there.
const step = pathToFileURL(join(app, 'setup', 'steps', 'bundles.mjs'));
const stamps = pathToFileURL(join(app, 'setup', 'stamp.mjs'));
const [{ bundles }, { writeStamp }] = await Promise.all([import(step), import(stamps)]);
writeStamp(bundles.name, bundles.from());

for (const name of ['README.md', 'LICENSE']) cpSync(inRoot(name), join(stage, name));
const digest = createHash('sha256');
for (const path of filesOf(app)) digest.update(`${path}\0`).update(readFileSync(join(app, path)));
const { version, description, license, engines } = JSON.parse(readFileSync(inRoot('package.json'), 'utf8'));
writeFileSync(
  join(stage, 'package.json'),
  JSON.stringify(
    {
      ...{ name: 'hone-tune', version, description, license, type: 'module', engines },
      bin: { hone: COMMAND, 'hone-tune': COMMAND },
      files: ['app'],
      digest: digest.digest('hex'),
    },
    null,
    2,
  ),
);
const packed = execFileSync(
  process.execPath,
  [npmProgram(), 'pack', stage, '--json', '--pack-destination', inRoot('build')],
  { cwd: stage, encoding: 'utf8' },
);
const [{ filename, size, entryCount }] = JSON.parse(packed);
console.log(`build/${filename}: ${(size / 1e6).toFixed(1)} MB, ${entryCount} files`);
