import { AppError } from '../../errors.ts';

/** What comes before a path below a folder, up to where the path ends. */
const restOfPath = '(?:[/\\\\][^\\s"\'`,;:()]*)?';

/**
 * Makes errors fit for clients on other machines: an internal one says nothing about itself, and paths below these folders
 * are left out of the others.
 */
export function createConceal(folders: readonly string[]): (error: AppError) => AppError {
  const escaped = [...new Set(folders)]
    .filter((folder) => folder.length > 1)
    .sort((a, b) => b.length - a.length)
    .map((folder) => folder.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const paths = new RegExp(`(?:${escaped.join('|')})${restOfPath}`, 'g');
  const withoutPaths = (text: string) => text.replace(paths, '(a path on the server)');
  return (error) => {
    const { kind, message, issues, details } = error;
    if (kind === 'internal') {
      return new AppError('internal', 'Something went wrong. The log of the service tells what.');
    }
    return new AppError(kind, withoutPaths(message), {
      issues: issues.map((issue) => ({ ...issue, msg: withoutPaths(issue.msg) })),
      details,
    });
  };
}
