import { textInstead } from '../../../contract/training/teaching.ts';
import { AppError } from '../../../errors.ts';
import { locateModel } from '../../base-models/base-model.ts';
import type { LocalModels } from '../../base-models/local-models.ts';
import { isWhole } from '../../base-models/parent.ts';
import type { TrainerRegistry } from '../../machine/trainer-registry.ts';
import { findTeacher, type Student, type TeacherJudges, whyNotTaught } from './find-teacher.ts';

/** A model on this machine, or of another service, and why it cannot teach a student, `null` if it can. */
export interface JudgedTeacher {
  /** As `teacher` of a request names it. */
  readonly name: string;
  /** Whether it was trained here, is a base model, or answers elsewhere. */
  readonly kind: 'model' | 'base' | 'remote';
  readonly reason: string | null;
}

export interface Teachers {
  /**
   * What there is to teach a student, which `model_name` of a request names: those that can first.
   * @throws AppError `invalid` or `not_found` for a student that is not there, or that cannot learn from a teacher.
   */
  list(student: string): Promise<JudgedTeacher[]>;
}

export function createTeachers(
  options: TeacherJudges & {
    readonly registry: Pick<TrainerRegistry, 'get'>;
    readonly localModels: LocalModels;
    /** The names of models that were trained here, and of those of other services. */
    readonly names: () => { readonly models: readonly string[]; readonly remote: readonly string[] };
  },
): Teachers {
  async function studentOf(reference: string): Promise<Student> {
    const found = await options.parents.find(reference);
    const named = found === null ? reference : isWhole(found) ? found.folder : found.baseModel;
    const base = locateModel(named);
    const { kind } = await options.sizeOf(named);
    const why = whyNotTaught(kind);
    if (why !== null) throw new AppError('invalid', `${reference} cannot learn from a teacher: ${why}.`);
    return { base, kind };
  }

  return {
    async list(reference) {
      const [student, description, bases] = await Promise.all([
        studentOf(reference),
        options.registry.get(),
        options.localModels(),
      ]);
      const { models, remote } = options.names();
      const found: JudgedTeacher[] = remote.map((name) => ({
        name,
        kind: 'remote',
        reason: `It answers at another service, which tells no probabilities of the answers in your rows. ${textInstead}.`,
      }));
      const named = [
        ...models.map((name) => ({ name, kind: 'model' as const })),
        ...bases.map(({ model }) => ({ name: model, kind: 'base' as const })),
      ];
      // One after another: tokenizers of megabytes are compared.
      for (const { name, kind } of named) found.push({ name, kind, reason: await whyNot(name, student) });
      return [
        ...found.filter(({ reason }) => reason === null),
        ...found.filter(({ reason }) => reason !== null),
      ];

      async function whyNot(name: string, of: Student): Promise<string | null> {
        try {
          await findTeacher(name, of, options, description);
          return null;
        } catch (error) {
          if (error instanceof AppError && (error.kind === 'invalid' || error.kind === 'not_found'))
            return error.message;
          throw error;
        }
      }
    },
  };
}
