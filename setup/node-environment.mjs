import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { onPath } from './prerequisites.mjs';

/** The version of the headers under a folder, or null. */
function headersIn(prefix) {
  const file = prefix && join(prefix, 'include', 'node', 'node_version.h');
  if (!file || !existsSync(file)) return null;
  const text = readFileSync(file, 'utf8');
  const part = (name) => new RegExp(`#define NODE_${name}_VERSION (\\d+)`).exec(text)?.[1];
  return ['MAJOR', 'MINOR', 'PATCH'].map(part).join('.');
}

/**
 * The folder with the headers of the current Node, or null: next to it, or npm's `nodedir`, unless those belong to another
 * release.
 */
export function headersFolder() {
  const beside = dirname(dirname(realpathSync(process.execPath)));
  const places = [beside, process.env.npm_config_nodedir];
  return places.find((folder) => headersIn(folder) === process.versions.node) ?? null;
}

/** Puts a program's folder first on the search path of an environment. */
export function withFirstOnPath(program, env) {
  // Windows spells it `Path`; a second spelling would be a second variable.
  const name = Object.keys(env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  return { ...env, [name]: [dirname(program), env[name]].filter(Boolean).join(delimiter) };
}

/**
 * The environment for tools that start `node` or compile for it, so that they use the current Node, whatever is on the
 * search path or in npm's configuration.
 */
export function nodeEnvironment() {
  const { npm_config_nodedir: _, ...env } = process.env;
  const headers = headersFolder();
  if (headers !== null) env.npm_config_nodedir = headers;
  const named = onPath('node');
  const same = named !== null && realpathSync(named) === realpathSync(process.execPath);
  return same ? env : withFirstOnPath(process.execPath, env);
}
