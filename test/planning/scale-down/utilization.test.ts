import { describe, expect, it } from 'vitest';
import { utilizationOf } from '../../../src/planning/scale-down/utilization.ts';
import { aNode, aPod, START_MS, type PodOptions } from '../../support/builders.ts';

const node = aNode({ name: 'n', cpu: '1', memory: '1Gi' });
const on = (options: PodOptions) => aPod({ nodeName: 'n', memory: '0', ...options });

describe('utilization', () => {
  it.each([
    { name: 'nothing requested', pods: [], ignore: false, value: 0 },
    { name: 'the larger of both', pods: [on({ cpu: '200m', memory: '512Mi' })], ignore: false, value: 0.5 },
    {
      name: 'DaemonSet pods off both sides',
      pods: [on({ cpu: '200m', daemonSet: true }), on({ cpu: '400m' })],
      ignore: true,
      value: 0.5,
    },
    { name: 'DaemonSet pods counted', pods: [on({ cpu: '200m', daemonSet: true }), on({ cpu: '400m' })], ignore: false, value: 0.6 },
    { name: 'DaemonSet pods alone', pods: [on({ cpu: '900m', daemonSet: true })], ignore: true, value: 0 },
    {
      name: 'mirror pods count where only DaemonSet pods are ignored',
      pods: [on({ cpu: '900m', mirror: true })],
      ignore: true,
      value: 0.9,
    },
    {
      name: 'mirror pods off both sides',
      pods: [on({ cpu: '200m', mirror: true }), on({ cpu: '400m' })],
      ignore: false,
      mirrors: true,
      value: 0.5,
    },
    { name: 'long terminating', pods: [on({ cpu: '900m', deletionAtMs: START_MS - 60_001 })], ignore: false, value: 0 },
    { name: 'a node that is all DaemonSets says nothing', pods: [on({ cpu: '1', daemonSet: true })], ignore: true, value: undefined },
  ])('$name', ({ pods, ignore, mirrors = false, value }) => {
    const result = utilizationOf(node, pods, { nowMs: START_MS, ignoreDaemonPods: ignore, ignoreMirrorPods: mirrors });
    if (value === undefined) expect(result).toBeUndefined();
    else expect(result).toBeCloseTo(value, 10);
  });
});
