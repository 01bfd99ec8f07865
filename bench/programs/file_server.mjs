// A file download with node:http as documented: the file named by the variable FILE, piped into the response.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { pipeline } from 'node:stream';

const path = process.env.FILE;
const server = createServer((_request, response) => {
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': statSync(path).size,
  });
  pipeline(createReadStream(path), response, () => {});
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
