/**
 * A real kube-scheduler that is asked and never binds. An extender (the scheduler's own way of asking somebody else
 * over HTTP) hears of the nodes that passed every filter, and refuses them all: one attempt tells the answer for each
 * node, nothing changes by it, and many pods can be asked for at once.
 */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GangQuestion } from '../../differential/gang-case.ts';
import type { ParityCluster, ParityObject } from '../../differential/parity-case.ts';
import type { Json, KubeObject } from '../../../world/simulator/real-control-plane/api-client.ts';
import type { Binaries } from '../binaries.ts';
import { startControlPlane, type ControlPlane } from '../../../world/simulator/real-control-plane/control-plane.ts';
import { planeOf } from '../given.ts';
import type { PodGroupApi } from '../pod-group-api.ts';
import type { GangDraft } from './random-cases.ts';
import { stateOf } from '../pod-state.ts';
import { refusingExtender, SENTINEL, type Verdict } from './refusing-extender.ts';
import { GANG_PRIORITY, gangOf, memberOf } from './gang-members.ts';
import { until } from '../until.ts';
import { apiOf, DEVICES, pathOf, PATHS, tidy } from './case-objects.ts';
import { gated, hasItsClaims, hasOwnClaims, ownClaims } from './own-claims.ts';

/** Pods that start together. */
export interface AskedGang extends GangQuestion {
  /** The pod that was copied. */
  readonly member: ParityObject;
  readonly claims: readonly ParityObject[];
  /** How many of them the scheduler bound. */
  readonly placed: number;
}

export interface Asked {
  /** As the API server gave it back. */
  readonly pod: ParityObject;
  /** The claims of its generic ephemeral volumes, which came with it. */
  readonly claims: readonly ParityObject[];
  readonly verdict: Verdict;
}

/** What the API server would not take is not a case: nobody can have it. */
export interface Answers {
  readonly cluster: ParityCluster;
  readonly asked: readonly Asked[];
  readonly gang?: AskedGang;
  /** Why the API server refused an object. */
  readonly invalid: readonly string[];
}

/** Admission that would change or refuse what a case is made of. */
const NOT_ADMITTED = ['ServiceAccount', 'TaintNodesByCondition', 'RuntimeClass', 'StorageObjectInUseProtection'];
/** Classes of priority that the pods of a case may name. */
export const PRIORITIES: Readonly<Record<string, number>> = { 'parity-low': -5, 'parity-high': 1000 };
const MERGE = 'application/merge-patch+json';
const SENTINEL_CLASS: ParityObject = {
  kind: 'DeviceClass',
  metadata: { name: SENTINEL },
  spec: { selectors: [{ cel: { expression: `device.driver == "${SENTINEL}"` } }] },
};

/** Owns a control plane and the extender. */
export class RealScheduler {
  readonly #plane: ControlPlane;
  readonly #server: Server;
  readonly #verdicts: Map<string, Verdict>;
  readonly #unfollow: () => void;
  #turn = 0;

  private constructor(plane: ControlPlane, server: Server, verdicts: Map<string, Verdict>) {
    this.#plane = plane;
    this.#server = server;
    this.#verdicts = verdicts;
    this.#unfollow = plane.admin.follow('/api/v1/pods', ({ type, object }) => {
      if (type === 'DELETED') return;
      const { conditions = [] } = object['status'] as { readonly conditions?: readonly Readonly<Record<string, string>>[] };
      // One that is gated was not looked at yet.
      const refused = conditions.find(
        ({ type: about, status, reason }) => about === 'PodScheduled' && status === 'False' && reason !== 'SchedulingGated',
      );
      const { uid } = object.metadata;
      if (refused === undefined || verdicts.has(uid)) return;
      verdicts.set(uid, { nodes: [], message: `${refused['reason'] ?? ''}: ${refused['message'] ?? ''}` });
    });
  }

  /** `pluginConfig`: of its one profile. `groups`: it plans groups of pods as a whole. */
  static async start(binaries: Binaries, pluginConfig: readonly Json[] = [], groups?: PodGroupApi): Promise<RealScheduler> {
    const verdicts = new Map<string, Verdict>();
    const server = refusingExtender(verdicts);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const plane = await startControlPlane({
        ...planeOf(binaries),
        parts: ['kube-scheduler'],
        args: {
          'kube-apiserver': [
            `--disable-admission-plugins=${NOT_ADMITTED.join(',')}`,
            ...(groups === undefined ? [] : [`--feature-gates=${groups.gates}`, `--runtime-config=${groups.api}=true`]),
          ],
          'kube-scheduler': groups === undefined ? [] : [`--feature-gates=${groups.gates}`],
        },
        scheduler: {
          extenders: [{ urlPrefix: `http://127.0.0.1:${port}`, filterVerb: 'filter', nodeCacheCapable: true, httpTimeout: '30s' }],
          profiles: [
            { schedulerName: 'default-scheduler', pluginConfig, plugins: { postFilter: { disabled: [{ name: 'DefaultPreemption' }] } } },
          ],
        },
      });
      for (const [name, value] of Object.entries(PRIORITIES)) {
        await plane.admin.apply({ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value });
      }
      await plane.admin.apply({
        apiVersion: 'scheduling.k8s.io/v1',
        kind: 'PriorityClass',
        metadata: { name: GANG_PRIORITY },
        value: 0,
        preemptionPolicy: 'Never',
      });
      await plane.admin.must('POST', pathOf(SENTINEL_CLASS), { ...apiOf(SENTINEL_CLASS), ...SENTINEL_CLASS });
      return new RealScheduler(plane, server, verdicts);
    } catch (thrown) {
      server.close();
      throw thrown;
    }
  }

  async stop(): Promise<void> {
    this.#unfollow();
    await this.#plane.stop();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Makes the cluster, asks for each pod, then for the pods of the gang together, and leaves nothing behind. Pods do not see each other. */
  async ask(objects: ParityCluster, pods: readonly ParityObject[], draft?: GangDraft): Promise<Answers> {
    this.#turn += 1;
    let gang: GangQuestion | undefined;
    this.#verdicts.clear();
    const invalid: string[] = [];
    const made: ParityObject[] = [];
    try {
      for (const [kind] of PATHS) {
        // What a pod owns is made with it.
        const group = objects.filter((object) => object.kind === kind && object.metadata['ownerReferences'] === undefined);
        const answers = await Promise.all(group.map((object) => this.#make(object)));
        for (const answer of answers) {
          if (typeof answer === 'string') invalid.push(answer);
          else made.push(answer);
        }
      }
      await this.#sentinel(made.some(({ kind }) => kind === 'ResourceSlice'));
      const answers = await Promise.all(pods.map((pod) => this.#askFor(pod, made)));
      invalid.push(...answers.filter((answer) => typeof answer === 'string'));
      const asked = answers.filter((answer) => typeof answer !== 'string');
      const member = draft === undefined ? undefined : memberOf(draft, asked, SENTINEL);
      if (draft === undefined || member === undefined) return { cluster: made, asked, invalid };
      gang = gangOf(member, draft, `gang-${this.#turn}`);
      const bound = await this.#askForGang(gang, made);
      if (typeof bound === 'string') return { cluster: made, asked, invalid: [...invalid, bound] };
      return { cluster: made, asked, invalid, gang: { ...bound, member } };
    } finally {
      await this.#clear([...objects, ...pods, ...(gang === undefined ? [] : [gang.group, ...gang.pods])]);
    }
  }

  /** The object as it is now; a text: why the server refused it. */
  async #make(object: ParityObject): Promise<ParityObject | string> {
    const path = pathOf(object);
    const { deletionTimestamp, ...metadata } = object.metadata;
    const { resourceVersion: _version, uid: _uid, creationTimestamp: _created, ...rest } = metadata;
    const answer = await this.#plane.admin.call('POST', path, { ...object, ...apiOf(object), metadata: rest });
    const existing = answer.status === 409 && object.kind === 'Namespace';
    if (existing) return this.#replace(object, rest);
    if (answer.status >= 300) return `${object.kind} ${rest.name}: ${String(answer.body['message'])}`;
    let now: Json = answer.body;
    const own = `${path}/${rest.name}`;
    // Claims and volumes get their phase as the controllers would write it.
    if (object['status'] !== undefined && /^PersistentVolume|^ResourceClaim$/.test(object.kind)) {
      const told = await this.#plane.admin.call('PUT', `${own}/status`, { ...now, status: object['status'] });
      if (told.status >= 300) return `${object.kind} ${rest.name}: ${String(told.body['message'])}`;
      now = told.body;
    }
    // And the pods that are somewhere have the kubelet's word.
    if (object.kind === 'Pod' && (object['spec'] as Json)['nodeName'] !== undefined) {
      // The server derives the class of a pod, and from 1.37 on refuses another one, as a case that was made smaller may have it.
      const { qosClass: _derived, ...status } = (object['status'] ?? {}) as Json;
      now = await this.#plane.admin.must('PATCH', `${own}/status`, { status }, MERGE);
    }
    if (deletionTimestamp !== undefined) {
      await this.#plane.admin.delete(own, { gracePeriodSeconds: 3600 });
      now = (await this.#plane.admin.get(own)) ?? now;
    }
    return tidy({ ...apiOf(object), ...now, kind: object.kind } as ParityObject);
  }

  async #replace(object: ParityObject, metadata: Json): Promise<ParityObject> {
    const own = `/api/v1/namespaces/${object.metadata.name}`;
    const now = await this.#plane.admin.must('PATCH', own, { metadata: { labels: metadata['labels'] ?? {} } }, MERGE);
    return tidy({ ...now, kind: 'Namespace' } as ParityObject);
  }

  async #askFor(pod: ParityObject, objects: ParityCluster): Promise<Asked | string> {
    const made = await this.#makePod(pod, objects);
    return typeof made === 'string' ? made : { ...made, verdict: await this.#verdictOn(made.pod.metadata.uid ?? '') };
  }

  /** With the claims that are made for it alone. */
  async #makePod(pod: ParityObject, objects: ParityCluster): Promise<Pick<Asked, 'pod' | 'claims'> | string> {
    if (!hasItsClaims(pod, objects)) return `Pod ${pod.metadata.name}: a claim that it names is not there`;
    const owns = hasOwnClaims(pod);
    const made = await this.#make(owns ? gated(pod) : pod);
    if (typeof made === 'string' || !owns) return typeof made === 'string' ? made : { pod: made, claims: [] };
    const own = ownClaims(made, objects);
    const claims = await Promise.all(own.claims.map((claim) => this.#make(claim)));
    const path = `${pathOf(made)}/${made.metadata.name}`;
    const { admin } = this.#plane;
    if (own.status !== undefined) await admin.must('PATCH', `${path}/status`, { status: own.status }, MERGE);
    const ungated = await admin.must('PATCH', path, { spec: { schedulingGates: null } }, MERGE);
    return {
      pod: tidy({ ...made, ...ungated, kind: 'Pod' }),
      claims: claims.filter((claim) => typeof claim !== 'string'),
    };
  }

  /** The group first, then its pods. What the scheduler binds is what counts: the extender lets these pods pass. */
  async #askForGang({ group, pods: drafts }: GangQuestion, objects: ParityCluster): Promise<Omit<AskedGang, 'member'> | string> {
    const { admin } = this.#plane;
    const made = await this.#make(group);
    if (typeof made === 'string') return made;
    const members: Pick<Asked, 'pod' | 'claims'>[] = [];
    for (const each of drafts) {
      const member = await this.#makePod(each, objects);
      if (typeof member === 'string') return member;
      members.push(member);
    }
    let seen = '';
    const states = await until(
      'the scheduler has decided on each pod of the group',
      async () => {
        const now = await Promise.all(members.map(({ pod }) => admin.must('GET', `${pathOf(pod)}/${pod.metadata.name}`)));
        const found = now.map(stateOf);
        seen = now.map((pod) => JSON.stringify(pod['status'])).join('\n');
        return found.includes('untried') ? undefined : found;
      },
      60_000,
      () => `${seen}\n${this.#plane.tail('kube-scheduler')}`,
    );
    const asked = members.map(({ pod }) => pod);
    return {
      group: made,
      pods: asked,
      claims: members.flatMap(({ claims }) => claims),
      placed: states.filter((state) => state === 'bound').length,
    };
  }

  #verdictOn(uid: string): Promise<Verdict> {
    return until(
      'the scheduler has looked at the pod',
      () => this.#verdicts.get(uid),
      60_000,
      () => this.#plane.tail('kube-scheduler'),
    );
  }

  /**
   * Made last, and let in only by who knows both the last node and the last bound pod: the scheduler then knows all that
   * came before. It has no label that a rule of a case could count by. Of devices and claims the newest are asked for, too.
   */
  async #sentinel(withDevices: boolean): Promise<void> {
    const turn = `turn-${this.#turn}`;
    const name = `${SENTINEL}-${turn}`;
    const labels = { [SENTINEL]: turn };
    const room = { cpu: '1', memory: '1Gi', pods: '2' };
    const { admin } = this.#plane;
    await admin.must('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels },
      status: { allocatable: room, capacity: room },
    });
    const pods = '/api/v1/namespaces/kube-system/pods';
    const pod = (podName: string, spec: Json): Json => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: podName, labels },
      spec: { containers: [{ name: 'c', image: 'none' }], ...spec },
    });
    await admin.must('POST', pods, pod(`${name}-there`, { nodeName: name }));
    const claimed = withDevices ? { resourceClaims: [{ name: 'own', resourceClaimName: name }] } : {};
    if (withDevices) {
      for (const object of sentinelDevices(name)) {
        await admin.must('POST', pathOf(object), { ...object, ...apiOf(object) });
      }
    }
    const near = [{ topologyKey: SENTINEL, labelSelector: { matchLabels: labels } }];
    const asks = await admin.must(
      'POST',
      pods,
      pod(`${name}-asks`, { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: near } }, ...claimed }),
    );
    const { uid } = asks['metadata'] as KubeObject['metadata'];
    await until('the scheduler knows the whole cluster', () => {
      const verdict = this.#verdicts.get(uid);
      if (verdict !== undefined && verdict.nodes.length === 0) this.#verdicts.delete(uid);
      return verdict?.nodes.includes(name);
    });
  }

  /** What the scheduler allocates, it protects. */
  async #claimsIn(namespaces: readonly string[]): Promise<ParityCluster> {
    const lists = await Promise.all(namespaces.map((each) => this.#plane.admin.list(`${DEVICES}/namespaces/${each}/resourceclaims`)));
    return lists.flat().map((claim) => ({ kind: 'ResourceClaim', metadata: { ...claim.metadata } }));
  }

  async #clear(objects: ParityCluster): Promise<void> {
    const { admin } = this.#plane;
    const namespaces = new Set(['kube-system', 'default', ...objects.map(({ metadata }) => metadata.namespace ?? 'default')]);
    const now = { gracePeriodSeconds: 0 };
    await Promise.all([...namespaces].map((namespace) => admin.delete(`/api/v1/namespaces/${namespace}/pods`, now)));
    const allocated = objects.some(({ kind }) => kind === 'PodGroup') ? await this.#claimsIn([...namespaces]) : [];
    await Promise.all(
      [...objects, ...allocated]
        .filter(({ kind, metadata }) => kind === 'PodGroup' || (kind.endsWith('Claim') && metadata['finalizers'] !== undefined))
        .map(async (object) => {
          await admin.call('PATCH', `${pathOf(object)}/${object.metadata.name}`, { metadata: { finalizers: null } }, MERGE);
        }),
    );
    const owned =
      allocated.length > 0 || objects.some((each) => each.kind === 'Pod' && hasOwnClaims(each))
        ? ['PersistentVolumeClaim', 'ResourceClaim']
        : [];
    const kinds = new Set(['Node', ...owned, ...objects.map(({ kind }) => kind)]);
    // The sentinel's own class stays.
    for (const { metadata } of objects.filter(({ kind }) => kind === 'DeviceClass')) {
      await admin.delete(`${DEVICES}/deviceclasses/${metadata.name}`);
    }
    for (const [kind, path] of PATHS.toReversed()) {
      if (kind === 'DeviceClass' || kind === 'Pod' || kind === 'Namespace' || !kinds.has(kind)) continue;
      const isOfNamespace = path('a') !== path('b');
      const paths = isOfNamespace ? [...namespaces].map(path) : [path('')];
      await Promise.all(paths.map((each) => admin.delete(each, now)));
    }
  }
}

/** A device of the sentinel's node, and the claim that only it fills. */
function sentinelDevices(name: string): readonly ParityObject[] {
  const pool = { name, generation: 1, resourceSliceCount: 1 };
  return [
    { kind: 'ResourceSlice', metadata: { name }, spec: { driver: SENTINEL, pool, nodeName: name, devices: [{ name: 'only' }] } },
    {
      kind: 'ResourceClaim',
      metadata: { name, namespace: 'kube-system' },
      spec: { devices: { requests: [{ name: 'only', exactly: { deviceClassName: SENTINEL } }] } },
    },
  ];
}
