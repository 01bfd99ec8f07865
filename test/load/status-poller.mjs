// Runs in a thread of its own, so that the load that the test makes does not delay it. Asks for the status until it is told
// to end, and then gives the latencies in milliseconds.
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const agent = new Agent({ keepAlive: true });
const latencies = [];
let ending = false;
parentPort.once('message', () => {
  ending = true;
});
while (!ending) {
  const sent = performance.now();
  await new Promise((resolve, reject) => {
    get(workerData, { agent }, (response) => response.resume().once('end', resolve)).once('error', reject);
  });
  latencies.push(performance.now() - sent);
  await sleep(10);
}
agent.destroy();
parentPort.postMessage(latencies);
