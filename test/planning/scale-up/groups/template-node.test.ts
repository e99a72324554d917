import { describe, expect, it } from 'vitest';
import { CPU } from '../../../../src/domain/resources.ts';
import { explainRefusal } from '../../../../src/planning/explain/refusals.ts';
import { classifyVerdict } from '../../../../src/planning/explain/verdicts.ts';
import { makeTemplate } from '../../../../src/planning/scale-up/groups/template-node.ts';
import { aGroup, aPod, aShape, aTemplate, resourceNames } from '../../../support/builders.ts';
import { growth, planFor, verdictOf } from '../world.ts';
import type { NodeTemplate } from '../../../../src/domain/node-template.ts';

const TEMPLATE_LABEL = 'cluster-autoscaler.kubernetes.io/template-node';

describe('the node that a group would add', () => {
  it('says that it is a template, so that what is published for templates matches it', () => {
    const template = aTemplate({ labels: { pool: 'x' }, zones: ['we-1', 'we-2'] });
    const { variants } = makeTemplate(aGroup({ id: 'a' }), template, { daemonSets: [] }, new Set());
    expect(variants.map(({ labels }) => labels[TEMPLATE_LABEL])).toEqual(['true', 'true']);
    const group = aGroup({ id: 'a', target: 0, template });
    const pod = aPod({ shape: { nodeSelector: { [TEMPLATE_LABEL]: 'true', pool: 'x' } } });
    expect(growth(planFor({ groups: [group], pods: [pod] }))).toEqual(['a 0->1']);
    expect(template.labels).not.toHaveProperty([TEMPLATE_LABEL]);
  });

  it('what is known only by a cordoned node is cordoned, and no pod is helped by it', () => {
    const pod = aPod();
    const cordoned = { ...aTemplate(), unschedulable: true } as const;
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 1, template: cordoned })], pods: [pod] });
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, pod)).toEqual({ kind: 'helpless', byGroup: [{ group: 'a', fit: [{ kind: 'unschedulable' }] }] });
  });
});

describe('what the kubelet of a new node declares', () => {
  const pod = aPod({ name: 'p', shape: { key: 'features', nodeFeatures: ['A'] } });
  const plan = (part: Partial<NodeTemplate>) =>
    planFor({ groups: [aGroup({ id: 'a', target: 0, template: { ...aTemplate(), ...part } })], pods: [pod] });
  const told = (part: Partial<NodeTemplate>) => {
    const verdict = verdictOf(plan(part), pod);
    const [refusal] = verdict?.kind === 'helpless' ? verdict.byGroup : [];
    return refusal === undefined ? undefined : explainRefusal(refusal, undefined).detail;
  };

  it('is what a node of the group did, and not known before one was seen', () => {
    expect(growth(plan({ declaredFeatures: ['A'], source: 'live-node' }))).toEqual(['a 0->1']);
    expect(told({ source: 'live-node' })).toBe("node(s) didn't match Pod's required features: A");
    expect(told({ source: 'cloud' })).toBe('unknown whether the node declares A: no node of the group was seen yet');
  });
});

describe('the static pods of a template', () => {
  const ports = [{ port: 9100, protocol: 'TCP', hostIp: '0.0.0.0' }] as const;
  const staticPods = [{ namespace: 'kube-system', name: 'proxy', requests: resourceNames.parse({ cpu: '1', pods: 1 }), hostPorts: ports }];
  const template = { ...aTemplate({ cpu: '4', taints: [{ key: 'a', value: '', effect: 'NoSchedule' }] }), staticPods };

  it('take their room and their ports, whatever the taints of the node', () => {
    const made = makeTemplate(aGroup(), template, { daemonSets: [] }, new Set());
    expect([made.free[CPU], made.ports]).toEqual([3_000, ports]);
  });

  it.each([
    ['a pod that leaves them their room', aShape({ cpu: '3' }), ['a 0->1']],
    ['a pod that does not', aShape({ cpu: '3100m' }), []],
    ['a pod that wants their port', aShape({ cpu: '1', hostPorts: ports }), []],
  ])('count for %s', (_name, shape, expected) => {
    const tolerations = [{ key: 'a', operator: 'Exists', value: '', effect: undefined }] as const;
    const group = aGroup({ id: 'a', target: 0, template });
    expect(growth(planFor({ groups: [group], pods: [aPod({ shape: { ...shape, tolerations } })] }))).toEqual(expected);
  });
});

describe('the custom daemons of a template', () => {
  const ports = [{ port: 9100, protocol: 'TCP', hostIp: '0.0.0.0' }] as const;
  const requests = resourceNames.parse({ cpu: '1', pods: 1 });
  const customDaemons = [{ namespace: 'kube-system', name: 'agent', owner: 'DaemonSet.apps.kruise.io u', requests, hostPorts: ports }];
  const template = { ...aTemplate({ cpu: '4' }), customDaemons };

  it('take their room and their ports, as daemon pods', () => {
    const made = makeTemplate(aGroup(), template, { daemonSets: [] }, new Set());
    expect([made.free[CPU], made.ports]).toEqual([3_000, ports]);
    expect(made.daemonPods).toMatchObject([{ namespace: 'kube-system', name: 'agent', daemonSet: true, mirror: false }]);
  });

  it.each([
    ['a pod of 3 CPU fits', '3', ['a 0->1']],
    ['a pod of 3.2 CPU requests nothing', '3200m', []],
  ])('on nodes of 4 CPU with a daemon of 1 CPU %s', (_name, cpu, expected) => {
    expect(growth(planFor({ groups: [aGroup({ id: 'a', target: 0, template })], pods: [aPod({ cpu })] }))).toEqual(expected);
  });
});

describe('the daemons of a template', () => {
  const daemonSets = [{ namespace: 'kube-system', name: 'agent', uid: 'ds', shape: aShape({ cpu: '100m', memory: '0' }) }];
  it.each([
    ['what their DaemonSet says', undefined, 3_900],
    ['more, when a real node has shown it', '250m', 3_750],
    ['not less, whatever a node has shown', '50m', 3_900],
  ])('take %s', (_name, seen, freeMillis) => {
    const learned = seen === undefined ? {} : { daemonRequests: new Map([['kube-system/agent', resourceNames.parse({ cpu: seen })]]) };
    const { free, daemonPods } = makeTemplate(aGroup(), { ...aTemplate({ cpu: '4' }), ...learned }, { daemonSets }, new Set());
    expect(free[CPU]).toBe(freeMillis);
    expect(daemonPods[0]?.shape.requests[CPU]).toBe(4_000 - freeMillis);
  });
});

describe('what is unknown about a new node', () => {
  const unknowns = { labels: ['kubernetes.azure.com/localdns-state', 'nvidia.com/*'], resources: ['nvidia.com/*'] };
  const template = { ...aTemplate({ cpu: '4', labels: { team: 'a' } }), unknowns };
  const refusal = (shape: Parameters<typeof aShape>[0], of: NodeTemplate = template) => {
    const pod = aPod({ shape: aShape(shape) });
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 0, template: of })], pods: [pod] });
    expect(growth(plan)).toEqual([]);
    const verdict = plan.verdicts.get(pod)!;
    return [classifyVerdict(verdict), verdict.kind === 'helpless' ? explainRefusal(verdict.byGroup[0]!, undefined).detail : ''];
  };
  const wants = (...keys: readonly string[]) => ({
    expressions: keys.map((key) => ({ key, operator: 'Exists' as const, values: [] })),
    fields: [],
  });

  it.each<[string, Parameters<typeof aShape>[0]]>([
    ['a selector', { nodeSelector: { team: 'a', 'kubernetes.azure.com/localdns-state': 'enabled' } }],
    ['a term of several, of which one may hold', { nodeAffinity: [wants('other'), wants('team', 'nvidia.com/gpu.product')] }],
    ['a resource that goes by a name of its own', { cpu: '1', resources: { 'nvidia.com/mig-1g.5gb': '1' } }],
  ])('is no reason to order, and is said: %s', (_what, shape) => {
    expect(refusal(shape)).toEqual(['impossible', expect.stringMatching(/^unknown .*: no node of the group was seen yet$/)]);
  });

  it.each<[string, Parameters<typeof aShape>[0], NodeTemplate]>([
    ['another value of what is known', { nodeSelector: { team: 'b', 'kubernetes.azure.com/localdns-state': 'enabled' } }, template],
    ['a label that nobody writes', { nodeAffinity: [wants('other', 'nvidia.com/gpu.product')] }, template],
    ['no room either', { cpu: '9', nodeSelector: { 'kubernetes.azure.com/localdns-state': 'enabled' } }, template],
    ['a node was seen', { nodeSelector: { 'kubernetes.azure.com/localdns-state': 'enabled' } }, aTemplate({ cpu: '4' })],
    [
      'a field',
      { nodeAffinity: [{ ...wants('nvidia.com/x'), fields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }] },
      template,
    ],
  ])('does not hide what is: %s', (_what, shape, of) => {
    expect(refusal(shape, of)[0]).toBe('impossible');
  });
});
