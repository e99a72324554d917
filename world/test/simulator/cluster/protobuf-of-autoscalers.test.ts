/** Bodies of client-go programs: k8s.io/apimachinery 0.36.2, runtime/serializer/protobuf. */
import { request } from 'node:https';
import { afterEach, describe, expect, it } from 'vitest';
import { decodeProtobuf } from '../../../simulator/cluster/protobuf/protobuf.ts';
import { type RunningWorld, startWorld } from '../../../simulator/entry/world-entry.ts';

const LEASE =
  '6b3873000a1f0a16636f6f7264696e6174696f6e2e6b38732e696f2f763112054c65617365128c010a660a017812001a0b6b7562652d73797374656d22002a0032013738004208088cbc89d80610005a060a01611201626a1e0a0a5265706c6963615365741a0272732201752a07617070732f763130017203662f788a01110a016d12001a0032003a040a027b7d420012220a026d65100f1a0b088cbc89d806108094ef3a220b088cbc89d806108094ef3a28001a002200';
const EVENT =
  '6b3873000a0b0a02763112054576656e7412aa010a180a016512001a0764656661756c7422002a00320038004200121d0a03506f64120764656661756c741a01772201752a0276313201333a001a105472696767657265645363616c655570220d706f64207472696767657265642a160a12636c75737465722d6175746f7363616c657212003208088cbc89d80610003a08088cbc89d806100040014a064e6f726d616c520062007212636c75737465722d6175746f7363616c65727a001a002200';
const MAP =
  '6b3873000a0f0a0276311209436f6e6669674d61701280010a660a017812001a0b6b7562652d73797374656d22002a0032013738004208088cbc89d80610005a060a01611201626a1e0a0a5265706c6963615365741a0272732201752a07617070732f763130017203662f788a01110a016d12001a0032003a040a027b7d4200120b0a067374617475731201781a070a01621202010220011a002200';
const EVICTION =
  '6b3873000a150a09706f6c6963792f763112084576696374696f6e12230a180a017712001a0764656661756c7422002a003200380042001207081e12030a01751a002200';
const NODE =
  '6b3873000a0a0a02763112044e6f646512b7010a220a016e12001a0022002a00320139380042005a0e0a096167656e74706f6f6c12016112650a0b31302e302e302e302f323412001a0a617a7572653a2f2f2f7820012a390a1e546f426544656c657465644279436c75737465724175746f7363616c65721201311a0a4e6f5363686564756c652208088cbc89d80610003a0b31302e302e302e302f32341a2a0a0a0a0363707512030a01341a0032040a0208003a140a0012001a0022002a0032003a0042004a0052001a002200';
const POD =
  '6b3873000a090a0276311203506f6412b4020a660a017812001a0b6b7562652d73797374656d22002a0032013738004208088cbc89d80610005a060a01611201626a1e0a0a5265706c6963615365741a0272732201752a07617070732f763130017203662f788a01110a016d12001a0032003a040a027b7d420012b401124f0a01631201691a05736c6565702a003a060a01451201764220120d0a0363707512060a043530306d120f0a066d656d6f727912050a033147696a007206416c77617973800100880100900100a201001a06416c77617973201e32003a060a016112016242004a0052005800600068008201008a01009a011164656661756c742d7363686564756c6572b2011c0a016b12064578697374731a00220a4e6f5363686564756c6528ac02c2010468696768c801051a130a001a0022002a0032004a005a0072008801001a002200';
const OPTIONS = '6b3873000a130a027631120d44656c6574654f7074696f6e73120e0800220a4261636b67726f756e641a002200';

const NEW_LEASE =
  '6b3873000a1f0a16636f6f7264696e6174696f6e2e6b38732e696f2f763112054c6561736512530a2d0a12636c75737465722d6175746f7363616c657212001a0b6b7562652d73797374656d22002a0032003800420012220a026d65100f1a0b088cbc89d806108094ef3a220b088cbc89d806108094ef3a28001a002200';

const META = {
  name: 'x',
  namespace: 'kube-system',
  labels: { a: 'b' },
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'u', controller: true }],
  finalizers: ['f/x'],
  resourceVersion: '7',
};

describe('protobuf bodies of an autoscaler', () => {
  it.each([
    [
      'a lease',
      LEASE,
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: META,
        spec: {
          holderIdentity: 'me',
          leaseDurationSeconds: 15,
          acquireTime: '2026-11-22T03:14:20.123456Z',
          renewTime: '2026-11-22T03:14:20.123456Z',
          leaseTransitions: 0,
        },
      },
    ],
    [
      'an event',
      EVENT,
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'e', namespace: 'default' },
        involvedObject: { kind: 'Pod', namespace: 'default', name: 'w', uid: 'u', apiVersion: 'v1', resourceVersion: '3' },
        reason: 'TriggeredScaleUp',
        message: 'pod triggered',
        source: { component: 'cluster-autoscaler' },
        firstTimestamp: '2026-11-22T03:14:20Z',
        lastTimestamp: '2026-11-22T03:14:20Z',
        count: 1,
        type: 'Normal',
        reportingComponent: 'cluster-autoscaler',
      },
    ],
    [
      'a config map',
      MAP,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: META, data: { status: 'x' }, binaryData: { b: 'AQI=' }, immutable: true },
    ],
    [
      'an eviction',
      EVICTION,
      {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: 'w', namespace: 'default' },
        deleteOptions: { gracePeriodSeconds: 30, preconditions: { uid: 'u' } },
      },
    ],
    [
      'a node, without its status, which a write of the node does not change',
      NODE,
      {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'n', resourceVersion: '9', labels: { agentpool: 'a' } },
        spec: {
          podCIDR: '10.0.0.0/24',
          podCIDRs: ['10.0.0.0/24'],
          providerID: 'azure:///x',
          unschedulable: true,
          taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule', timeAdded: '2026-11-22T03:14:20Z' }],
        },
      },
    ],
    [
      'a pod',
      POD,
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: META,
        spec: {
          containers: [
            {
              name: 'c',
              image: 'i',
              command: ['sleep'],
              env: [{ name: 'E', value: 'v' }],
              resources: { requests: { cpu: '500m', memory: '1Gi' } },
              imagePullPolicy: 'Always',
            },
          ],
          restartPolicy: 'Always',
          terminationGracePeriodSeconds: 30,
          nodeSelector: { a: 'b' },
          tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 300 }],
          priorityClassName: 'high',
          priority: 5,
          schedulerName: 'default-scheduler',
        },
      },
    ],
    [
      'options of a deletion',
      OPTIONS,
      { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, propagationPolicy: 'Background', metadata: {} },
    ],
  ])('are read: %s', (_what, hex, object) => {
    expect(decodeProtobuf(Buffer.from(hex, 'hex'))).toEqual(object);
  });
});

describe('the API server', () => {
  let world: RunningWorld;
  afterEach(() => world.stop());

  const send = (method: string, path: string, body: Buffer | string): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${world.token}`,
        'content-type': 'application/vnd.kubernetes.protobuf',
        accept: 'application/vnd.kubernetes.protobuf,application/json',
      };
      const sent = request(new URL(path, world.urls.kubernetes), { method, headers, ca: world.caPem }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      sent.on('error', reject);
      sent.end(typeof body === 'string' ? Buffer.from(body, 'hex') : body);
    });

  it('accepts them, so that a client with its default content type leads and taints nodes', async () => {
    world = await startWorld({
      clock: { virtual: true },
      pools: [{ name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 3 }],
    });
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
    expect(await send('POST', leases, NEW_LEASE)).toBe(201);
    expect(world.objects('leases').find(({ metadata }) => metadata.name === 'cluster-autoscaler')).toMatchObject({
      spec: { holderIdentity: 'me', renewTime: '2026-11-22T03:14:20.123456Z' },
    });
    expect(await send('PUT', `${leases}/cluster-autoscaler`, NEW_LEASE)).toBe(200);
    expect(await send('POST', '/api/v1/namespaces/default/events', EVENT)).toBe(201);
    expect(world.objects('events').map(({ metadata }) => metadata.name)).toContain('e');
  });

  // The Cluster Autoscaler 1.36.1 sends policy/v1beta1.
  it.each(['policy/v1', 'policy/v1beta1'])('taints a node and evicts a pod that bodies in protobuf name: %s', async (policy) => {
    world = await startWorld({
      clock: { virtual: true },
      pools: [{ name: 'general', vmSize: 'Standard_D4s_v5', count: 1, min: 1, max: 3 }],
    });
    world.addPods({ name: 'w', count: 1 });
    await world.until(() => world.pods().bound.some(({ metadata }) => metadata.labels?.['app'] === 'w'));
    const [node] = world.nodes();
    const pod = world.pods().bound.find(({ metadata }) => metadata.labels?.['app'] === 'w');
    if (node?.spec.providerID === undefined || pod === undefined) throw new Error('The world has no node and no pod.');
    const taint = message([1, 'ToBeDeletedByClusterAutoscaler'], [2, '1'], [3, 'NoSchedule']);
    const meta = message([1, node.metadata.name], [6, node.metadata.resourceVersion]);
    const tainted = unknown('v1', 'Node', message([1, meta], [2, message([3, node.spec.providerID], [5, taint])]));
    expect(await send('PUT', `/api/v1/nodes/${node.metadata.name}`, tainted)).toBe(200);
    expect(world.nodes()[0]?.spec.taints).toEqual([{ key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' }]);
    expect(await send('PUT', `/api/v1/nodes/${node.metadata.name}`, tainted)).toBe(409);
    const { name, uid } = pod.metadata;
    const eviction = (of: string): Buffer =>
      unknown(policy, 'Eviction', message([1, message([1, name], [3, 'default'])], [2, message([2, message([1, of])])]));
    expect(await send('POST', `/api/v1/namespaces/default/pods/${name}/eviction`, eviction('another'))).toBe(409);
    expect(await send('POST', `/api/v1/namespaces/default/pods/${name}/eviction`, eviction(uid))).toBe(201);
    await world.clock.advance(60_000);
    expect(world.objects('pods').map(({ metadata }) => metadata.uid)).not.toContain(uid);
  });
});

/** Fields with a length, shorter than 16 KiB: protobuf.dev/programming-guides/encoding. */
function message(...fields: readonly (readonly [number, string | Buffer])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      const bytes = Buffer.from(value);
      const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
      return [Buffer.from([(number << 3) | 2, ...length]), bytes];
    }),
  );
}

/** `runtime.Unknown` with its prefix, as client-go sends an object. */
function unknown(apiVersion: string, kind: string, raw: Buffer): Buffer {
  return Buffer.concat([Buffer.from('6b387300', 'hex'), message([1, message([1, apiVersion], [2, kind])], [2, raw])]);
}
