import { readFileSync } from 'node:fs';
import type { Requests } from './command.ts';

/** The requests of all commands, which are built beside this program. */
export const readRequests = (): Requests =>
  JSON.parse(readFileSync(new URL('requests.json', import.meta.url), 'utf8')) as Requests;
