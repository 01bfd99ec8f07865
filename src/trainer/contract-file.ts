import { failureCodes, failures } from '../contract/failures.ts';
import { journalLines, protocolVersion } from '../contract/journal.ts';
import { ggufArchitectures } from '../contract/models/gguf-bases.ts';
import { quantizations, quantizationTypes } from '../contract/models/quantizations.ts';
import { rowShapes } from '../contract/rows.ts';
import { mayBeNull, type Setting, settingNames, settings } from '../contract/settings.ts';

/** The generated file from which the trainer reads the shared facts, relative to the root of the repository. */
export const contractPath = 'trainer/protocol/contract.json';

const kinds: Readonly<Record<Setting['kind'], string>> = {
  integer: 'integer',
  number: 'number',
  switch: 'boolean',
  choice: 'text',
  text: 'text',
  names: 'list',
  lines: 'list',
};

function settingOf(setting: Setting) {
  const kind = kinds[setting.kind] + (mayBeNull(setting) ? '?' : '');
  return 'before' in setting ? { kind, before: setting.before } : { kind };
}

/** The content of `trainer/protocol/contract.json`, generated from `src/contract/`. */
export const contractText = (): string =>
  `${JSON.stringify(
    {
      protocol: protocolVersion,
      settings: Object.fromEntries(settingNames.map((name) => [name, settingOf(settings[name])])),
      rows: rowShapes,
      journal: journalLines,
      quantizations: Object.fromEntries(
        quantizationTypes.map((name) => [name, { direct: quantizations[name].direct }]),
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
