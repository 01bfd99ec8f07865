import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { modelFile } from '../../base-models/files/model-file.ts';

/** The largest file that is read, as in trainer/model/check.py. */
const mostBytes = 2 ** 27;
/** Files whose digests are kept. */
const mostKept = 200;

/** A tokenizer's file, by which tokens are compared. */
interface TokenFile {
  readonly path: string;
  readonly digest: string;
}

const digests = new Map<string, string>();

/**
 * The first token that differs between the tokenizers of two model folders, in a sentence's words; `null` if none does, or
 * if one cannot be read here: the trainer compares them again (trainer/training/teaching/same_tokens.py).
 */
export async function firstOtherToken(student: string, teacher: string): Promise<string | null> {
  const files = await Promise.all([student, teacher].map(fileOf));
  const [one, other] = files;
  if (!one || !other || one.digest === other.digest) return null;
  const [ours, theirs] = await Promise.all([tokensOf(one), tokensOf(other)]);
  if (ours === null || theirs === null) return null;
  const numbers = [...new Set([...ours.keys(), ...theirs.keys()])].sort((a, b) => a - b);
  const differs = numbers.find((number) => ours.get(number) !== theirs.get(number));
  if (differs === undefined) return null;
  const said = (token: string | undefined) =>
    token === undefined ? 'missing' : JSON.stringify(token.slice(0, 80));
  return `token ${differs} is ${said(theirs.get(differs))} in the teacher and ${said(ours.get(differs))} in the student`;
}

async function fileOf(folder: string): Promise<TokenFile | null> {
  try {
    const path = await modelFile(folder, 'tokenizer.json');
    const { size, mtimeMs, ino } = await stat(path);
    if (size > mostBytes) return null;
    const key = [path, size, mtimeMs, ino].join();
    const digest = digests.get(key) ?? (await digestOf(path));
    if (digests.size >= mostKept) digests.clear();
    digests.set(key, digest);
    return { path, digest };
  } catch {
    return null;
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest('hex');
}

/** The tokens of a tokenizer.json by their numbers; `null` for a file of another form. */
async function tokensOf({ path }: TokenFile): Promise<Map<number, string> | null> {
  try {
    const { model, added_tokens: added } = JSON.parse(await readFile(path, 'utf8')) as Tokenizer;
    const found = new Map<number, string>();
    // Unigram models have a list of tokens with their scores.
    if (Array.isArray(model.vocab))
      for (const [number, [token]] of model.vocab.entries()) found.set(number, token);
    else for (const [token, number] of Object.entries(model.vocab)) found.set(number, token);
    for (const { id, content } of added ?? []) found.set(id, content);
    return found;
  } catch {
    return null;
  }
}

interface Tokenizer {
  readonly model: {
    readonly vocab: Readonly<Record<string, number>> | readonly (readonly [string, number])[];
  };
  readonly added_tokens?: readonly { readonly id: number; readonly content: string }[];
}
