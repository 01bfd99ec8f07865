// Downloads a native module and loads it, in a separate process because the module may crash.
//   node fetch-native.mjs URL FILE EXPORT
// The last line on stderr is the error.
import { createWriteStream } from 'node:fs';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const [url, file, name] = process.argv.slice(2);

async function download() {
  const response = await fetch(url);
  if (!response.ok || response.body === null)
    throw new Error(`${new URL(url).host} answered ${response.status}`);
  await pipeline(Readable.fromWeb(response.body), createWriteStream(file));
}

function load() {
  const module = createRequire(import.meta.url)(file);
  if (typeof module[name] !== 'function') throw new Error(`it has no ${name}`);
}

/** The innermost cause has the actual error; outer errors are generic. */
const innermost = (error) => (error.cause instanceof Error ? innermost(error.cause) : error);

try {
  await download();
} catch (error) {
  const { message, code } = innermost(error);
  console.error(message || code);
  process.exit(1);
}
try {
  load();
} catch (error) {
  console.error(
    `the downloaded file does not load: ${error.message.split('\n')[0].replace(`${file}: `, '')}`,
  );
  process.exit(1);
}
