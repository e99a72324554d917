import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Node } from '../../../src/domain/node.ts';
import type { ClusterView } from '../../../src/domain/observation.ts';
import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '../../../src/domain/pod.ts';
import { finishAtOnce } from '../../../src/lib/slices.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aNode, aPod, aShape, resourceNames, START_MS } from '../../support/builders.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const app = (name: string) => ({ requirements: [{ key: 'app', operator: 'In', values: [name] }] }) as const;

function synced(cluster: ClusterView): ClusterSnapshot {
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(cluster);
  return snapshot;
}
function inZone(name: string, zone: string, taints: Node['taints'] = []): Node {
  return aNode({ name, labels: { [ZONE]: zone }, taints });
}
function spread(rest: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint {
  return {
    topologyKey: ZONE,
    maxSkew: 1,
    minDomains: 1,
    selector: app('web'),
    nodeAffinityPolicy: 'Honor',
    nodeTaintsPolicy: 'Ignore',
    ...rest,
  };
}
function term(rest: Partial<PodAffinityTerm> = {}): PodAffinityTerm {
  return { topologyKey: ZONE, selector: app('web'), namespaces: [], namespaceSelector: undefined, ...rest };
}
const web = (nodeName: string, rest: Parameters<typeof aPod>[0] = {}) => aPod({ nodeName, shape: { labels: { app: 'web' } }, ...rest });
const kinds = (snapshot: ClusterSnapshot, pod: Pod, node: string) =>
  snapshot.check(pod, node).map((reason) => (reason.kind === 'pod-affinity' ? reason.rule : reason.kind));

describe('ClusterSnapshot: memory', () => {
  it('if the last found node of equal pods is gone, the search restarts', () => {
    const nodes = ['a', 'b', 'c'].map((name) => aNode({ name }));
    const snapshot = synced(aCluster({ nodes }));
    const pod = aPod({ cpu: '1' });
    expect([snapshot.findNode(pod), snapshot.findNode(pod)]).toEqual(['a', 'b']);
    snapshot.removeNode('b');
    expect([snapshot.findNode(pod), snapshot.findNode(pod)]).toEqual(['c', 'a']);
    snapshot.sync(aCluster({ nodes: nodes.slice(2) }));
    expect(snapshot.findNode(pod)).toBe('c');
    snapshot.sync(aCluster({ nodes: [] }));
    expect(snapshot.findNode(pod)).toBeUndefined();
  });

  it('undoing many pods of a node compares none of them with all others', () => {
    const COUNT = 80;
    let reads = 0;
    const watched = (pod: Pod): Pod =>
      new Proxy(pod, {
        get(target, name) {
          if (name === 'uid') reads += 1;
          return Reflect.get(target, name);
        },
      });
    const pods = Array.from({ length: COUNT }, (_, at) => watched(aPod({ name: `p-${at}`, cpu: '1m', memory: '1Mi' })));
    const snapshot = synced(aCluster({ nodes: [aNode({ name: 'a' })] }));
    snapshot.fork();
    for (const pod of pods) snapshot.addPod(pod, 'a');
    snapshot.revert();
    expect(reads).toBeLessThanOrEqual(COUNT);
  });

  it('counts stay right while weeks of churn drop the names of former nodes', () => {
    const lonely = web('', { name: 'lonely', shape: { labels: { app: 'web' }, podAntiAffinity: [term({ topologyKey: HOST })] } });
    const dayOf = (day: number): ClusterView => {
      const nodes = Array.from({ length: 100 }, (_, index) =>
        aNode({ name: `n-${day}-${index}`, labels: { [HOST]: `n-${day}-${index}` } }),
      );
      return aCluster({ nodes, pods: [web(`n-${day}-0`)] });
    };
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    for (let day = 0; day < 300; day++) {
      snapshot.sync(dayOf(day));
      expect([kinds(snapshot, lonely, `n-${day}-0`), kinds(snapshot, lonely, `n-${day}-1`)]).toEqual([['anti-affinity'], []]);
    }
  });
});

describe('ClusterSnapshot: search', () => {
  it('goes round robin, in order of names, and restarts at a sync', () => {
    const cluster = aCluster({ nodes: ['c', 'a', 'b'].map((name) => aNode({ name })) });
    const snapshot = synced(cluster);
    const pod = aPod();
    const round = () => [1, 2, 3, 4].map(() => snapshot.findNode(pod));
    expect(round()).toEqual(['a', 'b', 'c', 'a']);
    snapshot.sync(cluster);
    expect(round()).toEqual(['a', 'b', 'c', 'a']);
  });

  it('asks accepts only about nodes that fit', () => {
    const snapshot = synced(aCluster({ nodes: [aNode({ name: 'small', cpu: '100m' }), aNode({ name: 'x' }), aNode({ name: 'y' })] }));
    const asked: string[] = [];
    const found = snapshot.findNode(aPod({ cpu: '1' }), (name) => {
      asked.push(name);
      return name === 'y';
    });
    expect([found, asked]).toEqual(['y', ['x', 'y']]);
  });

  it('passes over cordoned nodes, whatever the pod tolerates', () => {
    const tolerations = [{ key: '', operator: 'Exists', value: '', effect: undefined }] as const;
    const pod = aPod({ shape: { tolerations } });
    const snapshot = synced(aCluster({ nodes: [aNode({ name: 'a', unschedulable: true })] }));
    expect(snapshot.check(pod, 'a')).toEqual([]);
    expect(snapshot.findNode(pod)).toBeUndefined();
  });

  it('looks again once room was made', () => {
    const filler = aPod({ nodeName: 'a', cpu: '4' });
    const snapshot = synced(aCluster({ nodes: [aNode({ name: 'a' })], pods: [filler] }));
    const pod = aPod({ cpu: '2' });
    expect(snapshot.findNode(pod)).toBeUndefined();
    snapshot.fork();
    snapshot.removePod(filler, 'a');
    expect(snapshot.findNode(pod)).toBe('a');
    snapshot.revert();
    expect(snapshot.findNode(pod)).toBeUndefined();
    snapshot.addNode(aNode({ name: 'b' }), []);
    expect(snapshot.findNode(pod)).toBe('b');
  });

  it('learns of resources that come later', () => {
    const snapshot = synced(aCluster({ nodes: [aNode({ name: 'a' }), aNode({ name: 'b' })] }));
    const pod = aPod({ shape: { resources: { 'example.com/late': '2' } } });
    expect(snapshot.check(pod, 'a')).toMatchObject([
      { kind: 'insufficient-resource', resource: 'example.com/late', requested: 2, free: 0 },
    ]);
    snapshot.addNode(aNode({ name: 'c', resources: { 'example.com/late': '3' } }), []);
    expect(snapshot.findNode(pod)).toBe('c');
    expect(snapshot.check(aPod({ cpu: '4' }), 'b')).toEqual([]);
  });

  it('refuses what makes no sense', () => {
    const snapshot = synced(aCluster({ nodes: [aNode({ name: 'a' })] }));
    expect(() => snapshot.addNode(aNode({ name: 'a' }), [])).toThrow('in the snapshot already');
    expect(() => snapshot.removeNode('b')).toThrow('not in the snapshot');
    expect(() => snapshot.removePod(aPod(), 'a')).toThrow('is not on node a');
    expect(() => snapshot.revert()).toThrow('no fork');
    snapshot.fork();
    expect(() => snapshot.sync(aCluster())).toThrow('while a fork was open');
  });
});

describe('ClusterSnapshot: spread', () => {
  const pod = aPod({ shape: { labels: { app: 'web' }, topologySpread: [spread()] } });
  const zones = [inZone('a', '1'), inZone('b', '2')];

  it('keeps the skew, and counts only living pods of the namespace', () => {
    const others = [web('a', { deletionAtMs: START_MS }), web('a', { namespace: 'other' }), aPod({ nodeName: 'a' })];
    const snapshot = synced(aCluster({ nodes: zones, pods: [web('b'), ...others] }));
    expect(snapshot.check(pod, 'a')).toEqual([]);
    expect(snapshot.check(pod, 'b')).toEqual([
      { kind: 'topology-spread', topologyKey: ZONE, detail: 'skew 2 > 1: 1 pods in 2, 0 in the emptiest of 2 domains, "1"' },
    ]);
    snapshot.addPod(web('a'), 'a');
    expect(snapshot.check(pod, 'b')).toEqual([]);
  });

  it('a node without the label is refused', () => {
    expect(synced(aCluster({ nodes: [...zones, aNode({ name: 'c' })] })).check(pod, 'c')).toEqual([
      { kind: 'topology-spread', topologyKey: ZONE, detail: 'missing required label' },
    ]);
  });

  it('fewer domains than minDomains make the least 0', () => {
    const strict = aPod({ shape: { labels: { app: 'web' }, topologySpread: [spread({ minDomains: 3 })] } });
    const snapshot = synced(aCluster({ nodes: zones, pods: [web('a'), web('b')] }));
    expect(snapshot.check(pod, 'a')).toEqual([]);
    expect(kinds(snapshot, strict, 'a')).toEqual(['topology-spread']);
  });

  it('with nodeTaintsPolicy Honor an untolerated zone is no domain', () => {
    const tainted = inZone('c', '3', [{ key: 'x', value: '', effect: 'NoSchedule' }]);
    const snapshot = synced(aCluster({ nodes: [...zones, tainted], pods: [web('a'), web('b')] }));
    const honors = aPod({ shape: { labels: { app: 'web' }, topologySpread: [spread({ nodeTaintsPolicy: 'Honor' })] } });
    expect(kinds(snapshot, pod, 'a')).toEqual(['topology-spread']);
    expect(snapshot.check(honors, 'a')).toEqual([]);
  });

  it('a zone that leaves and comes back is a domain again', () => {
    const snapshot = synced(aCluster({ nodes: zones, pods: [web('a')] }));
    expect(kinds(snapshot, pod, 'a')).toEqual(['topology-spread']);
    snapshot.fork();
    snapshot.removeNode('b');
    expect(snapshot.check(pod, 'a')).toEqual([]);
    snapshot.revert();
    expect(kinds(snapshot, pod, 'a')).toEqual(['topology-spread']);
  });
});

describe('ClusterSnapshot: affinity', () => {
  const nodes = [inZone('a', '1'), inZone('b', '2'), inZone('c', '1')];

  it('goes where its friends are; the first of a kind that befriends itself goes anywhere', () => {
    const near = aPod({ shape: { podAffinity: [term()] } });
    const first = aPod({ shape: { labels: { app: 'web' }, podAffinity: [term()] } });
    const empty = synced(aCluster({ nodes }));
    expect(kinds(empty, near, 'a')).toEqual(['affinity']);
    expect(empty.check(first, 'a')).toEqual([]);
    const snapshot = synced(aCluster({ nodes, pods: [web('a')] }));
    expect(snapshot.check(near, 'c')).toEqual([]);
    expect(kinds(snapshot, near, 'b')).toEqual(['affinity']);
    expect(kinds(snapshot, first, 'b')).toEqual(['affinity']);
  });

  it('one pod must match all terms', () => {
    const both = aPod({ shape: { podAffinity: [term(), term({ selector: app('db') })] } });
    expect(kinds(synced(aCluster({ nodes, pods: [web('a'), web('a', { shape: { labels: { app: 'db' } } })] })), both, 'a')).toEqual([
      'affinity',
    ]);
  });

  it('an empty namespace selector means every namespace; none means its own', () => {
    const snapshot = synced(
      aCluster({ nodes, pods: [web('a', { namespace: 'kube-system', shape: { namespace: 'kube-system', labels: { app: 'web' } } })] }),
    );
    const everywhere = aPod({ shape: { podAffinity: [term({ namespaceSelector: { requirements: [] } })] } });
    const own = aPod({ shape: { podAffinity: [term()] } });
    expect(snapshot.check(everywhere, 'c')).toEqual([]);
    expect(kinds(snapshot, own, 'c')).toEqual(['affinity']);
  });

  it('anti-affinity to other tenants only', () => {
    const selector = {
      requirements: [
        { key: 'tenant', operator: 'Exists', values: [] },
        { key: 'tenant', operator: 'NotIn', values: ['x'] },
      ],
    } as const;
    const pod = aPod({ shape: { labels: { tenant: 'x' }, podAntiAffinity: [term({ selector })] } });
    const of = (tenant: string, nodeName: string) => aPod({ nodeName, shape: { labels: { tenant } } });
    const snapshot = synced(aCluster({ nodes, pods: [of('x', 'a'), of('y', 'b')] }));
    expect(snapshot.check(pod, 'c')).toEqual([]);
    expect(kinds(snapshot, pod, 'b')).toEqual(['anti-affinity']);
  });

  it("existing pods' anti-affinity repels, until they are gone", () => {
    const hermit = aPod({ nodeName: 'a', shape: { podAntiAffinity: [term({ topologyKey: HOST })] } });
    const snapshot = synced(aCluster({ nodes, pods: [hermit] }));
    const pod = aPod({ shape: { labels: { app: 'web' } } });
    expect(kinds(snapshot, pod, 'a')).toEqual(['repelled']);
    expect(snapshot.findNode(pod)).toBe('b');
    snapshot.fork();
    snapshot.removePod(hermit, 'a');
    expect(snapshot.check(pod, 'a')).toEqual([]);
    snapshot.revert();
    expect(kinds(snapshot, pod, 'a')).toEqual(['repelled']);
  });

  it('a change of namespace labels is seen at the next sync', () => {
    const before = aCluster({ nodes, pods: [web('a', { shape: { namespace: 'team', labels: { app: 'web' } } })] });
    const pod = aPod({
      shape: { podAffinity: [term({ namespaceSelector: { requirements: [{ key: 'env', operator: 'Exists', values: [] }] } })] },
    });
    const snapshot = synced(before);
    expect(kinds(snapshot, pod, 'a')).toEqual(['affinity']);
    snapshot.sync({ ...before, namespaces: new Map([['team', { env: 'prod' }]]) });
    expect(snapshot.check(pod, 'a')).toEqual([]);
  });

  it('distinguishes interdependent shapes from those that only need room', () => {
    const shapes = {
      plain: aShape({ labels: { app: 'db' } }),
      counted: aShape({ labels: { app: 'web' } }),
      ruled: aShape({ topologySpread: [spread()] }),
    };
    const snapshot = synced(aCluster({ nodes }));
    const interdependent = finishAtOnce(snapshot.interdependentShapes(Object.values(shapes)));
    expect([...interdependent.keys()]).toEqual([shapes.counted.key, shapes.ruled.key]);
    expect(finishAtOnce(snapshot.interdependentShapes([shapes.plain, shapes.counted])).size).toBe(0);
  });
});

/** Everything one can see of a snapshot, for a set of probes. */
function portrait(snapshot: ClusterSnapshot, probes: readonly Pod[]): unknown {
  const names = snapshot.nodeNames();
  return names.map((name) => ({
    name,
    pods: snapshot.get(name)?.pods.map((pod) => pod.name),
    checks: probes.map((probe) => snapshot.check(probe, name)),
  }));
}

describe('ClusterSnapshot: forks and syncs, by property', () => {
  const LABELS = { app: 'web' };
  const shapes = [
    aShape({ cpu: '500m' }),
    aShape({ cpu: '1', labels: LABELS, topologySpread: [spread()] }),
    aShape({ cpu: '1', labels: LABELS, podAntiAffinity: [term({ topologyKey: HOST })] }),
    aShape({ cpu: '250m', labels: LABELS, podAffinity: [term()] }),
    aShape({ hostPorts: [{ port: 80, protocol: 'TCP', hostIp: '0.0.0.0' }] }),
  ];
  const probes = shapes.map((shape, index) => aPod({ name: `probe-${index}`, shape }));
  const podOf = (index: number, shape: number, node?: string) =>
    aPod({ name: `p-${index}`, shape: shapes[shape % shapes.length]!, ...(node === undefined ? {} : { nodeName: node }) });
  const nodeOf = (index: number) => inZone(`n-${index}`, String(index % 3));
  const worlds = fc.record({
    nodes: fc.uniqueArray(fc.nat(7), { minLength: 1, maxLength: 6 }),
    pods: fc.array(fc.tuple(fc.nat(7), fc.nat(4)), { maxLength: 15 }),
  });
  const clusterOf = (world: { nodes: readonly number[]; pods: readonly (readonly [number, number])[] }) =>
    aCluster({
      nodes: world.nodes.map(nodeOf),
      pods: world.pods.filter(([node]) => world.nodes.includes(node)).map(([node, shape], index) => podOf(index, shape, `n-${node}`)),
    });
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant('fork' as const) }),
      fc.record({ do: fc.constantFrom('commit' as const, 'revert' as const) }),
      fc.record({ do: fc.constantFrom('addNode' as const, 'removeNode' as const, 'find' as const), at: fc.nat(20) }),
      fc.record({ do: fc.constantFrom('addPod' as const, 'removePod' as const), at: fc.nat(20), pod: fc.nat(20) }),
    ),
    { maxLength: 30 },
  );

  /** Applies the steps that make sense; closes every fork it opened with `close`. */
  function run(snapshot: ClusterSnapshot, list: typeof steps extends fc.Arbitrary<infer T> ? T : never, close: 'commit' | 'revert'): void {
    let depth = 1;
    snapshot.fork();
    list.forEach((step, index) => {
      const names = snapshot.nodeNames();
      const name = 'at' in step ? names[step.at % Math.max(1, names.length)] : undefined;
      if (step.do === 'fork') depth += 1;
      if (step.do === 'fork') snapshot.fork();
      else if (step.do === 'commit' || step.do === 'revert') {
        if (depth > 1) snapshot[step.do]();
        if (depth > 1) depth -= 1;
      } else if (step.do === 'addNode') snapshot.addNode(inZone(`new-${index}`, String(index % 4)), [podOf(100 + index, index)]);
      else if (name === undefined) return;
      else if (step.do === 'removeNode') snapshot.removeNode(name);
      else if (step.do === 'find') snapshot.findNode(probes[step.at % probes.length]!);
      else if (step.do === 'addPod') snapshot.addPod(podOf(200 + index, step.pod), name);
      else if ('pod' in step) {
        const pods = snapshot.get(name)?.pods ?? [];
        const pod = pods[step.pod % Math.max(1, pods.length)];
        if (pod !== undefined) snapshot.removePod(pod, name);
      }
    });
    for (; depth > 0; depth--) snapshot[close]();
  }

  it('revert restores exactly, whatever was done, nested forks included', () => {
    fc.assert(
      fc.property(worlds, steps, (world, list) => {
        const snapshot = synced(clusterOf(world));
        const before = portrait(snapshot, probes);
        const found = synced(clusterOf(world)).findNode(probes[0]!);
        run(snapshot, list, 'revert');
        expect(portrait(snapshot, probes)).toEqual(before);
        expect(snapshot.findNode(probes[0]!)).toBe(found);
      }),
      { seed: 7, numRuns: 300 },
    );
  });

  it('counts kept step by step equal counts made from nothing', () => {
    fc.assert(
      fc.property(worlds, steps, (world, list) => {
        const snapshot = synced(clusterOf(world));
        portrait(snapshot, probes);
        run(snapshot, list, 'commit');
        const names = snapshot.nodeNames();
        const fresh = synced(aCluster());
        for (const name of names) {
          const seen = snapshot.get(name)!;
          fresh.addNode(seen.node, seen.pods);
        }
        expect(portrait(snapshot, probes)).toEqual(portrait(fresh, probes));
      }),
      { seed: 11, numRuns: 300 },
    );
  });

  it('a sync from any state equals a fresh snapshot of the view', () => {
    fc.assert(
      fc.property(worlds, worlds, steps, (world, next, list) => {
        const snapshot = synced(clusterOf(world));
        portrait(snapshot, probes);
        run(snapshot, list, 'commit');
        const view = clusterOf(next);
        snapshot.sync(view);
        expect(portrait(snapshot, probes)).toEqual(portrait(synced(view), probes));
        expect(snapshot.findNode(probes[1]!)).toBe(synced(view).findNode(probes[1]!));
      }),
      { seed: 13, numRuns: 300 },
    );
  });

  it('what findNode and firstFit find, check admits; what they do not find, no node admits', () => {
    fc.assert(
      fc.property(worlds, fc.array(fc.nat(4), { maxLength: 12 }), (world, wanted) => {
        const snapshot = synced(clusterOf(world));
        wanted.forEach((shape, index) => {
          const pod = podOf(300 + index, shape);
          const names = snapshot.nodeNames();
          const from = index % (names.length + 1);
          const first = names.findIndex((name, at) => at >= from && snapshot.check(pod, name).length === 0);
          expect(snapshot.firstFit(pod, names, from)).toBe(first);
          const found = snapshot.findNode(pod);
          if (found === undefined) expect(snapshot.nodeNames().filter((name) => snapshot.check(pod, name).length === 0)).toEqual([]);
          else {
            expect(snapshot.check(pod, found)).toEqual([]);
            snapshot.addPod(pod, found);
          }
        });
      }),
      { seed: 17, numRuns: 300 },
    );
  });
});
