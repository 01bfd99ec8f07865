import { Refusal } from '../client/http-client.ts';
import { isUnreachable } from '../client/local-service.ts';
import { AppError } from '../errors.ts';
import type { Command, exitCodes } from './command.ts';
import { commands } from './commands.ts';
import { connect } from './connect.ts';
import { flagsOf, parseFlags } from './flags.ts';
import { helpOf, noRequest, usageOf } from './help.ts';
import { note, print } from './output.ts';
import { readRequests } from './requests.ts';

type ExitCode = keyof typeof exitCodes;

/** @throws AppError `invalid` for too few or too many operands, or a flag that is missing. */
function check(command: Command, operands: readonly string[], own: Readonly<Record<string, unknown>>): void {
  const least = command.operands.filter((one) => !one.startsWith('[')).length;
  // The settings file may name the rows.
  const isEnough = operands.length >= least || own.settings !== undefined;
  const missing = Object.entries(command.flags).find(
    ([name, { isRequired }]) => isRequired && own[name] === undefined,
  );
  const isList = command.operands.at(-1)?.includes('…') ?? false;
  const isFew = isList || operands.length <= command.operands.length;
  if (isEnough && isFew && missing === undefined) return;
  const what =
    missing === undefined
      ? `${operands.length === 0 ? 'Operands are missing' : `"${operands.join(' ')}" is not what it takes`}`
      : `--${missing[0]} is missing`;
  throw new AppError('invalid', `${what}. Usage: ${usageOf(command)}   ("hone ${command.name} --help")`);
}

function codeOf(error: unknown): ExitCode {
  if (error instanceof Refusal) return error.status === 400 ? 2 : 1;
  if (error instanceof AppError) return error.kind === 'invalid' ? 2 : error.kind === 'unavailable' ? 3 : 1;
  return isUnreachable(error) ? 3 : 1;
}

const textOf = (error: unknown): string =>
  error instanceof Refusal
    ? error.detail
    : isUnreachable(error)
      ? 'The service does not respond any more.'
      : (error as Error).message;

/**
 * Runs a command as a client of the service. @param setUp installs what a service needs. @returns the exit code.
 */
export async function run(
  [name, ...args]: readonly string[],
  setUp: () => Promise<boolean>,
): Promise<number> {
  const command = commands.find((one) => one.name === name) as Command;
  const requests = readRequests();
  let leave = async (): Promise<void> => undefined;
  // A training goes on without the service.
  const interrupt = () => void leave().then(() => process.exit(130));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  // A pipe whose reader has what it wants, such as `head`.
  process.stdout.on('error', () => process.exit(0));
  try {
    const request = requests[command.name] ?? noRequest;
    const { operands, fields, own } = await parseFlags(args, flagsOf(command, request));
    if (own.help !== undefined) {
      print(helpOf(command, requests).trimEnd());
      return 0;
    }
    check(command, operands, own);
    return await command.run({
      operands,
      fields,
      own,
      request,
      json: own.json !== undefined,
      async connect() {
        const connection = await connect(setUp);
        leave = connection.leave;
        return connection;
      },
    });
  } catch (error) {
    note(textOf(error).replaceAll('\n', '\nhone: '));
    return codeOf(error);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    await leave();
  }
}
