import { AppError } from '../../errors.ts';

/**
 * Rejects requests that the page of another site made a browser send, by the header that browsers add (Fetch Metadata
 * Request Headers, W3C). A cross-site GET has no `Origin`, as by an image, a form or a link, and could start work. Other
 * clients do not send the header; neither do browsers to plain HTTP addresses other than localhost.
 * @throws AppError `forbidden`.
 */
export function refuseCrossSite(fetchSite: string | undefined): void {
  if (fetchSite === undefined || fetchSite === 'same-origin' || fetchSite === 'none') return;
  throw new AppError(
    'forbidden',
    `This request comes from the page of another site (sec-fetch-site: ${fetchSite.slice(0, 40)}). Type its address into the browser instead, or use another client.`,
  );
}
