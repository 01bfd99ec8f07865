import { test } from 'uvu';
import { fuzz } from './fuzz.ts';

// A million requests over both engines, or as many as `npm run test:long -- --count N` says.
const count = Number(process.env.HONE_COUNT ?? 1_000_000);
fuzz('uws', count / 2);
fuzz('node', count / 2);
test.run();
