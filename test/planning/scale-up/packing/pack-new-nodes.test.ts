import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Node } from '../../../../src/domain/node.ts';
import type { Pod, PodShape } from '../../../../src/domain/pod.ts';
import { finishAtOnce } from '../../../../src/lib/slices.ts';
import { makeTemplate } from '../../../../src/planning/scale-up/groups/template-node.ts';
import { packNewNodes } from '../../../../src/planning/scale-up/packing/pack-new-nodes.ts';
import type { FamilyMember } from '../../../../src/planning/scale-up/packing/place-pods.ts';
import { groupPods } from '../../../../src/planning/scale-up/pods/equivalence-groups.ts';
import { ClusterSnapshot } from '../../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { withFork } from '../../../../src/scheduling/snapshot/snapshot.ts';
import { aCluster, aGroup, aNode, aPod, aShape, aTemplate, resourceNames } from '../../../support/builders.ts';
import { packByReference } from './reference-packer.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const RACK = 'rack';
const KEYS = [ZONE, HOST, RACK];

const anApp = fc.constantFrom('a', 'b', 'c', 'd');
const aSelector = anApp.map((app) => ({ requirements: [{ key: 'app', operator: 'In' as const, values: [app] }] }));
const aTerm = fc.record({
  topologyKey: fc.constantFrom(...KEYS),
  selector: aSelector,
  namespaces: fc.constant([]),
  namespaceSelector: fc.constant(undefined),
});
const aSpread = fc.record({
  topologyKey: fc.constantFrom(...KEYS),
  maxSkew: fc.constantFrom(1, 1, 2, 4),
  minDomains: fc.constantFrom(1, 1, 2, 4),
  selector: aSelector,
  nodeAffinityPolicy: fc.constantFrom('Honor' as const, 'Ignore' as const),
  nodeTaintsPolicy: fc.constantFrom('Honor' as const, 'Ignore' as const),
});
const rarely = <Item>(item: fc.Arbitrary<Item>, often: number) =>
  fc.oneof(
    { weight: often, arbitrary: fc.constant<readonly Item[]>([]) },
    { weight: 1, arbitrary: fc.array(item, { minLength: 1, maxLength: 2 }) },
  );
const someShape = fc
  .record({
    cpu: fc.constantFrom('100m', '300m', '500m', '900m', '1500m', '2500m'),
    memory: fc.constantFrom('128Mi', '1Gi', '3Gi'),
    app: anApp,
    topologySpread: rarely(aSpread, 1),
    podAffinity: rarely(aTerm, 2),
    podAntiAffinity: rarely(aTerm, 3),
    hostPorts: rarely(fc.constantFrom(80, 81), 6),
    zone: fc.option(fc.constantFrom('we-1', 'we-2'), { freq: 8, nil: undefined }),
  })
  .map(({ app, zone, hostPorts, ...rest }) =>
    aShape({
      ...rest,
      labels: { app },
      nodeSelector: zone === undefined ? {} : { [ZONE]: zone },
      hostPorts: [...new Set(hostPorts)].map((port) => ({ port, protocol: 'TCP' as const, hostIp: '0.0.0.0' })),
    }),
  );

interface Member {
  readonly cpu: string;
  readonly zones: readonly string[];
  readonly rack: string | undefined;
  readonly limit: number;
}
const aMember: fc.Arbitrary<Member> = fc.record({
  cpu: fc.constantFrom('1900m', '3860m', '7800m'),
  zones: fc.constantFrom<readonly string[]>([], ['we-1'], ['we-2'], ['we-3'], ['we-1', 'we-2', 'we-3']),
  rack: fc.constantFrom(undefined, 'r-1', 'r-2'),
  limit: fc.constantFrom(1, 3, 10, 40),
});
const someMembers: fc.Arbitrary<readonly Member[]> = fc.oneof(
  aMember.map((member) => [member]),
  fc
    .record({ cpu: fc.constantFrom('1900m', '3860m'), limit: fc.constantFrom(2, 10, 40) })
    .map((same) => ['we-1', 'we-2', 'we-3'].map((zone) => ({ ...same, zones: [zone], rack: undefined }))),
  fc.array(aMember, { minLength: 2, maxLength: 3 }),
);

const somePresent = fc.array(
  fc.record({
    zone: fc.constantFrom(undefined, 'we-1', 'we-2'),
    rack: fc.constantFrom(undefined, 'r-1'),
    taint: fc.boolean(),
    host: fc.boolean(),
    of: fc.nat(3),
  }),
  { maxLength: 5 },
);

const aWorld = fc.record({
  shapes: fc.array(someShape, { minLength: 1, maxLength: 5 }),
  counts: fc.array(fc.nat(12), { minLength: 5, maxLength: 5 }),
  members: someMembers,
  present: somePresent,
  limit: fc.constantFrom(2, 12, 100),
  daemon: fc.option(anApp, { freq: 3, nil: undefined }),
});
/** Pods without rules about other pods. Many select a zone. */
const aPlainWorld = aWorld.map((world) => {
  const shapes = world.shapes.map(({ labels, nodeSelector, hostPorts, requests }, index) => ({
    ...aShape({ labels, nodeSelector, hostPorts, key: `plain-${index}` }),
    requests,
  }));
  return { ...world, shapes };
});
type RandomWorld = typeof aWorld extends fc.Arbitrary<infer World> ? World : never;

function membersOf({ members, daemon }: RandomWorld): readonly FamilyMember[] {
  const daemonSets =
    daemon === undefined ? [] : [{ namespace: 'default', name: 'agent', uid: 'ds', shape: aShape({ labels: { app: daemon } }) }];
  return members.map(({ cpu, zones, rack, limit }, index) => {
    const labels = { ...(zones.length === 1 ? { [ZONE]: zones[0]! } : {}), ...(rack === undefined ? {} : { [RACK]: rack }) };
    const group = aGroup({ id: `pool-${index}`, template: aTemplate({ cpu, memory: '8Gi', pods: '12', zones, labels }) });
    return { template: makeTemplate(group, group.template!, { daemonSets }, new Set()), limit };
  });
}

function snapshotOf({ present, shapes }: RandomWorld): ClusterSnapshot {
  const nodes = present.map(({ zone, rack, taint, host }, index): Node => {
    const labels = {
      ...(host ? {} : { [HOST]: '' }),
      ...(zone === undefined ? {} : { [ZONE]: zone }),
      ...(rack === undefined ? {} : { [RACK]: rack }),
    };
    const taints = taint ? [{ key: 'only', value: '', effect: 'NoSchedule' as const }] : [];
    return aNode({ name: `present-${index}`, cpu: '100m', labels, taints });
  });
  const bound = present.map(({ of }, index) => aPod({ nodeName: `present-${index}`, shape: shapes[of % shapes.length]! }));
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(aCluster({ nodes, pods: bound }));
  return snapshot;
}

function podsOf({ shapes, counts }: RandomWorld): readonly Pod[] {
  return shapes.flatMap((shape: PodShape, index) =>
    Array.from({ length: counts[index]! }, (_, at) => aPod({ name: `p-${index}-${String(at).padStart(2, '0')}`, shape })),
  );
}

describe('pods on new nodes', () => {
  it('are the first of their kind only if no term counts one', () => {
    const selector = { requirements: [{ key: 'app', operator: 'In' as const, values: ['a'] }] };
    const term = { selector, namespaces: [], namespaceSelector: undefined };
    const podAffinity = [
      { ...term, topologyKey: ZONE },
      { ...term, topologyKey: HOST },
    ];
    const shape = aShape({ labels: { app: 'a' }, podAffinity });
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    // The node has no host name, so that the term about hosts does not count its pod.
    const node = aNode({ name: 'present', labels: { [ZONE]: 'we-1', [HOST]: '' } });
    snapshot.sync(aCluster({ nodes: [node], pods: [aPod({ nodeName: 'present', shape })] }));
    const group = aGroup({ template: aTemplate({ zones: ['we-1'] }) });
    const member = { template: makeTemplate(group, group.template!, { daemonSets: [] }, new Set()), limit: 5 };
    const groups = groupPods([aPod({ shape })], finishAtOnce(snapshot.interdependentShapes([shape])));
    expect(finishAtOnce(packNewNodes(groups, [member], { nodes: 5, prefix: 'new', keep: false }, snapshot)).nodes).toBe(0);
  });

  it('follow others to their host, past hosts with room', () => {
    const near = { topologyKey: HOST, selector: { requirements: [{ key: 'app', operator: 'In' as const, values: ['b'] }] } };
    const shapes = [
      aShape({ cpu: '3', labels: { app: 'a' } }),
      aShape({ cpu: '2', labels: { app: 'b' } }),
      aShape({ cpu: '1', labels: { app: 'c' }, podAffinity: [{ ...near, namespaces: [], namespaceSelector: undefined }] }),
    ];
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(aCluster());
    const group = aGroup({ template: aTemplate({ cpu: '4' }) });
    const member = { template: makeTemplate(group, group.template!, { daemonSets: [] }, new Set()), limit: 5 };
    const groups = groupPods(
      shapes.map((shape) => aPod({ shape })),
      finishAtOnce(snapshot.interdependentShapes(shapes)),
    );
    const { nodes, placed } = finishAtOnce(packNewNodes(groups, [member], { nodes: 5, prefix: 'new', keep: false }, snapshot));
    expect([nodes, placed.size]).toEqual([2, 3]);
  });

  it.each([
    { keep: true, pods: 'any', worlds: aWorld },
    { keep: false, pods: 'any', worlds: aWorld },
    { keep: false, pods: 'only room', worlds: aPlainWorld },
  ])(
    'have the places that every pod would find by trying every new node (nodes stay: $keep, pods need: $pods)',
    ({ keep, worlds, pods: need }) => {
      let arithmetic = 0;
      fc.assert(
        fc.property(worlds, (world) => {
          const members = membersOf(world);
          const snapshot = snapshotOf(world);
          const before = snapshot.nodeNames();
          const shapes = [
            ...world.shapes,
            aShape({ labels: { app: 'kept-interdependent' }, topologySpread: world.shapes[0]!.topologySpread }),
          ];
          const groups = groupPods(podsOf(world), finishAtOnce(snapshot.interdependentShapes(shapes)));
          const countsOf = () => world.shapes.map((shape) => before.map((name) => snapshot.check(aPod({ shape }), name)));
          const counts = countsOf();
          const slow = withFork(snapshot, () => packByReference(groups, members, { nodes: world.limit, prefix: 'new' }, snapshot));
          const { found, pods } = withFork(snapshot, () => {
            const packed = finishAtOnce(packNewNodes(groups, members, { nodes: world.limit, prefix: 'new', keep }, snapshot));
            return { found: packed, pods: snapshot.nodeNames().map((name) => snapshot.get(name)!.pods.map((pod) => pod.name)) };
          });
          // Then the nodes are only counted.
          const isArithmetic = !keep && found.nodes > 0 && found.added.length === 0;
          if (isArithmetic) arithmetic += 1;
          expect(found.added).toEqual(isArithmetic ? [] : slow.nodes.map(({ name, group }) => [name, group]));
          expect(
            found.shares.map(({ placed, ...rest }) => ({
              ...rest,
              placed: new Map([...placed].map(([group, count]) => [group.key, count])),
            })),
          ).toEqual(slow.shares);
          if (keep) expect(pods.slice(before.length)).toEqual(slow.nodes.map((node) => [...node.pods]));
          expect(snapshot.nodeNames()).toEqual(before);
          expect(countsOf()).toEqual(counts);
        }),
        { seed: 41, numRuns: 1_500 },
      );
      if (need === 'only room') expect(arithmetic).toBeGreaterThan(200);
    },
  );
});
