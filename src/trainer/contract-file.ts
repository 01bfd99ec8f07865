import { failureCodes, failures } from '../contract/failures.ts';
import { journalLines, protocolVersion } from '../contract/journal.ts';
import { ggufArchitectures } from '../contract/models/gguf-bases.ts';
import { quantizations, quantizationTypes } from '../contract/models/quantizations.ts';
import { rowShapes } from '../contract/rows.ts';
import { mayBeNull, type Setting, settingNames, settings } from '../contract/settings.ts';

/** The generated file from which the trainer reads the shared facts, relative to the root of the repository. */
export const contractPath = 'trainer/protocol/contract.json';

/** The generated file with the trainer's class of the settings, relative to the root of the repository. */
export const settingsPath = 'trainer/protocol/settings.py';

const pythonTypes: Readonly<Record<Setting['kind'], string>> = {
  integer: 'int',
  number: 'float',
  switch: 'bool',
  choice: 'str',
  text: 'str',
  names: 'list[str]',
  prompts: 'list[str | dict[str, object]]',
  graders: 'list[dict[str, object]]',
  format: 'dict[str, object]',
};

/** A text, a number, a boolean or null in Python. */
function literal(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}

/** A field of `Settings`; null means that the trainer chooses by what the machine has. */
function fieldOf(name: string, setting: Setting): string {
  const type = pythonTypes[setting.kind] + (mayBeNull(setting) ? ' | None' : '');
  return `    ${name}: ${type}${'before' in setting ? ` = ${literal(setting.before)}` : ''}\n`;
}

const settingsHead = `"""The training request's own fields. \`npm run generate\` writes this file from \`src/contract/\`."""

from __future__ import annotations

import msgspec


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The training request's own fields. One with a default may be absent: some job folders are older."""

`;

/** The content of `trainer/protocol/settings.py`, generated from `src/contract/`. */
export const settingsText = (): string =>
  settingsHead + settingNames.map((name) => fieldOf(name, settings[name])).join('');

/** The content of `trainer/protocol/contract.json`, generated from `src/contract/`. */
export const contractText = (): string =>
  `${JSON.stringify(
    {
      protocol: protocolVersion,
      rows: rowShapes,
      journal: journalLines,
      quantizations: Object.fromEntries(
        quantizationTypes.map((name) => {
          const { direct, importance } = quantizations[name];
          return [name, { direct, importance }];
        }),
      ),
      gguf_architectures: Object.fromEntries(
        Object.entries(ggufArchitectures).map(([name, { modelType, className }]) => [
          name,
          { model_type: modelType, class: className },
        ]),
      ),
      failures: Object.fromEntries(
        failureCodes.map((code) => [
          code,
          { message: failures[code].message, advice: failures[code].advice },
        ]),
      ),
    },
    null,
    2,
  )}\n`;
