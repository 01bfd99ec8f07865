import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { triedArchitectures, whyNoGgufWasMade } from '../../src/contract/models/architectures.ts';

const rows = Object.values(triedArchitectures);

test('an architecture has a reason against GGUF where all of its toys failed, and there alone', () => {
  const made = new Set(rows.filter(({ gguf }) => gguf).map(({ architecture }) => architecture));
  const failed = rows.filter(({ architecture }) => !made.has(architecture));
  assert.ok(made.size > 50 && failed.length > 0);
  for (const architecture of made) assert.is(whyNoGgufWasMade(architecture), null, architecture);
  for (const { architecture, why } of failed) {
    assert.type(why, 'string');
    const reasons = failed.filter((row) => row.architecture === architecture).map((row) => row.why);
    assert.ok(reasons.includes(whyNoGgufWasMade(architecture)), architecture);
  }
  assert.is(whyNoGgufWasMade('NobodyForCausalLM'), null);
});

test.run();
