import type { Client } from '../client/http-client.ts';

/** A JSON schema, as far as commands read it. */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The request of a command, and its fields that may name a file or folder. */
export interface RequestSchema {
  readonly schema: Schema;
  readonly paths: readonly string[];
}
export type Requests = Readonly<Record<string, RequestSchema>>;

export type Fields = Record<string, unknown>;

/** A flag that is no field of the request. */
export interface OwnFlag {
  readonly about: string;
  /** What stands for its value; a flag without one is a switch. */
  readonly value?: string;
  readonly isRequired?: true;
  readonly choices?: readonly string[];
}

/** What a command line came to. */
export interface Invocation {
  readonly operands: readonly string[];
  /** The fields of the request that are given by flags. */
  readonly fields: Fields;
  /** Its own flags. */
  readonly own: Readonly<Record<string, string | undefined>>;
  readonly request: RequestSchema;
  /** Whether the answer of the service is wanted as JSON. */
  readonly json: boolean;
  /** Reaches the running service, or starts one until the end of the command. */
  connect(): Promise<{ readonly client: Client; readonly isOurs: boolean }>;
}

/** A command. Each field of its request that has a description is a flag, except those that are given otherwise. */
export interface Command {
  readonly name: string;
  readonly about: string;
  /** In capitals; in brackets if it may be left out. */
  readonly operands: readonly string[];
  readonly examples: readonly string[];
  /** Fields that operands give. */
  readonly given?: readonly string[];
  /** Flags that are called otherwise than their field. */
  readonly renamed?: Readonly<Record<string, string>>;
  readonly flags: Readonly<Record<string, OwnFlag>>;
  /** @returns the exit code. */
  run(invocation: Invocation): Promise<number>;
}

/** The exit codes of commands. */
export const exitCodes = {
  0: 'done',
  1: 'failed: the training, evaluation or export, or the service refused the request',
  2: 'the command line, the settings file or a field of the request is not valid',
  3: 'no service can be reached or started, or it is of another version',
  130: 'interrupted with Ctrl+C',
} as const;
