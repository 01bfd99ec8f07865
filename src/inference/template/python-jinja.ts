import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { percentFormat, pythonStrings, stringFilters } from './python-strings.ts';

/** A value of the library. */
interface Value {
  type: string;
  value: unknown;
}
/** A syntax node of the library, with the properties that are read here. */
interface Node {
  type: string;
  value?: unknown;
  object: Node;
  property: Node;
  computed: boolean;
  operand: Node;
  filter: Node;
  callee: Node;
  args: Node[];
  left: Node;
  right: Node;
  operator: { value: string };
}
type Scope = InstanceType<typeof Environment>;
// The library's own declarations leave these types out.
const Base = Interpreter as unknown as new (
  scope: Scope,
) => { run(program: unknown): Value; evaluate(node: Node | undefined, scope: Scope): Value };

// The library converts values only where it declares a variable.
const scratch = new Environment();

/** The library's value of one of JavaScript; of a function one that calls it. */
function toValue(value: unknown): Value {
  scratch.variables.delete('value');
  return scratch.set('value', value) as Value;
}
const FunctionValue = toValue(() => null).constructor as new (call: (args: Value[]) => Value) => Value;

/** A value as a node, so that the library evaluates no expression twice. */
const known = (value: Value): Node => ({ type: 'Known', value }) as Node;
const isText = (value: Value): boolean => value.type === 'StringValue';

function plain(value: Value): unknown {
  if (value.type === 'ArrayValue' || value.type === 'TupleValue') return (value.value as Value[]).map(plain);
  if (value.type === 'UndefinedValue') return undefined;
  if (!(value.value instanceof Map)) return value.value;
  return new Map([...(value.value as Map<string, Value>)].map(([name, one]) => [name, plain(one)]));
}

const callable = (method: (...args: unknown[]) => unknown): Value =>
  new FunctionValue((args) => toValue(method(...args.map(plain))));

/** Jinja as Python has it, where `@huggingface/jinja` takes JavaScript's strings or lacks something. */
class PythonInterpreter extends Base {
  override evaluate(node: Node | undefined, scope: Scope): Value {
    switch (node?.type) {
      case 'Known':
        return node.value as Value;
      case 'MemberExpression':
        return this.#member(node, scope);
      case 'FilterExpression':
        return this.#filter(node, scope);
      case 'BinaryExpression':
        return this.#binary(node, scope);
      default:
        return super.evaluate(node, scope);
    }
  }

  #member(node: Node, scope: Scope): Value {
    const name = node.property.value;
    const method = !node.computed && typeof name === 'string' ? own(pythonStrings, name) : undefined;
    if (method === undefined) return super.evaluate(node, scope);
    const object = this.evaluate(node.object, scope);
    if (isText(object)) return callable((...args) => method(object.value as string, ...args));
    return super.evaluate({ ...node, object: known(object) }, scope);
  }

  #filter(node: Node, scope: Scope): Value {
    const isCall = node.filter.type === 'CallExpression';
    const name = String(isCall ? node.filter.callee.value : node.filter.value);
    const method = own(stringFilters, name);
    if (method === undefined) return super.evaluate(node, scope);
    const operand = this.evaluate(node.operand, scope);
    if (!isText(operand)) return super.evaluate({ ...node, operand: known(operand) }, scope);
    const callee = known(callable((...args) => method(operand.value as string, ...args)));
    const args = isCall ? node.filter.args : [];
    return super.evaluate({ type: 'CallExpression', callee, args } as Node, scope);
  }

  /** `text % values`, and `text * times`. */
  #binary(node: Node, scope: Scope): Value {
    const operator = node.operator.value;
    if (operator !== '%' && operator !== '*') return super.evaluate(node, scope);
    const left = this.evaluate(node.left, scope);
    const right = this.evaluate(node.right, scope);
    if (operator === '%' && isText(left)) {
      const values = right.type === 'TupleValue' ? (plain(right) as unknown[]) : [plain(right)];
      return toValue(percentFormat(left.value as string, values));
    }
    const [text, times] = isText(left) ? [left, right] : [right, left];
    if (operator === '*' && isText(text) && times.type === 'IntegerValue')
      return toValue((text.value as string).repeat(Math.max(0, times.value as number)));
    return super.evaluate({ ...node, left: known(left), right: known(right) }, scope);
  }
}

function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function range(start: number, stop?: number, step = 1): number[] {
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  if (step === 0) throw new Error('range() step must not be zero');
  return Array.from(
    { length: Math.max(0, Math.ceil((to - from) / step)) },
    (_, index) => from + index * step,
  );
}

/**
 * A chat template as a function of its variables. @throws Error when its syntax is wrong, and the function when it
 * rejects the variables.
 */
export function compileTemplate(text: string): (variables: Readonly<Record<string, unknown>>) => string {
  // The lexer knows no `{%+` and `+%}`, which keep the white space beside them: an empty expression does, too.
  const source = text.replaceAll('{%+', "{{ '' }}{%").replaceAll('+%}', "%}{{ '' }}");
  const program = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  return (variables) => {
    const environment = new Environment();
    for (const [name, value] of [
      ...['true', 'True'].map((name) => [name, true] as const),
      ...['false', 'False'].map((name) => [name, false] as const),
      ...['none', 'None'].map((name) => [name, null] as const),
      ['range', range] as const,
      ['raise_exception', (reason: string) => raise(reason)] as const,
      ...Object.entries(variables),
    ])
      environment.set(name, value);
    return String(new PythonInterpreter(environment).run(program).value);
  };
}

function raise(reason: string): never {
  throw new Error(reason);
}
