import * as v from 'valibot';
import { createPrivateFile, type PrivateFile } from './private-file.ts';

/** Keys of other services by what they are of, in a file that only this user can read. */
export type KeptKeys = PrivateFile<string>;

/** @param of what each key is of, for messages. */
export const createKeptKeys = (path: string, of: string): KeptKeys =>
  createPrivateFile(path, v.string(), `a key for each ${of}`);
