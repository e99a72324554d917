import { describe, expect, it } from 'vitest';
import { SICK_PRESETS } from '../../../src/domain/repack.ts';
import {
  matchRules,
  optionTagsOf,
  kubernetesVersionOf,
  nodeGroupOptionsOf,
  parseTaint,
  poolOf,
  readTags,
  templateLabels,
  templateResources,
  templateTaints,
} from '../../../src/azure/rows/tags.ts';

const P = 'k8s.io_cluster-autoscaler_node-template_';
const RULE = { selectors: [{ key: 'auto', value: 'yes' }], min: undefined, max: undefined };

describe('tags: discovery', () => {
  it.each([
    ['limits from tags', { auto: 'yes', min: '1', max: '5' }, [RULE], { kind: 'limits', min: 1, max: 5 }],
    ['tags win over the rule', { auto: 'yes', min: '2', max: '4' }, [{ ...RULE, min: 0, max: 9 }], { kind: 'limits', min: 2, max: 4 }],
    ['the rule fills in', { auto: 'yes' }, [{ ...RULE, min: 0, max: 9 }], { kind: 'limits', min: 0, max: 9 }],
    [
      'rules are alternatives',
      { other: 'x', min: '0', max: '1' },
      [RULE, { ...RULE, selectors: [{ key: 'other', value: 'x' }] }],
      { kind: 'limits', min: 0, max: 1 },
    ],
    [
      'every selector of a rule must match',
      { auto: 'yes' },
      [{ ...RULE, selectors: [...RULE.selectors, { key: 'b', value: '1' }] }],
      { kind: 'not-matched' },
    ],
    [
      'of two rules that select it, the highest minimum and the lowest maximum',
      { auto: 'yes', other: 'x' },
      [
        { ...RULE, min: 2, max: 5 },
        { selectors: [{ key: 'other', value: 'x' }], min: 1, max: 4 },
      ],
      { kind: 'limits', min: 2, max: 4 },
    ],
    [
      'limits may come from different rules; a rule that does not select it gives none',
      { auto: 'yes', other: 'x' },
      [
        { ...RULE, min: 3 },
        { selectors: [{ key: 'other', value: 'x' }], min: undefined, max: 7 },
        { selectors: [{ key: 'third', value: 'x' }], min: 6, max: 6 },
      ],
      { kind: 'limits', min: 3, max: 7 },
    ],
    [
      'rules that contradict each other are a reason',
      { auto: 'yes', other: 'x' },
      [
        { ...RULE, min: 5, max: 9 },
        { selectors: [{ key: 'other', value: 'x' }], min: 0, max: 4 },
      ],
      { kind: 'skipped', reason: 'its maximum 4 is below its minimum 5' },
    ],
    [
      'a tag goes before the limits of all rules',
      { auto: 'yes', min: '0' },
      [{ ...RULE, min: 2, max: 5 }],
      { kind: 'limits', min: 0, max: 5 },
    ],
    ['values are compared exactly', { auto: 'Yes' }, [RULE], { kind: 'not-matched' }],
    ['a rule without selectors selects nothing', { auto: 'yes' }, [{ ...RULE, selectors: [] }], { kind: 'not-matched' }],
    ['no rules', { auto: 'yes' }, [], { kind: 'not-matched' }],
    ['a maximum of 0', { auto: 'yes', min: '0', max: '0' }, [RULE], { kind: 'limits', min: 0, max: 0 }],
  ])('%s', (_name, tags, rules, expected) => {
    expect(matchRules(tags, rules)).toEqual(expected);
  });

  it.each([
    [{ auto: 'yes', max: '5' }, /no tag "min"/],
    [{ auto: 'yes', min: '1' }, /no tag "max"/],
    [{ auto: 'yes', min: 'three', max: '5' }, /tag "min" is "three"/],
    [{ auto: 'yes', min: '-1', max: '5' }, /tag "min" is "-1"/],
    [{ auto: 'yes', min: '1.5', max: '5' }, /tag "min" is "1.5"/],
    [{ auto: 'yes', min: '6', max: '5' }, /its maximum 5 is below its minimum 6/],
  ])('a bad tag is a reason, not an exception: %o', (tags, reason) => {
    expect(matchRules(tags as Readonly<Record<string, string>>, [RULE])).toMatchObject({
      kind: 'skipped',
      reason: expect.stringMatching(reason),
    });
  });
});

describe('tags: templates', () => {
  it('taints, with slashes restored and bad ones dropped', () => {
    const tags = {
      [`${P}taint_dedicated`]: 'foo:NoSchedule',
      [`${P}taint_group`]: 'bar:NoExecute',
      [`${P}taint_k8s.io_app`]: 'x:PreferNoSchedule',
      [`${P}taint_a~2b`]: ':NoSchedule',
      [`${P}taint_blank`]: '',
      [`${P}taint_none`]: 'foo',
      [`${P}taint_wrong`]: 'foo:NoScheduleX',
      [`${P}taint_`]: 'foo:NoSchedule',
    };
    expect(templateTaints(tags)).toEqual([
      { key: 'dedicated', value: 'foo', effect: 'NoSchedule' },
      { key: 'group', value: 'bar', effect: 'NoExecute' },
      { key: 'k8s.io/app', value: 'x', effect: 'PreferNoSchedule' },
      { key: 'a_b', value: '', effect: 'NoSchedule' },
    ]);
  });

  it('labels: _ is a slash, ~2 an underscore; other tags are no labels', () => {
    expect(templateLabels({ [`${P}label_example.com_a~2b`]: 'v', [`${P}label_`]: 'x', owner: 'me' })).toEqual({ 'example.com/a_b': 'v' });
  });

  it('resources; what is no quantity is dropped', () => {
    const tags = { cpu: '100m', memory: '100M', 'ephemeral-storage': '20G', 'nvidia.com_Tesla-P100-PCIE': '4', bad: 'much' };
    expect(templateResources(Object.fromEntries(Object.entries(tags).map(([key, value]) => [`${P}resources_${key}`, value])))).toEqual({
      cpu: '100m',
      memory: '100M',
      'ephemeral-storage': '20G',
      'nvidia.com/Tesla-P100-PCIE': '4',
    });
  });

  it('null-valued tags are ignored', () => {
    expect(readTags({ a: null, b: undefined, c: 'x' })).toEqual({ c: 'x' });
    expect(readTags(undefined)).toEqual({});
  });

  it.each([
    [{ 'aks-managed-poolName': 'new', poolName: 'old' }, 'new'],
    [{ poolName: 'old' }, 'old'],
    [{ POOLNAME: 'folded' }, 'folded'],
    [{ poolName: '' }, undefined],
    [{}, undefined],
  ])('the pool of %o is %s', (tags: Readonly<Record<string, string>>, pool) => {
    expect(poolOf(tags)).toBe(pool);
  });

  it('reads the version of Kubernetes', () => {
    expect(kubernetesVersionOf({ 'aks-managed-orchestrator': 'Kubernetes:1.33.2' })).toBe('1.33.2');
    expect(kubernetesVersionOf({})).toBeUndefined();
  });

  it.each([
    ['a=b:NoSchedule', { key: 'a', value: 'b', effect: 'NoSchedule' }],
    ['a:NoExecute', { key: 'a', value: '', effect: 'NoExecute' }],
    ['a=b', undefined],
    ['a=b=c:Never', undefined],
    ['', undefined],
  ])('the taint %s', (text, taint) => {
    expect(parseTaint(text)).toEqual(taint);
  });
});

describe('tags: options of a group', () => {
  const O = `${P}autoscaling-options_`;

  it.each([
    [
      'all of them',
      { scaledownutilizationthreshold: '0.2', scaledownunneededtime: '30m', scaledownunreadytime: '1h', maxnodeprovisiontime: '1h30m' },
      { utilizationThreshold: 0.2, unneededForMs: 1_800_000, unreadyForMs: 3_600_000, maxProvisionMs: 5_400_000 },
    ],
    ['any letter case', { ScaleDownUnneededTime: '90S' }, { unneededForMs: 90_000 }],
    [
      'bad ones leave the default',
      { scaledownutilizationthreshold: 'half', scaledownunneededtime: 'soon', scaledownunreadytime: '10m' },
      { unreadyForMs: 600_000 },
    ],
    ['none', {}, {}],
    [
      'flags and devices',
      {
        ignoreDaemonSetsUtilization: 'True',
        scaleDownGpuUtilizationThreshold: '0.1',
        zeroOrMaxNodeScaling: 'true',
        allowNonAtomicScaleUpToMax: 'false',
      },
      { ignoreDaemonSetsUtilization: true, gpuUtilizationThreshold: 0.1, zeroOrMax: true, keepsPartOfMax: false },
    ],
    [
      'how long a node may take to start',
      { maxnodestartuptime: '40m', MaxNodeProvisionTime: '0' },
      { maxStartupMs: 2_400_000, maxProvisionMs: 0 },
    ],
    [
      'cooldowns, backoff, removals at once and the expander',
      { ScaleDownDelayAfterAdd: '20m', initialBackoff: '1m', maxBackoff: '1h', maxParallelRemovals: '2', expanderPriority: '0' },
      { delayAfterAddMs: 1_200_000, backoffInitialMs: 60_000, backoffMaxMs: 3_600_000, maxParallelRemovals: 2, expanderPriority: 0 },
    ],
    [
      'drain settings',
      { maxGracefulTermination: '1h', evictionTimeout: '5m', evictionRetry: '30s', skipNodesWithLocalStorage: 'true' },
      { maxGracefulTerminationMs: 3_600_000, evictionTimeoutMs: 300_000, evictionRetryMs: 30_000, skipNodesWithLocalStorage: true },
    ],
    [
      'drain rules',
      { SkipNodesWithSystemPods: 'false', skipNodesWithCustomControllerPods: 'false' },
      { skipNodesWithSystemPods: false, skipNodesWithCustomControllerPods: false },
    ],
    ['counts that are none', { maxparallelremovals: '0', expanderpriority: '-1' }, {}],
    [
      'flags as Go writes them',
      { ignoredaemonsetsutilization: '1', zeroormaxnodescaling: 'T', allownonatomicscaleuptomax: 'F' },
      { ignoreDaemonSetsUtilization: true, zeroOrMax: true, keepsPartOfMax: false },
    ],
    ['a flag that is neither', { zeroormaxnodescaling: 'perhaps' }, {}],
    [
      'presets of sick nodes',
      { sickNodes: 'AKS, gpu' },
      { sickNodes: { conditions: [...SICK_PRESETS.aks, ...SICK_PRESETS.gpu], maximum: 1, breakerPercent: 20, remedy: 'replace' } },
    ],
    ['conditions of sick nodes that are no preset', { sicknodes: 'XIDErrors' }, {}],
    ['unknown keys', { nonsense: '1m' }, {}],
  ])('%s', (_name, given, expected) => {
    expect(optionTagsOf(Object.fromEntries(Object.entries(given).map(([key, value]) => [`${O}${key}`, value])))).toEqual(expected);
  });

  it("the user's options win over tags, and those for the scale set over those for its pool", () => {
    const tags = { [`${O}scaledownunneededtime`]: '1m', [`${O}scaledownunreadytime`]: '2m', 'aks-managed-poolName': 'Gpu' };
    const stated = [
      { name: 'gpu', options: { unneededForMs: 5, zeroOrMax: true } },
      { name: 'aks-GPU-1-vmss', options: { unneededForMs: 7 } },
    ];
    expect(nodeGroupOptionsOf('aks-gpu-1-vmss', tags, stated)).toEqual({ unneededForMs: 7, unreadyForMs: 120_000, zeroOrMax: true });
    expect(nodeGroupOptionsOf('aks-other-vmss', {}, stated)).toEqual({});
  });
});
