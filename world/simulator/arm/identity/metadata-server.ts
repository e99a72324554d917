/**
 * The metadata endpoint of a VM. The real one uses plain HTTP on a link-local address, this one on loopback. It serves tokens of
 * managed identities and facts about the VM; the gateway makes its responses.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import { rawRequest, readText, type RawRequest } from '../http/server.ts';
import type { ArmWorld } from '../state/arm-state.ts';

export interface Listening {
  readonly url: string;
  stop(): Promise<void>;
}

export async function listenPlainly(answer: (request: RawRequest) => ArmReply): Promise<Listening> {
  const server = createServer((incoming, outgoing) => {
    readText(incoming)
      .then((text) => {
        const request = rawRequest(incoming, text);
        const reply: ArmReply = /^\/(?:metadata|msi)\//.test(request.path)
          ? answer(request)
          : { status: 404, body: { error: 'Not found' } };
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

/** The facts that a VM can read about itself: a part of the `compute` document, alone or within the whole. */
export function instanceMetadata({ spec }: ArmWorld, { headers, query, path }: ArmRequest): ArmReply {
  if (headers['metadata'] !== 'true') return { status: 400, body: { error: 'Bad request. Required metadata header not specified' } };
  if (query['api-version'] === undefined) {
    const error = 'Bad request. api-version was not specified in the request. For more information refer to aka.ms/azureimds';
    return { status: 400, body: { error, 'newest-versions': ['2021-12-13', '2021-11-15', '2021-11-01'] } };
  }
  const compute = {
    azEnvironment: 'AzurePublicCloud',
    location: spec.location,
    osType: 'Linux',
    resourceGroupName: spec.nodeResourceGroup,
    subscriptionId: spec.subscriptionId,
  };
  return { status: 200, body: path.toLowerCase().endsWith('/compute') ? compute : { compute, network: { interface: [] } } };
}
