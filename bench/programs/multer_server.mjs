// multer on node:http as documented, with the file in memory; then JSON.parse on every line.
import { createServer } from 'node:http';
import multer from 'multer';

const receive = multer({ storage: multer.memoryStorage() }).single('file');
const server = createServer((request, response) => {
  receive(request, response, (error) => {
    const say = (status, body) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (error) return say(400, { detail: error.message });
    let rows = 0;
    let start = 0;
    const bytes = request.file.buffer;
    for (let end = bytes.indexOf(10); end >= 0; start = end + 1, end = bytes.indexOf(10, start)) {
      const row = JSON.parse(bytes.toString('utf8', start, end));
      if (typeof row.input !== 'string' || typeof row.output !== 'string')
        return say(400, { detail: 'bad row' });
      rows += 1;
    }
    say(200, { num_examples: rows });
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
