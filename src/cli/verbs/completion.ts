import { AppError } from '../../errors.ts';
import type { Command } from '../command.ts';
import { type Flag, flagsOf } from '../flags.ts';
import { noRequest } from '../help.ts';
import { print } from '../output.ts';
import { readRequests } from '../requests.ts';

/** A command with its flags. */
interface Completed {
  readonly name: string;
  readonly about: string;
  readonly flags: readonly Flag[];
}

const firstSentence = (text: string) => (/^.*?[.:](?= |$)/s.exec(text)?.[0] ?? text).slice(0, -1);
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function bash(commands: readonly Completed[]): string {
  const cases = commands.flatMap(({ name, flags }) => [
    `    ${name})`,
    '      case "$before" in',
    ...flags
      .filter(({ choices }) => choices.length > 0)
      .map((flag) => `        --${flag.name}) words=${quoted(flag.choices.join(' '))} ;;`),
    `        *) words=${quoted(flags.map((flag) => `--${flag.name}`).join(' '))} ;;`,
    '      esac ;;',
  ]);
  return [
    '_hone() {',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
    '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words',
    `  if [ "$COMP_CWORD" = 1 ]; then words=${quoted(commands.map(({ name }) => name).join(' '))}`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell's
    '  else case "${COMP_WORDS[1]}" in',
    ...cases,
    '  esac; fi',
    '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
    '}',
    'complete -o default -F _hone hone',
  ].join('\n');
}

function zsh(commands: readonly Completed[]): string {
  const plain = (text: string) => firstSentence(text).replace(/[[\]:\\]/g, '\\$&');
  const specs = ({ flags }: Completed) =>
    flags.map(({ name, about, value, choices }) =>
      quoted(
        `--${name}[${plain(about)}]${value === null ? '' : `:value:${choices.length > 0 ? `(${choices.join(' ')})` : '_files'}`}`,
      ),
    );
  return [
    '#compdef hone',
    '_hone() {',
    '  if (( CURRENT == 2 )); then',
    `    local -a names=(${commands.map(({ name, about }) => quoted(`${name}:${plain(about)}`)).join(' ')})`,
    '    _describe command names; return',
    '  fi',
    '  local name=$words[2]; shift words; (( CURRENT-- ))',
    '  case $name in',
    ...commands.map((one) => `    ${one.name}) _arguments ${specs(one).join(' ')} '*:file:_files' ;;`),
    '  esac',
    '}',
    'if [ "$funcstack[1]" = _hone ]; then _hone "$@"; else compdef _hone hone; fi',
  ].join('\n');
}

function fish(commands: readonly Completed[]): string {
  const about = (text: string) => `-d ${quoted(firstSentence(text))}`;
  const ofCommands = commands.flatMap(({ name, about: text, flags }) => [
    `complete -c hone -n __fish_use_subcommand -a ${name} ${about(text)}`,
    ...flags.map(
      (flag) =>
        `complete -c hone -n '__fish_seen_subcommand_from ${name}' -l ${flag.name} ${about(flag.about)}${flag.value === null ? '' : ` -r${flag.choices.length > 0 ? ` -f -a ${quoted(flag.choices.join(' '))}` : ''}`}`,
    ),
  ]);
  // The first word is no file.
  return ['complete -c hone -n __fish_use_subcommand -f', ...ofCommands].join('\n');
}

const shells = { bash, zsh, fish };

/** The command that prints a shell's completion of these commands. */
export function createCompletion(commands: readonly Command[]): Command {
  const completion: Command = {
    name: 'completion',
    about: 'Prints the completion of all commands and flags for a shell: bash, zsh or fish.',
    operands: ['SHELL'],
    examples: [
      'source <(hone completion bash)                                  # in ~/.bashrc',
      'source <(hone completion zsh)                                   # in ~/.zshrc, after compinit',
      'hone completion fish > ~/.config/fish/completions/hone.fish',
    ],
    flags: {},
    async run({ operands }) {
      const script = shells[operands[0] as keyof typeof shells];
      if (script === undefined)
        throw new AppError('invalid', `The shell must be one of ${Object.keys(shells).join(', ')}.`);
      const requests = readRequests();
      print(
        script(
          [...commands, completion].map((one) => ({
            name: one.name,
            about: one.about,
            flags: flagsOf(one, requests[one.name] ?? noRequest),
          })),
        ),
      );
      return 0;
    },
  };
  return completion;
}
