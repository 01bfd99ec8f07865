import { createFaults } from '../../../faults.ts';
import type { DocumentRowsOptions } from './document-rows-options.ts';
import { isVariantKind } from './row-kinds.ts';
import type { MakingRequest } from './row-making.ts';
import type { Teacher } from './teacher.ts';

/**
 * Looks up all that a request names.
 * @param teacher who must know the model, if it is to be asked.
 * @throws AppError `invalid` or `not_found` with all errors.
 */
export async function checkRequest(
  { documents, datasets, graders }: Pick<DocumentRowsOptions, 'documents' | 'datasets' | 'graders'>,
  { documents: ids, model, grader, dataset, validationShare, kind }: MakingRequest,
  teacher?: Pick<Teacher, 'requireModel'>,
): Promise<void> {
  const faults = createFaults();
  await faults.of('documents', () => ids.forEach((id) => void documents.get(id)));
  await faults.of('model', () => teacher?.requireModel(model));
  if (grader !== null) await faults.of('grader', () => void graders.get(grader));
  if (dataset !== null) await faults.of('dataset', () => void datasets.get(dataset));
  if (validationShare > 0 && !isVariantKind(kind) && new Set(ids).size < 2)
    faults.add(
      'validation_share',
      'validation_share needs at least two documents, because no document is in both datasets; add another, or set it to 0',
    );
  faults.raise();
}
