/**
 * The answers to the kubelet's probes, and the listener that serves them alone: whatever else of the cluster connects to the main listener,
 * the kubelet gets its answer. Must not know how health is judged.
 */
import { type ConnectionLimits, type HttpEndpoint, listen, type ListenOptions } from './listener.ts';

export interface ProbeDeps {
  readonly health: () => { readonly healthy: boolean; readonly reason: string };
  readonly ready: () => boolean;
  /** Whether this replica may change anything, and why not. */
  readonly duty: () => { readonly sentence: string };
}

interface ProbeAnswer {
  readonly status: number;
  readonly text: string;
}

/**
 * An answer is one short text, so that a client that does not read it holds no connection. The kubelet's address is that of its node, which pods
 * with `hostNetwork` share: an address may hold many connections, and the kubelet's own is cut only if as many more come before its request.
 */
export const PROBE_LIMITS: ConnectionLimits = {
  connections: 512,
  perAddress: 64,
  headerBytes: 8 * 1024,
  requestMs: 10_000,
  idleMs: 10_000,
};

/** @returns undefined for a path that is no probe. */
export function probeAnswer(path: string, { health, ready, duty }: ProbeDeps): ProbeAnswer | undefined {
  switch (path) {
    // The path and the texts that probes of a Cluster Autoscaler's Deployment expect.
    case '/health-check': {
      const { healthy, reason } = health();
      return healthy ? { status: 200, text: 'OK' } : { status: 500, text: `Error: ${reason}` };
    }
    case '/healthz': {
      const { healthy, reason } = health();
      return { status: healthy ? 200 : 500, text: `${healthy ? 'ok' : 'failing'}: ${reason}\n` };
    }
    case '/readyz':
      return ready()
        ? { status: 200, text: `ok: ${duty().sentence}\n` }
        : { status: 503, text: `no loop has completed yet: ${duty().sentence}\n` };
    default:
      return undefined;
  }
}

/** @throws AutoscalerError `unavailable` when the address cannot be bound. */
export function serveProbes(options: ListenOptions, deps: ProbeDeps, limits: ConnectionLimits = PROBE_LIMITS): Promise<HttpEndpoint> {
  return listen(options, limits, ({ method, url }, response) => {
    const isRead = method === 'GET' || method === 'HEAD';
    const [path = '/'] = (url ?? '/').split('?');
    const answer = isRead ? probeAnswer(path, deps) : { status: 405, text: 'only GET and HEAD are allowed\n' };
    const { status, text } = answer ?? { status: 404, text: 'not found; paths: /healthz, /health-check, /readyz\n' };
    // Each probe of the kubelet is a connection of its own.
    response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(text);
  });
}
