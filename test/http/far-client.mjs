/**
 * A program: sends the requests on its standard input, one as JSON per line, each over its own connection, and prints what
 * came back. It runs in another network namespace, where the test itself cannot be.
 */
import { request } from 'node:http';
import { createInterface } from 'node:readline';

const tell = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { number, host, port, from, method, path, headers, body } = JSON.parse(line);
  const options = { host, port, localAddress: from, method, path, headers, agent: false };
  const sent = request(options, async (response) => {
    let text = '';
    for await (const piece of response.setEncoding('utf8')) text += piece;
    tell({ number, status: response.statusCode, headers: response.headers, text });
  });
  sent.on('upgrade', (response, socket) => {
    socket.destroy();
    tell({ number, status: response.statusCode, headers: response.headers, text: '' });
  });
  sent.on('error', (error) => tell({ number, error: error.message }));
  sent.end(body);
});
