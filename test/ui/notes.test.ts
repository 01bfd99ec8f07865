/** What the page says of its figures: nothing that it shows by a name of the field stays unexplained. */
import './page-globals.ts';

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quantizationTypes } from '../../src/contract/models/quantizations.ts';
import { noteOf } from '../../ui/elements/info/notes.ts';
import { figureLabel, figureNames } from '../../ui/views/evaluation-words.ts';
import { singles } from '../../ui/views/runs/run-charts.ts';
import { names as verificationNames } from '../../ui/views/runs/verification.ts';

const named = {
  'figures of evaluations': figureNames.map(figureLabel),
  'types of files': quantizationTypes,
  'charts of a run': singles.map(({ name }) => name),
  'figures of a verification': Object.values(verificationNames),
};

for (const [what, labels] of Object.entries(named)) {
  test(`all ${what} have a note of one to three sentences`, () => {
    for (const label of labels) {
      const note = noteOf(label);
      assert.ok(note, label);
      const sentences = note.match(/[.:?](?= [A-Z]|$)/g) ?? [];
      assert.ok(sentences.length >= 1 && sentences.length <= 3 && note.length < 260, `${label}: ${note}`);
    }
  });
}

test('a name that is none of them has no note, whatever objects inherit', () => {
  for (const name of ['constructor', 'toString', 'Uploaded']) assert.is(noteOf(name), undefined);
});

test.run();
