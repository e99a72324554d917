/** What kube-scheduler asks over HTTP: it hears of the nodes that passed every filter, and refuses them all, but not to pods that start together. */
import { createServer, type Server } from 'node:http';
import type { KubeObject } from '../../../world/simulator/real-control-plane/api-client.ts';

/** With what the names of the sentinel's objects begin. */
export const SENTINEL = 'parity-sentinel';

export interface Verdict {
  /** Sorted names of the nodes that passed. */
  readonly nodes: readonly string[];
  readonly message?: string;
}

export function refusingExtender(verdicts: Map<string, Verdict>): Server {
  return createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      // Go's own spelling: these types have no JSON names.
      const { Pod, NodeNames } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        readonly Pod: KubeObject;
        readonly NodeNames: readonly string[] | null;
      };
      const nodes = [...(NodeNames ?? [])].sort();
      const { schedulingGroup } = Pod['spec'] as { readonly schedulingGroup?: object };
      response.setHeader('content-type', 'application/json');
      if (schedulingGroup !== undefined)
        return response.end(JSON.stringify({ NodeNames: nodes.filter((name) => !name.startsWith(SENTINEL)) }));
      verdicts.set(Pod.metadata.uid, { nodes });
      return response.end(JSON.stringify({ NodeNames: [], FailedNodes: Object.fromEntries(nodes.map((name) => [name, 'only asked'])) }));
    });
  });
}
