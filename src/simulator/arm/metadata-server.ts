/**
 * The metadata endpoint of a machine speaks plain http on a link-local address; this one does on loopback. It serves tokens of
 * managed identities and nothing else; its answers are the gateway's.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ArmReply } from './messages.ts';
import { rawRequest, readText, type RawRequest } from './server.ts';

export interface Listening {
  readonly url: string;
  stop(): Promise<void>;
}

export async function listenPlainly(answer: (request: RawRequest) => ArmReply): Promise<Listening> {
  const server = createServer((incoming, outgoing) => {
    readText(incoming)
      .then((text) => {
        const request = rawRequest(incoming, text);
        const reply: ArmReply = request.path.startsWith('/metadata/') ? answer(request) : { status: 404, body: { error: 'Not found' } };
        outgoing.writeHead(reply.status, { 'content-type': 'application/json; charset=utf-8', ...reply.headers });
        outgoing.end(reply.body === undefined ? '' : JSON.stringify(reply.body));
      })
      .catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
