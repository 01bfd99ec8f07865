import { readFileSync } from 'node:fs';
import { inRoot } from './paths.mjs';

/** The ranges of `engines.node`, as [major, least minor]. */
const ranges = () =>
  JSON.parse(readFileSync(inRoot('package.json'), 'utf8'))
    .engines.node.split('||')
    .map((range) => range.replace('^', '').trim().split('.').map(Number));

/** Whether package.json's `engines` includes a version of Node, such as 22.14.0. */
export function isSupported(version) {
  const [major, minor] = version.split('.').map(Number);
  return ranges().some(([wanted, least = 0]) => major === wanted && minor >= least);
}

/** The supported versions as text: "20.17, 22.14, 24 or 26". */
export function supportedText() {
  const names = ranges().map(([major, least = 0]) => (least > 0 ? `${major}.${least}` : `${major}`));
  return `${names.slice(0, -1).join(', ')} or ${names[names.length - 1]}`;
}
