/** What is known of the text part of a model before its download. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { kindOf } from '../../../src/domain/base-models/gguf/gguf-verdict.ts';
import { isDecoder, whyNotPair } from '../../../src/domain/base-models/model-pair.ts';
import { shapeOf, textParameters } from '../../../src/domain/base-models/model-shape.ts';

/** Sizes as Gemma 3 4B's. */
const vision = { hidden_size: 1152, intermediate_size: 4304, num_hidden_layers: 27 };
const text = {
  model_type: 'gemma3_text',
  ...{ hidden_size: 2560, intermediate_size: 10_240, num_hidden_layers: 34, vocab_size: 262_208 },
};
const seeing = {
  architectures: ['Gemma3ForConditionalGeneration'],
  model_type: 'gemma3',
  ...{ text_config: text, vision_config: vision },
};
const description = {
  combinations: [],
  text_parts: { architectures: ['Gemma3ForConditionalGeneration'], model_types: ['gemma3_text'] },
};

test('the weights of a vision encoder are not counted', () => {
  assert.ok(Math.abs(textParameters(seeing, 4.3e9) - 3.89e9) < 0.03e9);
  const { hidden_size, intermediate_size, num_hidden_layers: depth } = vision;
  const other = { vision_config: { depth, embed_dim: hidden_size, intermediate_size } };
  assert.is(textParameters(other, 4.3e9), textParameters(seeing, 4.3e9));
  assert.is(textParameters(text, 4.3e9), 4.3e9);
  assert.is(textParameters({ vision_config: null, audio_config: 'none' }, 4.3e9), 4.3e9);
});

test('the sizes are those of the text part', () => {
  const shape = shapeOf(seeing, 3.9e9);
  assert.is(shape?.layers, 34);
  assert.is(shape?.hidden, 2560);
});

test('a model with a text part is trained as a decoder, one without is refused', () => {
  const kind = kindOf(seeing);
  assert.ok(isDecoder(kind));
  assert.is(whyNotPair(kind, 'text-generation', 'sft', description), null);
  const other = kindOf({ ...seeing, text_config: { model_type: 'other' } });
  assert.match(
    whyNotPair(other, 'text-generation', 'sft', description) ?? '',
    'no language model for its text',
  );
  assert.not.ok(isDecoder(kindOf({ ...seeing, is_encoder_decoder: true })));
});

test('llama.cpp takes the architecture that the text part names', () => {
  assert.is(kindOf(seeing).converted, 'Gemma3ForConditionalGeneration');
  const named = { ...seeing, text_config: { ...text, architectures: ['Qwen2ForCausalLM'] } };
  assert.is(kindOf(named).converted, 'Qwen2ForCausalLM');
});

test.run();
