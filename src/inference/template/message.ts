/** A tool, as templates list it. */
export interface Tool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string;
    /** A JSON schema. */
    readonly parameters?: Readonly<Record<string, unknown>>;
  };
}

/** A call of a tool in a conversation. */
export interface SaidCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
}

/** A message of a conversation. */
export interface Message {
  role: string;
  content: string;
  /** The reasoning of an answer, which the template keeps or leaves out. */
  reasoning_content?: string | undefined;
  /** The calls of an answer. */
  calls?: readonly SaidCall[] | undefined;
  /** The call that a message of a tool answers. */
  answers?: { readonly id: string; readonly name: string } | undefined;
}
