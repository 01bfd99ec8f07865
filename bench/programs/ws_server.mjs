// The package `ws` as documented: every line of stdin, a metric, is sent to all sockets as a frame.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { WebSocket, WebSocketServer } from 'ws';

const server = createServer();
const sockets = new WebSocketServer({ server, path: '/ws/training' });
let seq = 0;
createInterface({ input: process.stdin }).on('line', (line) => {
  const { seq: _seq, time: _time, type: _type, ...metric } = JSON.parse(line);
  seq += 1;
  const frame = {
    kind: 'train',
    ...metric,
    seq,
    time: new Date().toISOString(),
    type: 'metrics',
    job_id: 'train_1',
  };
  const text = JSON.stringify(frame);
  for (const socket of sockets.clients) if (socket.readyState === WebSocket.OPEN) socket.send(text);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
