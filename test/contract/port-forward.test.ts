/** Ports of pods through the simulated API server: by the client package of Kubernetes, by our own adapter, and by `explain`. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { PortForward } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serveHttp } from '../../src/cli/serving/http.ts';
import type { HttpEndpoint } from '../../src/cli/serving/listener.ts';
import { KubeConfig } from '../../src/kubernetes/api/kube-config.ts';
import { openConnection } from '../../src/kubernetes/api/connection.ts';
import { openPodPort } from '../../src/kubernetes/api/port-forward.ts';
import { setConnectedStage, type ConnectedStage } from '../kubernetes/connected-stage.ts';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { aPodDraft, SPEC } from '../../world/test/simulator/cluster/stage.ts';
import { runCommand } from '../support/run-command.ts';

const POD = 'aks-autoscaler-7c9f';

function aPodObject(name: string): ObjectDraft {
  const draft = aPodDraft(name);
  return { ...draft, metadata: { ...draft.metadata, namespace: 'kube-system' } };
}
const OPTIONS = { namespace: 'kube-system', leaseName: 'aks-autoscaler', identity: 'x', leaderElect: false };

let stage: ConnectedStage;
let server: Server;
let port: number;
const closing: HttpEndpoint[] = [];

beforeEach(async () => {
  stage = await setConnectedStage([]);
  server = createServer((asked, response) => response.end(`${asked.method} ${asked.url} of ${asked.headers.host}: ${'x'.repeat(70_000)}`));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  stage.cluster.apply(aPodObject(POD));
});

afterEach(async () => {
  for (const endpoint of closing.splice(0)) await endpoint.close();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

describe('a port of a pod', () => {
  it('is reached by the client package of Kubernetes', async () => {
    stage.cluster.control.listenInPod(`kube-system/${POD}`, 8085, port);
    const config = new KubeConfig();
    config.loadFromString(stage.cluster.kubeconfig());
    const [output, errors, input] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const socket = await new PortForward(config).portForward('kube-system', POD, [8085], output, errors, input);
    input.write('GET /hello HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    let text = '';
    for await (const part of output) {
      text += String(part);
      if (text.includes('x\r\n0\r\n') || text.length > 70_000) break;
    }
    expect(text).toContain('GET /hello of localhost: xxx');
    if ('close' in socket) socket.close();
  });

  it('is reached by our adapter, whatever the size of what is sent', async () => {
    stage.cluster.control.listenInPod(`kube-system/${POD}`, 8085, port);
    const connection = await openConnection({ ...OPTIONS, kubeconfigPath: stage.kubeconfigPath }, CLOCK);
    const stream = await openPodPort(connection, { namespace: 'kube-system', pod: POD, port: 8085 });
    const text = await new Promise<string>((resolve, reject) => {
      const asked = request({ path: '/big', headers: { host: 'localhost' }, createConnection: () => stream }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (part: string) => (body += part));
        response.on('end', () => resolve(body));
      });
      asked.on('error', reject);
      asked.end();
    });
    expect(text.length).toBeGreaterThan(70_000);
    expect(text).toContain('GET /big of localhost');
    await connection.close();
  });

  it('where nothing listens ends with the words of the kubelet', async () => {
    const connection = await openConnection({ ...OPTIONS, kubeconfigPath: stage.kubeconfigPath }, CLOCK);
    const stream = await openPodPort(connection, { namespace: 'kube-system', pod: POD, port: 9 });
    const failed = await new Promise<Error>((resolve) => stream.on('error', resolve));
    expect(failed.message).toContain(`error forwarding port 9 to pod kube-system/${POD}`);
    await connection.close();
  });
});

const CLOCK = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() };

describe('explain asks the leader', () => {
  const lead = (holderIdentity: string): void =>
    void stage.cluster.apply({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'aks-autoscaler', namespace: 'kube-system' },
      spec: { holderIdentity, leaseDurationSeconds: 15 },
    });
  const daemon = async (leads: boolean): Promise<void> => {
    const answer = { kind: 'node', name: 'n', verdict: 'stays', sentence: 'Not removed: busy.', requested: { cpu: 1, memory: 0.5 } };
    const rest = {
      removableAfterMs: 60_000,
      ready: true,
      cordoned: false,
      taints: [],
      pods: [],
      loop: 7,
      decidedAt: '2026-11-21T00:00:00.000Z',
    };
    const endpoint = await serveHttp(
      { address: '127.0.0.1:0', host: '127.0.0.1', port: 0, debug: { token: undefined } },
      {
        metrics: async () => ({ contentType: 'text/plain', text: '' }),
        health: () => ({ healthy: true, reason: '' }),
        ready: () => true,
        duty: () => ({ leads, mayAct: leads, sentence: leads ? 'leads; may act' : 'stands by; other leads' }),
        agents: () => [],
        clusters: () => ({}),
        templates: () => [],
        snapshot: () => undefined,
        report: () => undefined,
        withheld: () => undefined,
        api: {
          reply: (path) =>
            path === 'nodes/n'
              ? { status: 200, document: { ...answer, ...rest } }
              : { status: 404, document: { message: `node ${path.slice('nodes/'.length)} not found` } },
          stream: () => false,
        },
        page: async () => undefined,
        refresh: () => ({ kind: 'begun' }),
      },
    );
    closing.push(endpoint);
    stage.cluster.control.listenInPod(`kube-system/${POD}`, 8085, Number(new URL(endpoint.url).port));
  };
  const explain = (...argv: readonly string[]) => runCommand(['explain', ...argv, '--kubeconfig', stage.kubeconfigPath]);

  it('by its Lease, through a port-forward, with nothing but a kubeconfig', async () => {
    lead(POD);
    await daemon(true);
    const { code, out, err } = await explain('node', 'n');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n')[0]).toBe('Not removed: busy.');
    expect(out).toMatch(new RegExp(`\\nFrom the leader ${POD}, loop 7, 2026-11-21 00:00:00, (in )?[^.]+\\.\\n$`));
    expect(await explain('node', 'm')).toEqual({ code: 3, out: '', err: 'node m not found\n' });
    expect(JSON.parse((await explain('node', 'n', '--json')).out)).toMatchObject({ kind: 'node', loop: 7 });
  });

  it('and says with code 4 that none leads', async () => {
    expect(await explain('node', 'n')).toMatchObject({
      code: 4,
      err: expect.stringContaining('No replica leads: the Lease kube-system/aks-autoscaler'),
    });
    lead('');
    expect(await explain('node', 'n')).toMatchObject({ code: 4, err: expect.stringContaining('no replica holds it') });
  });

  it('and says that the one that answers stands by', async () => {
    lead(POD);
    await daemon(false);
    const { code, out, err } = await explain('node', 'n');
    expect({ code, out }).toEqual({ code: 4, out: '' });
    expect(err).toMatch(/^this replica stands by; other leads\nWith the settings of the daemon, as for `plan --live`, explain computes/);
  });

  it('and says that the leader is no pod', async () => {
    lead('laptop_123');
    expect(await explain('node', 'n')).toMatchObject({
      code: 4,
      err: expect.stringMatching(/leader laptop_123 is not a pod in namespace kube-system.*--url/),
    });
  });
});

describe('explain without a right', () => {
  it.each([
    [
      'get leases',
      /no right to read the Lease kube-system\/aks-autoscaler.*apiGroups: \["coordination.k8s.io"\], resources: \["leases"\], verbs: \[get\]/,
    ],
    [
      'create pods/portforward',
      /no right to reach the leader aks-autoscaler-7c9f.*resources: \["pods\/portforward"\], verbs: \[create, get\]/,
    ],
  ])('%s names it, and the rule that grants it', async (right, message) => {
    const own = await setConnectedStage([], { spec: { ...SPEC, forbidden: [right] } });
    try {
      own.cluster.apply(aPodObject(POD));
      own.cluster.apply({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'aks-autoscaler', namespace: 'kube-system' },
        spec: { holderIdentity: POD, leaseDurationSeconds: 15 },
      });
      const { code, err } = await runCommand(['explain', 'node', 'n', '--kubeconfig', own.kubeconfigPath]);
      expect(code).toBe(1);
      expect(err).toMatch(message);
    } finally {
      await own.stop();
    }
  });
});
