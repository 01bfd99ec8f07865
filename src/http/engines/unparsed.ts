import { IncomingMessage, METHODS, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** A complete request head with any method token (RFC 9110, section 5.6.2), in latin1. */
const head = /^([!#$%&'*+.^_`|~\w-]{1,40}) (\S+) HTTP\/1\.[01]\r\n((?:[^\r\n]+\r\n)*)\r\n/;

/**
 * Node's parser drops connections with a method that it does not know, or with two lengths. Such a request should get
 * a 405 or 400, so its head is parsed here from the packet that the parser rejected.
 * @returns `null` for anything else that the parser rejected.
 */
export function rejectedRequest(
  error: { readonly code?: string; readonly rawPacket?: Buffer },
  connection: Duplex,
): IncomingMessage | null {
  if (!connection.writable) return null;
  const found = head.exec(error.rawPacket?.toString('latin1') ?? '');
  if (found === null) return null;
  // The packet may begin with an earlier request, which has had its answer.
  const isRejected =
    error.code === 'HPE_INVALID_METHOD'
      ? !METHODS.includes(found[1] as string)
      : error.code === 'HPE_UNEXPECTED_CONTENT_LENGTH' &&
        ((found[3] as string).match(/^content-length[ \t]*:/gim) ?? []).length > 1;
  if (!isRejected) return null;
  const req = new IncomingMessage(connection as Socket);
  req.method = found[1] as string;
  req.url = found[2] as string;
  req.httpVersionMajor = 1;
  req.httpVersionMinor = 1;
  for (const line of (found[3] as string).split('\r\n').filter(Boolean)) {
    const colon = line.indexOf(':');
    if (colon > 0) req.rawHeaders.push(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return req;
}

/**
 * A response outside of the server's parser; it closes the connection.
 * @returns `null`, having closed the connection, if an earlier request on it has no response yet: the client sent this
 *   one without waiting, and the two responses would mix.
 */
export function responseOutside(req: IncomingMessage, connection: Duplex): ServerResponse | null {
  req.push(null);
  const res = new ServerResponse(req);
  try {
    res.assignSocket(connection as Socket);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_HTTP_SOCKET_ASSIGNED') throw error;
    connection.destroy();
    return null;
  }
  res.once('finish', () => connection.end());
  return res;
}
