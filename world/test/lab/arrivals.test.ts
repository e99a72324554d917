import { createServer, type Server } from 'node:https';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Agent, request } from 'undici';
import { Arrivals } from '../../lab/arrivals.ts';
import { serverTlsAt } from '../../simulator/base/tls.ts';
import { ClientConnections } from '../../simulator/base/client-connections.ts';

/** Lets the event loop turn until the condition holds; a row that waits for ever ends at its limit. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('what the API server sent to a watch', () => {
  let server: Server;
  let agent: Agent;
  let connections: ClientConnections;
  let arrivals: Arrivals;
  let watch: ServerResponse;
  let received = '';

  beforeEach(async () => {
    const tls = await serverTlsAt(Date.now());
    server = createServer({ cert: tls.certPem, key: tls.keyPem }, (_incoming, outgoing) => {
      watch = outgoing;
      outgoing.flushHeaders();
    });
    connections = new ClientConnections(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    arrivals = new Arrivals({ url, bytesSentTo: (port) => connections.bytesSentTo(port), activity: () => connections.activity });
    agent = new Agent({ connect: { ca: tls.caPem } });
    const { body } = await request(url, { dispatcher: agent });
    received = '';
    body.on('data', (chunk: Buffer) => (received += chunk.toString())).on('error', () => undefined);
    await until(() => !arrivals.arePending());
  });

  afterEach(async () => {
    await agent.destroy();
    connections.cutAll();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });

  it.each([1, 1_000_000])('is on its way until all of its %d bytes are received', async (length) => {
    watch.write('x'.repeat(length));
    expect(arrivals.arePending()).toBe(true);
    await until(() => !arrivals.arePending());
    await until(() => received.length === length);
  });

  it('and the end of its connection is on its way until the client knows of it', async () => {
    connections.cutAll();
    expect(arrivals.arePending()).toBe(true);
    await until(() => !arrivals.arePending());
  });
});
