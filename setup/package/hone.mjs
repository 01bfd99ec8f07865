#!/usr/bin/env node
// The command of the package `hone-tune`: brings the application into the user's cache folder, and runs it there.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeLock } from '../lock.mjs';
import { runNode } from '../run-node.mjs';
import { newerChanges, newestVersion } from './changes.mjs';
import { folders } from './folders.mjs';
import { makeCache, PlaceError, placeApp, readInstalled, removeApp } from './place-app.mjs';

/** The application in the package. */
const packed = fileURLToPath(new URL('../..', import.meta.url));
const { version, digest } = JSON.parse(readFileSync(join(packed, '..', 'package.json'), 'utf8'));

/** Says what is installed, what this package changes, and whether there is a newer one. */
async function tellUpgrade({ app }) {
  const installed = readInstalled(app);
  console.log(
    installed === null
      ? `Hone ${version} is not set up yet.`
      : `Hone ${installed.version} is set up in ${app}.`,
  );
  if (installed !== null && installed.version !== version) {
    console.log(`The next command upgrades it to ${version}:\n`);
    console.log(newerChanges(readFileSync(join(packed, 'CHANGELOG.md'), 'utf8'), installed.version));
  }
  const newest = await newestVersion();
  if (newest === null) console.log('npm could not say whether there is a newer version.');
  else if (newest === version) console.log(`${version} is the newest version.`);
  else console.log(`The newest version is ${newest}: npm install --global hone-tune@${newest}`);
  return 0;
}

async function main() {
  const where = folders();
  const [verb] = process.argv.slice(2);
  if (verb === 'uninstall') {
    console.log(removeApp(where));
    return 0;
  }
  if (verb === 'upgrade') return tellUpgrade(where);
  if (readInstalled(where.app)?.digest !== digest) {
    makeCache(where.cache);
    const release = await takeLock(join(where.cache, 'place-app.lock'), (pid) =>
      console.error(`Waiting for another installation (process ${pid}) …`),
    );
    try {
      const before = placeApp(packed, where.app, { version, digest });
      if (before !== null && before !== version) console.error(`Upgraded Hone ${before} to ${version}.`);
    } finally {
      release();
    }
  }
  const code = await runNode(process.execPath, [join(where.app, 'setup.mjs'), ...process.argv.slice(2)]);
  if (verb === '--help' || verb === '-h')
    console.log(
      '\n  upgrade    say what is set up, and what a newer version changes\n  uninstall  remove all but your datasets, models and runs',
    );
  return code;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    console.error(error instanceof PlaceError ? `hone: ${error.message}` : error);
    process.exitCode = 1;
  },
);
