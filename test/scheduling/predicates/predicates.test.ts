import { describe, expect, it } from 'vitest';
import type { HostPort } from '../../../src/domain/pod.ts';
import type { NodeSelectorTerm, Requirement } from '../../../src/domain/labels.ts';
import type { Taint, Toleration } from '../../../src/domain/taints.ts';
import { matchesNodeAffinity, refusedByNodeAffinity } from '../../../src/scheduling/predicates/node-affinity.ts';
import {
  portsCollide,
  refusedByPorts,
  refusedByTaints,
  refusedByCordon,
  refusedAsUnsupported,
} from '../../../src/scheduling/predicates/node-gates.ts';
import { countFits, fitsFree, insufficientResources, needOf } from '../../../src/scheduling/predicates/resources-fit.ts';
import { fitsStatically, staticRefusals } from '../../../src/scheduling/snapshot/node-only-fit.ts';
import { aNode, aShape, resourceNames } from '../../support/builders.ts';

const node = aNode({
  name: 'n1',
  labels: { size: '5', word: 'abc', zeros: '05', huge: '9223372036854775807', over: '9223372036854775808' },
});
const need = (key: string, operator: Requirement['operator'], ...values: string[]): Requirement => ({ key, operator, values });
const term = (expressions: readonly Requirement[], fields: readonly Requirement[] = []): NodeSelectorTerm => ({ expressions, fields });

describe('node affinity', () => {
  it.each<[string, readonly NodeSelectorTerm[] | undefined, boolean]>([
    ['no affinity matches', undefined, true],
    ['no terms match nothing', [], false],
    ['an empty term matches nothing', [term([])], false],
    ['terms are alternatives', [term([need('size', 'In', '9')]), term([need('size', 'In', '5')])], true],
    ['requirements of a term add up', [term([need('size', 'In', '5'), need('word', 'In', 'x')])], false],
    ['Gt 4 on 5', [term([need('size', 'Gt', '4')])], true],
    ['Gt 5 on 5', [term([need('size', 'Gt', '5')])], false],
    ['Lt 6 on 5', [term([need('size', 'Lt', '6')])], true],
    ['Gt takes one number', [term([need('size', 'Gt', '1', '2')])], false],
    ['Gt of a number with zeros before it', [term([need('zeros', 'Gt', '+4')])], true],
    ['Lt of a number below zero', [term([need('size', 'Lt', '-1')])], false],
    ['Gt of numbers that only differ beyond the 53rd bit', [term([need('huge', 'Gt', '9223372036854775806')])], true],
    ['Gt on what is more than 64 bits hold', [term([need('over', 'Gt', '5')])], false],
    ['Lt of what is more than 64 bits hold', [term([need('size', 'Lt', '9223372036854775808')])], false],
    ['Gt of a fraction', [term([need('size', 'Gt', '4.0')])], false],
    ['Gt on a word', [term([need('word', 'Gt', '4')])], false],
    ['NotIn with a missing key', [term([need('none', 'NotIn', 'x')])], true],
    ['Exists', [term([need('word', 'Exists')])], true],
    ['DoesNotExist', [term([need('word', 'DoesNotExist')])], false],
    ['the field metadata.name', [term([], [need('metadata.name', 'In', 'n1')])], true],
    ['the field metadata.name, another', [term([], [need('metadata.name', 'NotIn', 'n1')])], false],
    ['an unknown field', [term([], [need('metadata.uid', 'NotIn', 'x')])], false],
  ])('%s', (_, nodeAffinity, expected) => {
    const shape = aShape({ nodeAffinity });
    expect(matchesNodeAffinity(shape, node)).toBe(expected);
    expect(refusedByNodeAffinity(shape, node)).toHaveLength(expected ? 0 : 1);
  });

  it('nodeSelector and affinity must both hold', () => {
    const nodeAffinity = [term([need('size', 'Exists')])];
    expect(matchesNodeAffinity(aShape({ nodeSelector: { size: '5' }, nodeAffinity }), node)).toBe(true);
    expect(refusedByNodeAffinity(aShape({ nodeSelector: { size: '6' }, nodeAffinity }), node)).toEqual([
      { kind: 'node-selector-mismatch', detail: 'size=6 is required', gaps: [{ ...need('size', 'In', '6'), found: '5' }] },
    ]);
  });

  it('names every label of the selector that is unmet, and the affinity term that lacks least', () => {
    const nodeAffinity = [
      term([need('none', 'Exists'), need('size', 'Lt', '5')]),
      term([need('word', 'NotIn', 'x'), need('gone', 'Exists')]),
    ];
    const reasons = refusedByNodeAffinity(aShape({ nodeSelector: { size: '6', none: '1', word: 'abc' }, nodeAffinity }), node);
    expect(reasons.map((reason) => (reason.kind === 'node-selector-mismatch' ? reason.gaps : []))).toEqual([
      [{ ...need('size', 'In', '6'), found: '5' }],
      [need('none', 'In', '1')],
      [need('gone', 'Exists')],
    ]);
  });
});

describe('taints', () => {
  const taint: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
  const toleration = (part: Partial<Toleration>): Toleration => ({ key: '', operator: 'Exists', value: '', effect: undefined, ...part });
  it.each<[string, Taint, readonly Toleration[], boolean]>([
    ['untolerated', taint, [], false],
    ['NoExecute untolerated', { ...taint, effect: 'NoExecute' }, [], false],
    ['PreferNoSchedule never blocks', { ...taint, effect: 'PreferNoSchedule' }, [], true],
    ['Exists without a key tolerates all', taint, [toleration({})], true],
    ['equal value', taint, [toleration({ key: 'dedicated', operator: 'Equal', value: 'gpu' })], true],
    ['another value', taint, [toleration({ key: 'dedicated', operator: 'Equal', value: 'cpu' })], false],
    ['another effect', taint, [toleration({ key: 'dedicated', effect: 'NoExecute' })], false],
    ['another key', taint, [toleration({ key: 'other' })], false],
    ['Gt: the taint has more', { ...taint, value: '800' }, [toleration({ key: 'dedicated', operator: 'Gt', value: '750' })], true],
    ['Gt: the taint has as much', { ...taint, value: '750' }, [toleration({ key: 'dedicated', operator: 'Gt', value: '750' })], false],
    ['Lt: the taint has less', { ...taint, value: '-9' }, [toleration({ key: 'dedicated', operator: 'Lt', value: '-1' })], true],
    ['Lt: the taint has more', { ...taint, value: '10' }, [toleration({ key: 'dedicated', operator: 'Lt', value: '9' })], false],
    ['Gt: no number', taint, [toleration({ key: 'dedicated', operator: 'Gt', value: '1' })], false],
    ['Gt without a key', { ...taint, value: '8' }, [toleration({ operator: 'Gt', value: '1' })], false],
  ])('%s', (_, one, tolerations, fits) => {
    const reasons = refusedByTaints({ tolerations }, { taints: [one] });
    expect(reasons).toEqual(fits ? [] : [{ kind: 'untolerated-taint', taint: `dedicated=${one.value}:${one.effect}` }]);
  });

  it('names every taint that is not tolerated', () => {
    const taints = [
      taint,
      { ...taint, key: 'soft', effect: 'PreferNoSchedule' as const },
      { ...taint, key: 'b', value: '' },
      { ...taint, key: 'ok' },
    ];
    expect(refusedByTaints({ tolerations: [toleration({ key: 'ok' })] }, { taints })).toEqual([
      { kind: 'untolerated-taint', taint: 'dedicated=gpu:NoSchedule' },
      { kind: 'untolerated-taint', taint: 'b:NoSchedule' },
    ]);
  });

  it('a cordoned node takes only what tolerates it', () => {
    expect(refusedByCordon({ tolerations: [] }, { unschedulable: true })).toEqual([{ kind: 'unschedulable' }]);
    expect(refusedByCordon({ tolerations: [] }, { unschedulable: false })).toEqual([]);
    const tolerations = [toleration({ key: 'node.kubernetes.io/unschedulable' })];
    expect(refusedByCordon({ tolerations }, { unschedulable: true })).toEqual([]);
  });
});

describe('features of kubelets', () => {
  it.each<[string, readonly string[], readonly string[], readonly string[]]>([
    ['nothing is required', [], [], []],
    ['what is required is declared', ['A'], ['A', 'B'], []],
    ['some of it is not', ['A', 'C'], ['A', 'B'], ['C']],
    ['a kubelet that declares nothing', ['A'], [], ['A']],
  ])('%s', (_what, nodeFeatures, declaredFeatures, missing) => {
    const shape = aShape({ nodeFeatures });
    const kubelet = aNode({ name: 'n', declaredFeatures });
    expect(staticRefusals(shape, kubelet)).toEqual(missing.length === 0 ? [] : [{ kind: 'node-features', features: missing }]);
    expect(fitsStatically(shape, kubelet)).toBe(missing.length === 0);
  });
});

describe('host ports', () => {
  const port = (part: Partial<HostPort> = {}): HostPort => ({ port: 80, protocol: 'TCP', hostIp: '0.0.0.0', ...part });
  it.each<[string, HostPort, HostPort, boolean]>([
    ['two specific addresses', port({ hostIp: '10.0.0.1' }), port({ hostIp: '10.0.0.2' }), false],
    ['one is every address', port({ hostIp: '10.0.0.1' }), port(), true],
    ['another protocol', port(), port({ protocol: 'UDP' }), false],
    ['another port', port(), port({ port: 81 }), false],
    ['the same', port({ hostIp: '10.0.0.1' }), port({ hostIp: '10.0.0.1' }), true],
  ])('%s', (_, left, right, collide) => {
    expect(portsCollide(left, right)).toBe(collide);
    expect(portsCollide(right, left)).toBe(collide);
    expect(refusedByPorts({ hostPorts: [left] }, [right])).toEqual(collide ? [{ kind: 'host-port-taken', port: 80, protocol: 'TCP' }] : []);
  });
});

describe('resources', () => {
  const requests = resourceNames.parse({ cpu: '500m', memory: '1Gi', pods: '1', 'nvidia.com/gpu': '1' });
  const vector = (quantities: Record<string, string>) => {
    const short = resourceNames.parse(quantities);
    const long = new Float64Array(resourceNames.count);
    long.set(short);
    return long;
  };
  it.each<[string, Record<string, string>, number, readonly string[]]>([
    ['room for two', { cpu: '1', memory: '4Gi', pods: '9', 'nvidia.com/gpu': '8' }, 2, []],
    ['no device at all', { cpu: '1', memory: '4Gi', pods: '9' }, 0, ['nvidia.com/gpu']],
    ['too many pods', { cpu: '1', memory: '4Gi', pods: '0', 'nvidia.com/gpu': '8' }, 0, ['pods']],
    ['short of two', { cpu: '499m', memory: '1023Mi', pods: '9', 'nvidia.com/gpu': '1' }, 0, ['cpu', 'memory']],
  ])('%s', (_, free, count, missing) => {
    expect(countFits(needOf(requests), vector(free))).toBe(count);
    expect(fitsFree(needOf(requests), vector(free), 0)).toBe(count > 0);
    const reasons = insufficientResources(requests, vector(free), resourceNames);
    expect(reasons.map((reason) => (reason.kind === 'insufficient-resource' ? reason.resource : reason.kind))).toEqual(missing);
  });

  it('what is not asked for never refuses, even where the node is over-committed', () => {
    const free = Float64Array.of(100, -5, 0, 1);
    expect(fitsFree(needOf(resourceNames.parse({ cpu: '100m', pods: '1' })), free, 0)).toBe(true);
  });

  it('the vector of one node among many begins at its offset', () => {
    const free = Float64Array.of(0, 0, 0, 0, 500, 2 ** 30, 0, 1);
    const small = needOf(resourceNames.parse({ cpu: '500m', memory: '1Gi', pods: '1' }));
    expect(fitsFree(small, free, 0)).toBe(false);
    expect(fitsFree(small, free, 4)).toBe(true);
  });
});

it('unsupported features are refused by name, and every static reason is listed', () => {
  const unsupported = [{ feature: 'volume', detail: 'pvc data' }];
  const shape = aShape({ unsupported, nodeSelector: { a: 'b' } });
  expect(refusedAsUnsupported(shape)).toEqual([{ kind: 'unsupported', feature: 'volume', detail: 'pvc data' }]);
  expect(staticRefusals(shape, node).map((reason) => reason.kind)).toEqual(['unsupported', 'node-selector-mismatch']);
  expect(fitsStatically(shape, node)).toBe(false);
  expect(fitsStatically(aShape(), node)).toBe(true);
});
