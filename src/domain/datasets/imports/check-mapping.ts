import { type RowShape, rowShapes } from '../../../contract/rows.ts';
import { refusalOf } from '../../../faults.ts';
import type { ImportMapping } from '../../../trainer/import-rows.ts';
import type { Proposal } from './import-record.ts';

/** Shapes whose rows can have a system prompt. */
const withSystem = ['input-output', 'messages'];

/**
 * Checks a mapping against the columns that the source has.
 * @throws AppError `invalid` naming the field or column.
 */
export function checkMapping(mapping: ImportMapping, columns: Proposal['columns']): void {
  const { target, templates = {}, system, metadata = [] } = mapping;
  const fields: readonly string[] = rowShapes[target as RowShape];
  const given = [...Object.keys(mapping.columns), ...Object.keys(templates)];
  const wrong = given.find((field) => !fields.includes(field));
  if (wrong !== undefined) {
    throw refusalOf('mapping', `"${wrong}" is no field of ${target}; its fields: ${fields.join(', ')}`);
  }
  const checkColumn = (column: string) => {
    if (columns.some(({ name }) => name === column)) return;
    const known = columns.map(({ name }) => name).join(', ');
    throw refusalOf('mapping', `The source has no column "${column}"; its columns: ${known.slice(0, 500)}`);
  };
  for (const field of fields) {
    const column = mapping.columns[field];
    const template = templates[field];
    if (column !== undefined && template !== undefined) {
      throw refusalOf('mapping', `The field "${field}" has a column and a template; give one of them`);
    }
    if (column !== undefined) checkColumn(column);
    else if (template === undefined)
      throw refusalOf('mapping', `No column is given for the field "${field}"`);
    else if (field === 'messages') {
      throw refusalOf('mapping', 'A conversation is a list and has no template; give its column');
    } else if (checkTemplate(`The template of "${field}"`, template, checkColumn) === 0) {
      throw refusalOf(
        'mapping',
        `The template of "${field}" names no column; write {{column}} where one belongs`,
      );
    }
  }
  metadata.forEach(checkColumn);
  if (system === undefined) return;
  if (!withSystem.includes(target)) {
    throw refusalOf(
      'mapping',
      `Rows of ${target} have no system prompt; those of ${withSystem.join(' and ')} can`,
    );
  }
  checkTemplate('The system prompt', system, checkColumn);
}

/**
 * Checks a template, such as `{{Team}}: {{Answer}}`; trainer/importing/template.py fills it in. `\{{` is `{{` itself.
 * @returns how many columns it names.
 * @throws AppError `invalid`, also for braces that are not closed.
 */
function checkTemplate(what: string, template: string, checkColumn: (column: string) => void): number {
  const pieces = template.split(/(?<!\\)\{\{/);
  for (const piece of pieces.slice(1)) {
    const end = piece.indexOf('}}');
    if (end < 0 || piece.slice(0, end).trim() === '') {
      const shown = `{{${piece.slice(0, 40)}`;
      throw refusalOf('mapping', `${what} has "${shown}" without a column and "}}"; write {{column}}`);
    }
    checkColumn(piece.slice(0, end).trim());
  }
  return pieces.length - 1;
}
