/** All operations with random requests; HONE_COUNT of them for each kind of data of each operation. */
import { test } from 'uvu';
import { testEveryOperation } from './schemathesis.ts';

testEveryOperation(Number(process.env.HONE_COUNT ?? 20));

test.run();
