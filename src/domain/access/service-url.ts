import { refusalOf } from '../../faults.ts';

/**
 * The URL of another service, as keys are kept for it: without its last slash.
 * @throws AppError `invalid` for what is no http:// or https:// address, or has a user name or a query.
 */
export function readServiceUrl(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || /[@?#\s]/.test(given))
    throw refusalOf('url', 'must be an http:// or https:// address without a user name and a query');
  return given.replace(/\/+$/, '');
}
