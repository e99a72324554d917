/**
 * Ports for servers that are started, killed and started again on the same port. They lie below the range from which the kernel
 * takes ports for outgoing connections: a port from that range may be taken while its server is away, even by a client that
 * tries to reach the server.
 */
import { createServer } from 'node:net';
import { AutoscalerError } from '../../../src/lib/errors.ts';

/** The kernel's own range begins at 32768 unless it was changed. */
const FIRST = 20_000;
const COUNT = 10_000;
/** Each process begins at a place of its own, so that processes that search at the same time do not find the same port. */
const STRIDE = 37;

let next = (process.pid * STRIDE) % COUNT;

/** @returns a port that is free now, different from all that this process was given before. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < COUNT; tries++) {
    const port = FIRST + (next++ % COUNT);
    if (await isFree(port)) return port;
  }
  throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `No port from ${FIRST} to ${FIRST + COUNT - 1} is free.`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
