/** What of a JSON schema the grammar of answers cannot express. */
export interface SchemaFault {
  /** A JSON pointer into the schema (RFC 6901); empty for the schema itself. */
  readonly path: string;
  readonly message: string;
}

type Json = Record<string, unknown>;
const plainTypes = new Set(['string', 'number', 'integer', 'boolean', 'null']);
const formats = new Set(['date-time', 'time', 'date']);
/** They describe, and restrict nothing. */
const notes = new Set([
  ...['$schema', '$id', '$comment', 'title', 'description', 'default', 'examples', 'deprecated'],
  ...['readOnly', 'writeOnly'],
]);
/** The keywords of each kind of schema that restrict what is valid. */
const keywords: Record<string, readonly string[]> = {
  string: ['type', 'minLength', 'maxLength', 'format'],
  object: ['type', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
  array: ['type', 'items', 'prefixItems', 'minItems', 'maxItems'],
  choice: ['oneOf', 'anyOf'],
  enum: ['enum', 'type'],
  const: ['const', 'type'],
  ref: ['$ref'],
  plain: ['type'],
};
/** llama.cpp refuses more repetitions than 2,000 in a rule. */
const mostRepetitions = 1000;
const deepest = 32;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isValue = (value: unknown) => value === null || ['string', 'number', 'boolean'].includes(typeof value);
const pointer = (path: string, key: string | number) =>
  `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

function kindOf(schema: Json): string | null {
  if ('$ref' in schema) return 'ref';
  if ('enum' in schema) return 'enum';
  if ('const' in schema) return 'const';
  if ('oneOf' in schema || 'anyOf' in schema) return 'choice';
  const { type } = schema;
  if (type === 'string' || type === 'object' || type === 'array') return type;
  if (typeof type === 'string' && plainTypes.has(type)) return 'plain';
  const isList = Array.isArray(type) && type.length > 0;
  return isList && type.every((one) => plainTypes.has(one as string)) ? 'plain' : null;
}

/** Reads a JSON schema as the grammar takes it, with all that it cannot express. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a case for each keyword of JSON Schema
export function readJsonSchema(root: unknown): { schema: Json; faults: SchemaFault[] } {
  const faults: SchemaFault[] = [];
  const fault = (path: string, message: string) => faults.push({ path, message });
  const definitions = isObject(root) && isObject(root.$defs) ? root.$defs : {};

  function repetitions(schema: Json, path: string, least: string, most: string): void {
    for (const key of [least, most]) {
      const value = schema[key];
      if (value === undefined) continue;
      if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > mostRepetitions)
        fault(pointer(path, key), `must be a whole number from 0 to ${mostRepetitions}`);
    }
    if (Number(schema[least] ?? 0) > Number(schema[most] ?? mostRepetitions))
      fault(pointer(path, least), `must be at most ${most}`);
  }

  function list(value: unknown, path: string, depth: number): Json[] {
    if (Array.isArray(value) && value.length > 0)
      return value.map((one, index) => read(one, pointer(path, index), depth));
    fault(path, 'must be a list of schemas');
    return [];
  }

  function members(value: unknown, path: string, depth: number): Json {
    if (isObject(value))
      return Object.fromEntries(
        Object.entries(value).map(([key, one]) => [key, read(one, pointer(path, key), depth)]),
      );
    fault(path, 'must be an object of schemas');
    return {};
  }

  function object(schema: Json, path: string, depth: number): Json {
    repetitions(schema, path, 'minProperties', 'maxProperties');
    const properties = members(schema.properties ?? {}, pointer(path, 'properties'), depth);
    const required = schema.required ?? [];
    if (!Array.isArray(required)) fault(pointer(path, 'required'), 'must be a list');
    else
      for (const [index, name] of required.entries())
        if (!Object.hasOwn(properties, String(name)))
          fault(pointer(pointer(path, 'required'), index), `names no property: ${JSON.stringify(name)}`);
    const more = schema.additionalProperties ?? false;
    return {
      type: 'object',
      properties,
      ...(typeof more === 'boolean'
        ? { additionalProperties: more }
        : { additionalProperties: read(more, pointer(path, 'additionalProperties'), depth) }),
      ...stated(schema, 'minProperties', 'maxProperties'),
    };
  }

  function array(schema: Json, path: string, depth: number): Json {
    repetitions(schema, path, 'minItems', 'maxItems');
    if (schema.items === undefined && schema.prefixItems === undefined)
      fault(path, 'an array needs items or prefixItems');
    const answer: Json = { type: 'array', ...stated(schema, 'minItems', 'maxItems') };
    if (schema.items !== undefined) answer.items = read(schema.items, pointer(path, 'items'), depth);
    if (schema.prefixItems !== undefined)
      answer.prefixItems = list(schema.prefixItems, pointer(path, 'prefixItems'), depth);
    return answer;
  }

  function read(schema: unknown, path: string, depth: number): Json {
    if (!isObject(schema)) {
      fault(path, 'must be a schema, as an object');
      return {};
    }
    if (depth > deepest) {
      fault(path, `is nested more than ${deepest} deep`);
      return {};
    }
    const kind = kindOf(schema);
    if (kind === null) {
      fault(path, 'needs a type (one, or a list of string, number, integer, boolean and null)');
      return {};
    }
    const known = [...(keywords[kind] as readonly string[]), ...(path === '' ? ['$defs'] : [])];
    for (const key of Object.keys(schema))
      if (!known.includes(key) && !notes.has(key))
        fault(pointer(path, key), `the keyword ${key} is not supported here`);
    if (kind === 'object') return object(schema, path, depth + 1);
    if (kind === 'array') return array(schema, path, depth + 1);
    if (kind === 'choice') {
      const key = 'oneOf' in schema ? 'oneOf' : 'anyOf';
      return { oneOf: list(schema[key], pointer(path, key), depth + 1) };
    }
    if (kind === 'enum') {
      const values = schema.enum;
      if (!Array.isArray(values) || values.length === 0 || !values.every(isValue))
        fault(pointer(path, 'enum'), 'must be a list of strings, numbers, booleans and null');
      return { enum: values };
    }
    if (kind === 'const') {
      if (!isValue(schema.const)) fault(pointer(path, 'const'), 'must be a string, number, boolean or null');
      return { const: schema.const };
    }
    if (kind === 'ref') {
      const [, name] = /^#\/\$defs\/([^/]+)$/.exec(String(schema.$ref)) ?? [];
      if (name === undefined || !Object.hasOwn(definitions, name))
        fault(pointer(path, '$ref'), 'must name one of the schema’s $defs, as in "#/$defs/name"');
      return { $ref: schema.$ref };
    }
    if (kind === 'string') {
      repetitions(schema, path, 'minLength', 'maxLength');
      const { format, minLength, maxLength } = schema;
      if (format !== undefined && !formats.has(String(format)))
        fault(pointer(path, 'format'), `must be one of ${[...formats].join(', ')}`);
      if (format !== undefined && (minLength ?? maxLength) !== undefined)
        fault(pointer(path, 'format'), 'cannot be combined with a length');
      return { type: 'string', ...stated(schema, 'format', 'minLength', 'maxLength') };
    }
    return { type: schema.type };
  }

  const schema = read(root, '', 0);
  if (isObject(root) && '$defs' in root) schema.$defs = members(root.$defs, '/$defs', 1);
  return { schema, faults };
}

/** Those of the `keys` that a schema has. */
const stated = (schema: Json, ...keys: readonly string[]): Json =>
  Object.fromEntries(keys.filter((key) => schema[key] !== undefined).map((key) => [key, schema[key]]));

/** What the grammar of answers cannot express of a JSON schema; empty if it can be used. */
export const jsonSchemaFaults = (schema: unknown): SchemaFault[] => readJsonSchema(schema).faults;
