import * as v from 'valibot';
import { promptBound } from '../../domain/playground/generation-bounds.ts';
import type { Services } from '../../domain/services.ts';
import { AppError } from '../../errors.ts';
import { route } from '../../http/route.ts';
import { namingInput } from './errors.ts';
import { error, modelName, or } from './schemas.ts';

/** OpenAI's own bound of texts in one request. */
const mostInputs = 2048;

const tokens = v.pipe(
  v.array(v.pipe(v.number(), v.integer(), v.minValue(0))),
  v.minLength(1, 'must not be empty'),
);
const listOf = <S extends v.GenericSchema>(schema: S) =>
  v.pipe(v.array(schema), v.minLength(1), v.maxLength(mostInputs));

const body = v.strictObject({
  model: modelName,
  input: v.union(
    [promptBound, tokens, listOf(promptBound), listOf(tokens)],
    `must be a text, a list of token IDs, or a list of either (at most ${mostInputs}), none of them empty`,
  ),
  encoding_format: or(v.picklist(['float', 'base64'], 'must be float or base64')),
  dimensions: v.optional(v.null('vectors cannot be shortened; leave it out')),
  /** It says who asks, and changes nothing. */
  user: or(v.string()),
});

const embeddings = v.object({
  object: v.string(),
  data: v.array(
    v.object({
      object: v.string(),
      index: v.number(),
      embedding: v.union([v.array(v.number()), v.string()]),
    }),
  ),
  model: v.string(),
  usage: v.object({ prompt_tokens: v.number(), total_tokens: v.number() }),
});

/** A vector as OpenAI encodes it: 32-bit floating-point numbers, the lowest byte first. */
function inBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}

/** `/v1/embeddings`. */
export const embeddingRoutes = ({ modelReferences, playground }: Services) => [
  route({
    method: 'POST',
    path: '/v1/embeddings',
    tag: 'openai',
    access: 'inference',
    summary: 'Make vectors of texts: the hidden state after the last token, of length 1',
    body,
    bodyExample: { model: 'name-or-id', input: 'My parcel has not come.' },
    responses: {
      200: { description: 'The vectors', schema: embeddings },
      400: { description: 'Invalid request, or the model makes no vectors', schema: error },
      404: { description: 'Model not found', schema: error },
    },
    handle: async ({ body: { model: name, input, encoding_format: format }, exchange }) => {
      const { model, checkpoint } = modelReferences.resolve(name);
      if (checkpoint !== undefined)
        throw new AppError('invalid', 'A checkpoint makes no embeddings. Name its model instead.');
      const isSingle = typeof input === 'string' || typeof input[0] === 'number';
      const inputs = (isSingle ? [input] : input) as (string | number[])[];
      const made = await playground.embed({ model, inputs }, { signal: exchange.signal }).catch((thrown) => {
        throw namingInput(thrown, 'input', !isSingle);
      });
      return {
        object: 'list',
        data: made.embeddings.map((vector, index) => ({
          object: 'embedding',
          index,
          embedding: format === 'base64' ? inBase64(vector) : vector,
        })),
        model: name,
        usage: { prompt_tokens: made.promptTokens, total_tokens: made.promptTokens },
      };
    },
  }),
];
