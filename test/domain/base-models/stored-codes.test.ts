/** What a model's own files say of weights that are stored as codes; anything may stand there. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ggufParts } from '../../../src/contract/models/gguf-parts.ts';
import { kindOf } from '../../../src/domain/base-models/gguf/gguf-verdict.ts';

const codesOf = (quantization_config: object) => kindOf({ quantization_config }).codes;

test('the forms and bits of codes are read, and a method that nothing is known of has none', () => {
  assert.equal(codesOf({ quant_method: 'gptq', bits: 3 }), { forms: ['gptq'], bits: 3 });
  for (const method of ['constructor', '__proto__', 'toString', 'valueOf', 'hasOwnProperty', 'other'])
    assert.is(codesOf({ quant_method: method }), null, method);
});

test('bits that fit no word of 32 bits are those of most models', () => {
  for (const bits of [64, 0, -4, 3.5, '4', null])
    assert.is(codesOf({ quant_method: 'gptq', bits })?.bits, 4, String(bits));
});

test('a split file has as many parts as its name says, unless no model has so many', () => {
  assert.is(ggufParts('/a/x-00001-of-01000.gguf').length, 1_000);
  assert.equal(ggufParts('/a/x-00001-of-99999.gguf'), ['/a/x-00001-of-99999.gguf']);
});

test.run();
