import * as v from 'valibot';
import { answerSchema, jsonSchemaFormat } from '../../../domain/graders/answer-schema.ts';
import type { PlaygroundRequest } from '../../../domain/playground/playground.ts';
import { or } from '../schemas.ts';

/** What an answer must be. With a schema it is always valid, as OpenAI's `strict` has it. */
export const responseFormat = v.variant('type', [
  v.strictObject({ type: v.literal('text') }),
  // With a schema as llama.cpp's server and instructor have it.
  v.strictObject({ type: v.literal('json_object'), schema: or(answerSchema) }),
  jsonSchemaFormat,
]);

/** The schema of such an answer; text has none. */
export function schemaOf(
  format: v.InferOutput<typeof responseFormat> | null | undefined,
): PlaygroundRequest['schema'] {
  if (format?.type === 'json_object') return format.schema ?? { type: 'object' };
  return format?.type === 'json_schema' ? format.json_schema.schema : undefined;
}
