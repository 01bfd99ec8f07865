/** How the models of one family write calls. */
export interface ToolStyle {
  readonly name: string;
  /** Whether a template is of this family. */
  isOf(template: string): boolean;
  /**
   * What stands in a call: an object of name and arguments, the name before the arguments, the name before arguments in
   * Gemma's notation or Python's, or the name before a tag for each argument.
   */
  readonly syntax: 'object' | 'named' | 'gemma' | 'python' | 'tags';
  /** Texts before a call, the last of them before its object or name, and texts behind it, as answers have them. */
  readonly starts: readonly string[];
  readonly ends: readonly string[];
  // How calls are written where the answer must be one.
  /** What all calls together begin and end with, and what stands between two. */
  readonly begin: string;
  readonly between: string;
  readonly end: string;
  /** What each call begins and ends with, and what stands between its name and arguments. */
  readonly open: string;
  readonly separator: string;
  readonly close: string;
  /** What an object begins with, and what stands between the number that follows and the name, where calls have one. */
  readonly head: string;
  readonly number: string;
  /** What stands before, between and behind the name and the value of an argument in tags. */
  readonly tag: readonly [string, string, string];
  /** Whether a call may begin an answer without a mark. */
  readonly isBare: boolean;
  /** What an answer that is no call begins with, where answers are in channels. */
  readonly final: string;
  /** What Gemma's notation has around texts. */
  readonly quote: string;
  /** The texts above that may be control tokens of a vocabulary, which are otherwise hidden. */
  readonly tokens: string;
  /** What the model writes after its calls where it would answer them itself. */
  readonly stops: readonly string[];
}

const common: Omit<ToolStyle, 'name' | 'isOf' | 'syntax'> = {
  starts: [],
  ends: [],
  begin: '',
  between: '',
  end: '',
  open: '',
  separator: '',
  close: '',
  head: '',
  number: '',
  tag: ['', '', ''],
  isBare: false,
  final: '',
  quote: '',
  tokens: '',
  stops: [],
};
const object: Omit<ToolStyle, 'name' | 'isOf'> = {
  ...common,
  syntax: 'object',
  head: '{"name": "',
  separator: '", "arguments": ',
};

/** The first that a template is of counts. Texts are those of the models' own templates. */
const styles: readonly ToolStyle[] = [
  {
    ...common,
    name: 'gpt-oss',
    starts: ['<|channel|>commentary to=functions.'],
    ends: ['<|call|>'],
    isOf: (template) => template.includes('to=functions.') || template.includes('"functions." + '),
    syntax: 'named',
    final: '<|channel|>final<|message|>',
    // As `createChannelSplit` hands calls on.
    open: '<|channel|>commentary to=functions.',
    separator: ' <|constrain|>json<|message|>',
    // The token that ends a call ends the answer, too.
    tokens: '<|constrain|>',
  },
  {
    ...common,
    name: 'gemma 4',
    starts: ['<|tool_call>call:'],
    ends: ['<tool_call|>'],
    isOf: (template) => template.includes('<|tool_call>call:'),
    syntax: 'gemma',
    open: '<|tool_call>call:',
    close: '<tool_call|>',
    quote: '<|"|>',
    tokens: '<|tool_call><tool_call|><|"|>',
    stops: ['<|tool_response>'],
  },
  {
    ...common,
    name: 'functiongemma',
    starts: ['<start_function_call>call:'],
    ends: ['<end_function_call>'],
    isOf: (template) => template.includes('<start_function_call>call:'),
    syntax: 'gemma',
    open: '<start_function_call>call:',
    close: '<end_function_call>',
    quote: '<escape>',
    tokens: '<start_function_call><end_function_call><escape>',
    stops: ['<start_function_response>'],
  },
  {
    ...common,
    name: 'deepseek',
    starts: ['<｜tool▁calls▁begin｜>', '<｜tool▁call▁begin｜>function<｜tool▁sep｜>'],
    ends: ['```', '<｜tool▁call▁end｜>', '<｜tool▁calls▁end｜>'],
    isOf: (template) => template.includes('<｜tool▁sep｜>') && template.includes('```json'),
    syntax: 'named',
    begin: '<｜tool▁calls▁begin｜>',
    between: '\n',
    end: '<｜tool▁calls▁end｜>',
    open: '<｜tool▁call▁begin｜>function<｜tool▁sep｜>',
    separator: '\n```json\n',
    close: '\n```<｜tool▁call▁end｜>',
    tokens:
      '<｜tool▁calls▁begin｜><｜tool▁calls▁end｜><｜tool▁call▁begin｜><｜tool▁sep｜><｜tool▁call▁end｜>',
  },
  {
    ...common,
    name: 'deepseek 3.1',
    starts: ['<｜tool▁calls▁begin｜>', '<｜tool▁call▁begin｜>'],
    ends: ['<｜tool▁call▁end｜>', '<｜tool▁calls▁end｜>'],
    isOf: (template) => template.includes('<｜tool▁sep｜>'),
    syntax: 'named',
    begin: '<｜tool▁calls▁begin｜>',
    end: '<｜tool▁calls▁end｜>',
    open: '<｜tool▁call▁begin｜>',
    separator: '<｜tool▁sep｜>',
    close: '<｜tool▁call▁end｜>',
    tokens:
      '<｜tool▁calls▁begin｜><｜tool▁calls▁end｜><｜tool▁call▁begin｜><｜tool▁sep｜><｜tool▁call▁end｜>',
  },
  {
    ...common,
    name: 'mistral 3.2',
    starts: ['[TOOL_CALLS]'],
    isOf: (template) => template.includes('[TOOL_CALLS]') && template.includes('[ARGS]'),
    syntax: 'named',
    open: '[TOOL_CALLS]',
    separator: '[ARGS]',
    tokens: '[TOOL_CALLS][ARGS][CALL_ID]',
  },
  {
    ...object,
    name: 'mistral',
    starts: ['[TOOL_CALLS]', '['],
    ends: [',', ']'],
    isOf: (template) => template.includes('[TOOL_CALLS]'),
    begin: '[TOOL_CALLS][',
    between: ', ',
    end: ']',
    tokens: '[TOOL_CALLS]',
  },
  {
    ...common,
    name: 'qwen 3.5',
    starts: ['<tool_call>', '<function='],
    ends: ['</tool_call>'],
    isOf: (template) => template.includes('<tool_call>') && template.includes('<function='),
    syntax: 'tags',
    between: '\n',
    open: '<tool_call>\n<function=',
    close: '</function>\n</tool_call>',
    separator: '>\n',
    tag: ['<parameter=', '>\n', '\n</parameter>\n'],
    tokens: '<tool_call></tool_call>',
  },
  {
    ...common,
    // 4.5 and later, and others that write it without line breaks.
    name: 'glm 4.5',
    starts: ['<tool_call>'],
    ends: ['</tool_call>'],
    isOf: (template) => template.includes('<tool_call>') && template.includes('<arg_key>'),
    syntax: 'tags',
    between: '\n',
    open: '<tool_call>',
    close: '</tool_call>',
    separator: '\n',
    tag: ['<arg_key>', '</arg_key>\n<arg_value>', '</arg_value>\n'],
    tokens: '<tool_call></tool_call><arg_key></arg_key><arg_value></arg_value>',
    stops: ['<|observation|>'],
  },
  {
    ...common,
    // 4 and 4-0414: the name in the place of the role's line break.
    name: 'glm 4',
    isOf: (template) => template.includes('[gMASK]') && template.includes('<|observation|>'),
    syntax: 'named',
    separator: '\n',
    isBare: true,
    stops: ['<|observation|>'],
  },
  {
    ...common,
    name: 'lfm2',
    starts: ['<|tool_call_start|>', '['],
    ends: [',', ']', '<|tool_call_end|>'],
    isOf: (template) => /<\|tool_(call|list)_start\|>|"List of tools: \["/.test(template),
    syntax: 'python',
    begin: '<|tool_call_start|>[',
    between: ', ',
    end: ']<|tool_call_end|>',
    tokens: '<|tool_call_start|><|tool_call_end|>',
  },
  {
    ...object,
    // R7B and later.
    name: 'command r7b',
    starts: ['<|START_ACTION|>', '['],
    ends: [',', ']', '<|END_ACTION|>'],
    isOf: (template) => template.includes('<|START_ACTION|>'),
    begin: '<|START_ACTION|>[\n    ',
    between: ',\n    ',
    end: '\n]<|END_ACTION|>',
    head: '{"tool_call_id": "',
    number: '", "tool_name": "',
    separator: '", "parameters": ',
    tokens: '<|START_ACTION|><|END_ACTION|>',
  },
  {
    ...object,
    name: 'command r',
    starts: ['Action:', '```json', '['],
    ends: [',', ']', '```'],
    isOf: (template) => template.includes('Action:') && template.includes('"tool_name"'),
    begin: 'Action:\n```json\n[\n    ',
    between: ',\n    ',
    end: '\n]```',
    head: '{\n        "tool_name": "',
    separator: '",\n        "parameters": ',
  },
  {
    ...object,
    name: 'hermes',
    starts: ['<tool_call>'],
    ends: ['</tool_call>'],
    isOf: (template) => template.includes('<tool_call>') && template.includes('arguments'),
    between: '\n',
    open: '<tool_call>\n',
    close: '\n</tool_call>',
    tokens: '<tool_call></tool_call>',
  },
  {
    ...object,
    name: 'llama',
    starts: ['<|python_tag|>'],
    ends: [';'],
    isOf: (template) =>
      template.includes('<|python_tag|>') ||
      (template.includes('ipython') && template.includes('"parameters"')),
    separator: '", "parameters": ',
    isBare: true,
    tokens: '<|python_tag|>',
  },
];

/** What a chat template that Hone gave the syntax of Hermes has in it (`MARK` in hermes.py), whatever else it has. */
const hermesMark = '{#- Tools in the syntax of Hermes -#}';

/** The family of a chat template that writes calls; `null` if none is known. */
export function toolStyleOf(template: string): ToolStyle | null {
  if (template.includes(hermesMark)) return styles.find(({ name }) => name === 'hermes') ?? null;
  return styles.find(({ isOf }) => isOf(template)) ?? null;
}
