/**
 * Whether a path names a share of another machine or a device on Windows, such as `\\host\share` or `//host/share`.
 * Windows would log in there with the user's password hash as soon as the file system is asked, so such paths are
 * refused before.
 */
export const isNetworkPath = (path: string, platform: NodeJS.Platform = process.platform): boolean =>
  platform === 'win32' && /^[\\/]{2}/.test(path);

/** Why it is refused, for the user. */
export const networkPathRefusal = (path: string): string =>
  `"${path.slice(0, 200)}" is on another machine: Windows would send it your password hash. Copy the files to a local drive`;
