// A plain node:http server: answers each path in the variable ANSWERS with its object as JSON.
import { createServer } from 'node:http';

const answers = JSON.parse(process.env.ANSWERS);
const server = createServer((request, response) => {
  const answer = request.method === 'GET' ? answers[request.url] : undefined;
  const body = JSON.stringify(answer ?? { detail: 'Not Found' });
  response.writeHead(answer === undefined ? 404 : 200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
