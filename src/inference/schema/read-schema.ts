import { formats } from './formats.ts';
import { inOrder, literal, oneOf, repeated } from './notation.ts';
import { integerGrammar, type NumberBounds, numberGrammar } from './number-grammar.ts';
import { PatternFault, patternGrammar } from './pattern-grammar.ts';
import { byName, jsonNotation, type ValueNotation } from './value-notation.ts';

/** Why a JSON schema cannot be made a grammar. */
export interface SchemaFault {
  /** A JSON pointer into the schema (RFC 6901); empty for the schema itself. */
  readonly path: string;
  readonly message: string;
  /** Whether it is no JSON schema, rather than one that no grammar expresses. */
  readonly isWrong: boolean;
}

type Json = Readonly<Record<string, unknown>>;
type Kind = 'string' | 'object' | 'array' | 'number' | 'integer' | 'boolean' | 'null';

/** Where a schema stands. */
interface Place {
  readonly path: string;
  readonly depth: number;
  /** References that were followed without a character between them: one of them again never ends. */
  readonly followed: readonly string[];
  /** Whether it is the outermost value. */
  readonly isTop: boolean;
}

/** llama.cpp refuses more repetitions than 2,000 in a rule. */
const mostRepetitions = 1000;
const deepest = 32;
const mostSchemas = 20_000;
const mostFaults = 50;

/** They describe, and restrict nothing. */
const notes = new Set([
  ...['$schema', '$id', '$comment', '$anchor', 'title', 'description', 'default', 'examples', 'example'],
  ...['deprecated', 'readOnly', 'writeOnly', 'discriminator', '$defs', 'definitions'],
]);
const kinds: readonly Kind[] = ['string', 'object', 'array', 'number', 'integer', 'boolean', 'null'];
/** What a schema without a type is about, by its keywords. */
const kindBy: readonly (readonly [Kind, readonly string[]])[] = [
  [
    'object',
    ['properties', 'required', 'additionalProperties', 'propertyNames', 'minProperties', 'maxProperties'],
  ],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems']],
  ['string', ['pattern', 'format', 'minLength', 'maxLength']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

const commonNames = /"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[\w-]+/g;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const pointer = (path: string, key: string | number) =>
  `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
const within = (place: Place, ...keys: readonly (string | number)[]): Place => ({
  ...place,
  path: keys.reduce(pointer as (path: string, key: string | number) => string, place.path) as string,
});
/** A place behind at least one character of the answer. */
const inside = (place: Place, ...keys: readonly (string | number)[]): Place => ({
  ...within(place, ...keys),
  followed: [],
  isTop: false,
});

function kindOfValue(value: unknown): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : (typeof value as Kind);
}

/** What a reference of a schema points to; `undefined` if there is nothing. */
export function referredTo(root: unknown, reference: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return undefined;
  let found = root;
  for (const part of reference.split('/').slice(1)) {
    let key = part;
    try {
      key = decodeURIComponent(part);
    } catch {}
    key = key.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Json)[key];
  }
  return found;
}

/** Reads a JSON schema as rules of a grammar. One of a kind: its fields are what has been read so far. */
class Reader {
  readonly faults: SchemaFault[] = [];
  readonly rules = new Map<string, string>();
  /** The rules of references, by what they point to. */
  readonly #references = new Map<string, string>();
  readonly #root: unknown;
  readonly #name: string;
  readonly #notation: ValueNotation;
  #read = 0;

  constructor(root: unknown, name: string, notation: ValueNotation) {
    this.#root = root;
    this.#name = name;
    this.#notation = notation;
  }

  fault(place: Place, message: string, ...keys: readonly (string | number)[]): string {
    if (this.faults.length < mostFaults)
      this.faults.push({ path: within(place, ...keys).path, message, isWrong: false });
    return '""';
  }

  wrong(place: Place, message: string, ...keys: readonly (string | number)[]): string {
    if (this.faults.length < mostFaults)
      this.faults.push({ path: within(place, ...keys).path, message, isWrong: true });
    return '""';
  }

  /** The rule of all values with this name, under a name of this grammar's own. */
  common(name: string): string {
    const own = `${this.#name}-${name}`;
    if (!this.rules.has(own)) {
      this.rules.set(own, '');
      const { rules } = this.#notation;
      const body = (rules[name] as string).replace(commonNames, (part) =>
        Object.hasOwn(rules, part) ? this.common(part) : part,
      );
      this.rules.set(own, body);
    }
    return own;
  }

  read(schema: unknown, place: Place): string {
    if (schema === true) return this.common('value');
    if (schema === false) return this.fault(place, 'false allows no value');
    if (!isObject(schema)) return this.wrong(place, 'must be a schema, as an object');
    this.#read += 1;
    if (place.depth > deepest) return this.fault(place, `is nested more than ${deepest} deep`);
    if (this.#read > mostSchemas) return this.fault(place, `has more than ${mostSchemas} parts`);
    const { nullable, ...own } = schema;
    if (nullable === true) return oneOf([this.read(own, place), this.#literal(null)]);
    if ('$ref' in schema) return this.#reference(schema, place);
    if ('allOf' in schema) return this.#all(schema, place);
    for (const key of ['anyOf', 'oneOf']) if (key in schema) return this.#any(schema, key, place);
    return this.#plain(schema, place);
  }

  #reference(schema: Json, place: Place): string {
    const { $ref, ...others } = schema;
    const target = referredTo(this.#root, $ref);
    if (target === undefined)
      return this.fault(place, 'must point to a part of this schema, as in "#/$defs/name" or "#"', '$ref');
    const path = String($ref);
    if (place.followed.includes(path)) return this.fault(place, 'refers to itself', '$ref');
    const behind = { ...place, followed: [...place.followed, path], depth: place.depth + 1 };
    if (Object.keys(others).some((key) => !notes.has(key)))
      return isObject(target)
        ? this.read(this.#merged([others, target], place), behind)
        : this.read(target, behind);
    const known = this.#references.get(`${place.isTop} ${path}`);
    // A rule that is being read may be used only behind a character, which `followed` sees to.
    if (known !== undefined) return known;
    const rule = `${this.#name}-ref${this.#references.size}`;
    this.#references.set(`${place.isTop} ${path}`, rule);
    this.rules.set(rule, '');
    this.rules.set(rule, this.read(target, { ...behind, path: path.slice(1) }));
    return rule;
  }

  /** Schemas that must all hold, as one. Where two say something of the same keyword, the later one counts. */
  #merged(schemas: readonly Json[], place: Place): Json {
    const merged: Record<string, unknown> = {};
    for (const schema of schemas) {
      for (const [key, value] of Object.entries(schema)) {
        const before = merged[key];
        if (before === undefined || notes.has(key)) merged[key] = value;
        else if (key === 'properties' && isObject(before) && isObject(value)) {
          const both = Object.entries(value).map(([name, one]) => {
            const own = Object.hasOwn(before, name) ? before[name] : undefined;
            return [name, isObject(own) && isObject(one) ? { allOf: [own, one] } : one];
          });
          merged.properties = { ...before, ...Object.fromEntries(both) };
        } else if (key === 'required' && Array.isArray(before) && Array.isArray(value))
          merged.required = [...new Set([...before, ...value])];
        else if (key === 'allOf' && Array.isArray(before) && Array.isArray(value))
          merged.allOf = [...before, ...value];
        else if (/^(?:min|exclusiveMin)/.test(key)) merged[key] = Math.max(Number(before), Number(value));
        else if (/^(?:max|exclusiveMax)/.test(key)) merged[key] = Math.min(Number(before), Number(value));
        else if (JSON.stringify(before) !== JSON.stringify(value) && key !== 'additionalProperties')
          this.fault(place, `two schemas that must both hold say different things of ${key}`);
      }
    }
    return merged;
  }

  #all(schema: Json, place: Place): string {
    const { allOf, ...others } = schema;
    if (!Array.isArray(allOf) || allOf.length === 0)
      return this.wrong(place, 'must be a list of schemas', 'allOf');
    const followed = [...place.followed];
    const members: Json[] = [];
    for (const [index, one] of allOf.entries()) {
      let member: unknown = one;
      while (isObject(member) && '$ref' in member) {
        const { $ref, ...beside } = member;
        if (followed.includes(String($ref))) return this.fault(place, 'refers to itself', 'allOf', index);
        followed.push(String($ref));
        const target = referredTo(this.#root, $ref);
        if (!isObject(target))
          return this.fault(place, 'must point to a part of this schema', 'allOf', index, '$ref');
        members.push(beside);
        member = target;
      }
      if (!isObject(member)) return this.wrong(place, 'must be a schema, as an object', 'allOf', index);
      members.push(member);
    }
    const merged = this.#merged([others, ...members], place);
    return this.read(merged, { ...place, followed, depth: place.depth + 1 });
  }

  #any(schema: Json, key: string, place: Place): string {
    const { [key]: alternatives, ...others } = schema;
    if (!Array.isArray(alternatives) || alternatives.length === 0)
      return this.wrong(place, 'must be a list of schemas', key);
    const isBare = Object.keys(others).every((name) => notes.has(name));
    return oneOf(
      alternatives.map((one, index) => {
        const at = { ...within(place, key, index), depth: place.depth + 1 };
        return this.read(isBare || !isObject(one) ? one : { allOf: [others, one] }, at);
      }),
    );
  }

  #plain(schema: Json, place: Place): string {
    const { type } = schema;
    if ('const' in schema) return this.#literal(schema.const);
    if ('enum' in schema) return this.#enum(schema, place);
    if (Array.isArray(type) && type.length > 0)
      return oneOf(
        type.map((one) => this.read({ ...schema, type: one }, { ...place, depth: place.depth + 1 })),
      );
    const kind = (type ?? kindBy.find(([, keys]) => keys.some((key) => key in schema))?.[0]) as
      | Kind
      | undefined;
    switch (kind) {
      case undefined:
        return this.common('value');
      case 'object':
        return this.#object(schema, { ...place, depth: place.depth + 1 });
      case 'array':
        return this.#array(schema, { ...place, depth: place.depth + 1 });
      case 'string':
        return this.#quoted(this.#string(schema, place));
      case 'integer':
      case 'number':
        return this.#number(schema, place, kind);
      case 'boolean':
        return oneOf([this.#literal(true), this.#literal(false)]);
      case 'null':
        return this.#literal(null);
      default:
        return this.wrong(place, `must be one of ${kinds.join(', ')}, or a list of them`, 'type');
    }
  }

  #literal(value: unknown): string {
    return literal(this.#notation.write(value)) || '""';
  }

  #quoted(text: string): string {
    const quote = literal(this.#notation.quote);
    return inOrder(quote, text, quote);
  }

  #enum({ enum: values, type }: Json, place: Place): string {
    if (!Array.isArray(values) || values.length === 0) return this.wrong(place, 'must be a list', 'enum');
    const wanted = type === undefined ? kinds : [type].flat();
    const fitting = values.filter((value) => {
      const kind = kindOfValue(value);
      return wanted.includes(kind) || (kind === 'integer' && wanted.includes('number'));
    });
    if (fitting.length === 0) return this.fault(place, 'has no value of its type', 'enum');
    return oneOf(fitting.map((value) => this.#literal(value)));
  }

  /** A pair of bounds of a count. */
  #counts(schema: Json, place: Place, least: string, most: string): [least: number, most: number] {
    const [from, to] = [least, most].map((key) => {
      const value = schema[key];
      if (value === undefined) return undefined;
      if (!Number.isInteger(value) || (value as number) < 0) this.wrong(place, 'must be a whole number', key);
      else if (key === most) return Math.min(value as number, mostRepetitions);
      else if ((value as number) <= mostRepetitions) return value as number;
      else this.fault(place, `must be at most ${mostRepetitions}`, key);
      return undefined;
    });
    if (from !== undefined && to !== undefined && from > to)
      this.fault(place, `must be at most ${most}`, least);
    return [from ?? 0, to ?? Number.POSITIVE_INFINITY];
  }

  /** The characters of a string. */
  #string(schema: Json, place: Place): string {
    const { format, pattern } = schema;
    const [least, most] = this.#counts(schema, place, 'minLength', 'maxLength');
    const known = typeof format === 'string' && Object.hasOwn(formats, format) ? formats[format] : undefined;
    if (pattern !== undefined && typeof pattern !== 'string')
      return this.wrong(place, 'must be a regular expression', 'pattern');
    const anything = `${this.common('letter')}*`;
    try {
      if (pattern !== undefined) return patternGrammar(pattern, anything, this.#notation);
    } catch (error) {
      if (!(error instanceof PatternFault)) throw error;
      if (known === undefined) return this.fault(place, `cannot be used: ${error.message}`, 'pattern');
    }
    if (known !== undefined) return patternGrammar(known, anything, this.#notation);
    return least === 0 && most === Number.POSITIVE_INFINITY
      ? `${this.common('char')}*`
      : repeated(this.common('letter'), least, most);
  }

  #number(schema: Json, place: Place, kind: 'integer' | 'number'): string {
    const keys = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const;
    for (const key of keys) {
      const value = schema[key];
      // Booleans: as OpenAPI 3.0 and JSON Schema's draft 4 have exclusive bounds.
      const isBoolean = typeof value === 'boolean' && key.startsWith('exclusive');
      if (value !== undefined && !isBoolean && (typeof value !== 'number' || !Number.isFinite(value)))
        return this.wrong(place, 'must be a number', key);
    }
    const bound = (side: 'Minimum' | 'Maximum', stricter: (a: number, b: number) => number) => {
      const plain = schema[side.toLowerCase()] as number | undefined;
      const exclusive = schema[`exclusive${side}`] as number | boolean | undefined;
      if (typeof exclusive !== 'number') return [plain ?? null, exclusive === true] as const;
      if (plain === undefined || stricter(plain, exclusive) === exclusive) return [exclusive, true] as const;
      return [plain, false] as const;
    };
    const [least, isLeastExclusive] = bound('Minimum', Math.max);
    const [most, isMostExclusive] = bound('Maximum', Math.min);
    const bounds: NumberBounds = { least, most, isLeastExclusive, isMostExclusive };
    const step = (schema.multipleOf as number | undefined) ?? null;
    if (step !== null && step <= 0) return this.wrong(place, 'must be above 0', 'multipleOf');
    const grammar = kind === 'integer' ? integerGrammar(bounds, step ?? 1) : numberGrammar(bounds, step);
    return grammar ?? this.fault(place, 'no number is between its bounds');
  }

  #array(schema: Json, place: Place): string {
    const [least, most] = this.#counts(schema, place, 'minItems', 'maxItems');
    // Up to draft 7, a list of items was what `prefixItems` is now.
    const isTuple = Array.isArray(schema.items);
    const { prefixItems = isTuple ? schema.items : [] } = schema;
    const { items = true } = isTuple ? { items: schema.additionalItems } : schema;
    if (!Array.isArray(prefixItems)) return this.wrong(place, 'must be a list of schemas', 'prefixItems');
    const first = prefixItems
      .slice(0, most)
      .map((one, index) => this.read(one, inside(place, 'prefixItems', index)));
    const isClosed = items === false || first.length >= most;
    if (least > first.length && isClosed)
      return this.fault(place, 'is more than there are items', 'minItems');
    const item = isClosed ? '' : this.#short(this.read(items, inside(place, 'items')));
    const comma = inOrder('","', this.common('space'));
    const [from, to] = [Math.max(0, least - first.length), most - first.length];
    let content: string;
    if (first.length > 0)
      content = inOrder(first.join(` ${comma} `), isClosed ? '' : repeated(`(${comma} ${item})`, from, to));
    else if (isClosed) content = '';
    else {
      const others = repeated(`(${comma} ${item})`, Math.max(0, from - 1), to - 1);
      content = from === 0 ? `(${inOrder(item, others)})?` : inOrder(item, others);
    }
    const space = this.common('space');
    return inOrder('"["', space, content, content === '' ? '' : space, '"]"');
  }

  #object(schema: Json, place: Place): string {
    const { required = [], additionalProperties: others = true } = schema;
    let { properties = {} } = schema;
    if (!isObject(properties)) return this.wrong(place, 'must be an object of schemas', 'properties');
    if (!Array.isArray(required)) return this.wrong(place, 'must be a list', 'required');
    const isMap = Object.keys(properties).length === 0;
    if (isMap && others !== false)
      properties = Object.fromEntries(required.map((name) => [String(name), others]));
    for (const [index, name] of required.entries())
      if (!Object.hasOwn(properties as Json, String(name)))
        this.fault(place, `names no property: ${JSON.stringify(name)}`, 'required', index);
    const space = this.common('space');
    const given = Object.entries(properties as Json);
    const entries = this.#notation.isSorted ? byName(given) : given;
    const [open, close] = this.#bracketsOf(place);
    const content =
      entries.length > 0
        ? this.#members(entries, new Set(required.map(String)), place)
        : others === false
          ? ''
          : this.#map(schema, others, place);
    return inOrder(literal(open), space, content, content === '' ? '' : space, literal(close));
  }

  #bracketsOf({ isTop }: Place): readonly [open: string, close: string, colon: string] {
    return isTop ? this.#notation.top : ['{', '}', ':'];
  }

  /** A member of an object. */
  #member(name: string, value: string, place: Place): string {
    const space = this.common('space');
    return inOrder(name, space, literal(this.#bracketsOf(place)[2]), space, value);
  }

  /** Any members whose values follow a schema. */
  #map(schema: Json, values: unknown, place: Place): string {
    const [least, most] = this.#counts(schema, place, 'minProperties', 'maxProperties');
    const { propertyNames } = schema;
    const name = isObject(propertyNames)
      ? this.read({ type: 'string', ...propertyNames }, inside(place, 'propertyNames'))
      : this.common(place.isTop ? this.#notation.topName : 'name');
    const space = this.common('space');
    const value = this.read(values, inside(place, 'additionalProperties'));
    const member = this.#short(this.#member(name, value, place));
    const others = repeated(`("," ${space} ${member})`, Math.max(0, least - 1), most - 1);
    if (most === 0) return '';
    return least === 0 ? `(${inOrder(member, others)})?` : inOrder(member, others);
  }

  /** Members in the order of the properties; those that are not required may be left out. */
  #members(
    entries: readonly (readonly [string, unknown])[],
    required: ReadonlySet<string>,
    place: Place,
  ): string {
    const space = this.common('space');
    const members = entries.map(([key, value]) => {
      const name = this.#notation.nameOf(key, place.isTop);
      const of = this.#short(this.read(value, inside(place, 'properties', key)));
      if (name === null) this.fault(place, 'cannot be the name of an argument', 'properties', key);
      return { isRequired: required.has(key), text: this.#member(literal(name ?? ''), of, place) };
    });
    // What may follow a member: the others, each after a comma.
    const rest: string[] = [''];
    for (const { isRequired, text } of [...members].reverse()) {
      const own = `("," ${space} ${text})${isRequired ? '' : '?'}`;
      rest.unshift(this.#rule(inOrder(own, rest[0] as string)));
    }
    const needed = members.findIndex(({ isRequired }) => isRequired);
    const firsts = members.slice(0, needed < 0 ? undefined : needed + 1);
    const starts = firsts.map(({ text }, index) => inOrder(text, rest[index + 1] as string));
    return needed < 0 ? `${oneOf(starts.map((one) => `(${one})`))}?` : oneOf(starts);
  }

  /** A rule in place of what is written more than once, unless it is short: copies of copies would not end. */
  #short(body: string): string {
    return body.length > 60 ? this.#rule(body) : body;
  }

  #rule(body: string): string {
    const name = `${this.#name}-part${this.rules.size}`;
    this.rules.set(name, body);
    return name;
  }
}

/**
 * Reads a JSON schema as the rules of a grammar in GBNF, llama.cpp's notation. An object has the properties that it names,
 * in their order, and no others; one that names none may have any.
 * @param name the first rule's; the names of the others begin with it
 * @param notation how the values are written
 * @param whole what references point into
 */
export function readJsonSchema(
  schema: unknown,
  name = 'root',
  notation: ValueNotation = jsonNotation,
  whole: unknown = schema,
): { rules: string[]; faults: SchemaFault[] } {
  const reader = new Reader(whole, name, notation);
  const root = reader.read(schema, { path: '', depth: 0, followed: [], isTop: true });
  return {
    rules: [`${name} ::= ${root}`, ...[...reader.rules].map(([rule, body]) => `${rule} ::= ${body}`)],
    faults: reader.faults,
  };
}

/** Why a JSON schema cannot be made a grammar; empty if it can. */
export const jsonSchemaFaults = (schema: unknown): SchemaFault[] => readJsonSchema(schema).faults;
