/** All operations with their examples and the bounds of their fields; a long test adds more random requests. */
import { test } from 'uvu';
import { testEveryOperation } from './schemathesis.ts';

testEveryOperation(1);

test.run();
