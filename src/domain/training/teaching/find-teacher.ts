import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { taughtTypes, textInstead } from '../../../contract/training/teaching.ts';
import { type Faults, refusalOf } from '../../../faults.ts';
import { findCached } from '../../../hub/cached-model.ts';
import type { Description, Teacher } from '../../../trainer/protocol.ts';
import { type BaseModel, checkBase, locateModel } from '../../base-models/base-model.ts';
import { adapterWeights } from '../../base-models/files/weight-files.ts';
import type { ModelKind } from '../../base-models/gguf/gguf-verdict.ts';
import type { SizeOf } from '../../base-models/model-size.ts';
import { whyNotLoaded } from '../../base-models/model-verdict.ts';
import { isWhole, type Parents } from '../../base-models/parent.ts';
import { firstOtherToken } from './same-tokens.ts';

/** What a teacher is found with. */
export interface TeacherJudges {
  readonly parents: Parents;
  readonly sizeOf: SizeOf;
}

/** A model that learns from a teacher. */
export interface Student {
  readonly base: Pick<BaseModel, 'name' | 'path'>;
  readonly kind: ModelKind;
}

function refuse(msg: string): never {
  throw refusalOf('teacher', msg);
}

/**
 * The teacher that a request names, for a student, if that is known.
 * @throws AppError `invalid` or `not_found` with the reason why it cannot teach.
 */
export async function findTeacher(
  reference: string,
  student: Student | null,
  { parents, sizeOf }: TeacherJudges,
  description: Description,
): Promise<Teacher> {
  if (/^https?:\/\//i.test(reference)) {
    refuse(
      `A model at a URL cannot teach by its probabilities: such services tell them of their own answers alone, not of those in your rows. Name a model on this machine. ${textInstead}`,
    );
  }
  const found = await parents.find(reference);
  const base =
    found === null ? locateModel(reference) : locateModel(isWhole(found) ? found.folder : found.baseModel);
  if (found?.mergesAdapter) {
    refuse(
      `The base of ${found.name} was merged with an adapter for its training, and is not kept. Export ${found.name} as merged weights, and name that folder`,
    );
  }
  const adapter = found === null || isWhole(found) ? null : found.folder;
  if (adapter !== null && !existsSync(join(adapter, adapterWeights)))
    refuse(`The adapter of ${reference} is gone: there is no ${adapterWeights} in ${adapter}`);
  await checkBase(base);
  const size = await sizeOf(base.gguf ?? base.path ?? base.name);
  const faults = whyNotLoaded(base.name, size, description);
  if (faults[0] !== undefined) refuse(faults[0]);
  const why = whyNotTaught(size.kind) ?? whyStored(size.kind);
  if (why !== null) refuse(`${reference} cannot teach: ${why}`);
  if (student !== null) await refuseOtherTokens(reference, base, student);
  return { name: reference, path: base.path, gguf: base.gguf ?? null, adapter };
}

/** Why a model can neither teach nor learn from a teacher; `null` if it can, or if nothing is known of it. */
export function whyNotTaught({ modelType, textType }: ModelKind): string | null {
  const type = textType ?? modelType;
  if (type === null || taughtTypes.includes(type)) return null;
  return `distill knows models of the types ${taughtTypes.join(', ')}, and this one is ${type}`;
}

const whyStored = ({ quantization }: ModelKind): string | null =>
  quantization === null
    ? null
    : `its weights are stored quantized (${quantization}); name the 16-bit version of the model`;

async function refuseOtherTokens(reference: string, base: BaseModel, student: Student): Promise<void> {
  const [ours, theirs] = await Promise.all([folderOf(student.base), folderOf(base)]);
  const other = ours === null || theirs === null ? null : await firstOtherToken(ours, theirs);
  if (other === null) return;
  refuse(
    `${reference} has other tokens than ${student.base.name}: ${other}. Choose a teacher with the student's tokens, such as a larger model of its family. ${textInstead}`,
  );
}

/** The folder with a model's files, if they are on this machine. */
const folderOf = ({ name, path }: Student['base']): Promise<string | null> =>
  path === null ? findCached(name) : Promise.resolve(path);

/** `findTeacher` for a request with this strategy, with the errors of both models. */
export async function judgeTeacher(
  reference: string | null,
  student: Student | null,
  judges: TeacherJudges,
  description: Description,
  faults: Faults,
): Promise<Teacher | null> {
  const why = student === null ? null : whyNotTaught(student.kind);
  if (why !== null) faults.add('model_name', `${student?.base.name} cannot learn from a teacher: ${why}`);
  // A rule says that it needs one.
  if (reference === null) return null;
  return faults.of('teacher', () =>
    findTeacher(reference, why === null ? student : null, judges, description),
  );
}
