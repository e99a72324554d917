/** One tag for a whole template, beside tags for its parts, and what is said of those that cannot be read. */
import { describe, expect, it } from 'vitest';
import { tagProblems, optionTagsOf, readTags, templateLabels, templateResources, templateTaints } from '../../../src/azure/rows/tags.ts';
import { fingerprintOf } from '../../../src/azure/templates/learned-templates.ts';

const WHOLE = 'k8s.io_cluster-autoscaler_node-template';
const P = `${WHOLE}_`;
const whole = (template: unknown): Readonly<Record<string, string>> => ({
  [WHOLE]: typeof template === 'string' ? template : JSON.stringify(template),
});

const FULL = whole({
  labels: { 'example.com/team_a': 'x', count: 3, on: true },
  taints: ['gpu=yes:NoSchedule', 'spot:NoExecute'],
  resources: { 'nvidia.com/gpu': 2, memory: '10Gi' },
  options: { scaleDownUnneededTime: '30m', scaledownutilizationthreshold: 0.2, ignoreDaemonSetsUtilization: true },
});

describe('one tag for a whole template', () => {
  it('says labels, taints, resources and options as Kubernetes writes them', () => {
    expect(templateLabels(FULL)).toEqual({ 'example.com/team_a': 'x', count: '3', on: 'true' });
    expect(templateTaints(FULL)).toEqual([
      { key: 'gpu', value: 'yes', effect: 'NoSchedule' },
      { key: 'spot', value: '', effect: 'NoExecute' },
    ]);
    expect(templateResources(FULL)).toEqual({ 'nvidia.com/gpu': '2', memory: '10Gi' });
    expect(optionTagsOf(FULL)).toEqual({ unneededForMs: 1_800_000, utilizationThreshold: 0.2, ignoreDaemonSetsUtilization: true });
    expect(tagProblems(FULL)).toEqual([]);
  });

  it('is found in any letter case of its name', () => {
    expect(templateLabels({ [WHOLE.toUpperCase()]: '{"labels":{"a":"b"}}' })).toEqual({ a: 'b' });
  });

  it('goes behind the tags for single parts', () => {
    const tags = { ...FULL, [`${P}label_count`]: '4', [`${P}taint_gpu`]: 'no:NoSchedule', [`${P}resources_memory`]: '5Gi' };
    expect(templateLabels(tags)['count']).toBe('4');
    expect(templateTaints(tags).map(({ key, value }) => `${key}=${value}`)).toEqual(['gpu=no', 'spot=']);
    expect(templateResources(tags)['memory']).toBe('5Gi');
    expect(optionTagsOf({ ...FULL, [`${P}autoscaling-options_scaleDownUnneededTime`]: '1h' }).unneededForMs).toBe(3_600_000);
  });

  it('ends what was learned when it changes', () => {
    const source = { vmSize: 's', location: 'l', zones: [], priority: 'Regular' as const, os: 'linux' as const };
    const facts = (tags: Readonly<Record<string, string>>): string =>
      fingerprintOf({ ...source, tags, osDisk: { ephemeral: false, tier: undefined, sizeGb: undefined } }, undefined).set;
    expect(facts(FULL)).not.toBe(facts(whole({ labels: { a: 'b' } })));
  });

  it.each<[string, unknown, readonly RegExp[]]>([
    ['text that is no JSON', 'team=a', [/it is not a JSON object/]],
    ['a list', [], [/it is not a JSON object/]],
    ['an unknown part', { label: { a: 'b' } }, [/"label" is unknown; accepted are labels, taints, resources, options/]],
    ['labels in a list', { labels: ['a'] }, [/its "labels" is not a map/]],
    ['taints in a map', { taints: { a: 'b' } }, [/its "taints" is not a list/]],
    ['a taint without an effect', { taints: ['gpu'] }, [/its taint is "gpu"; it must be key=/]],
    ['an invalid quantity', { resources: { cpu: 'many' } }, [/its cpu is "many"; it must be a quantity/]],
    ['an unknown option', { options: { scaleDown: '1h' } }, [/its option scaleDown is "1h"/]],
    ['two mistakes', { taints: ['x'], resources: { cpu: '' } }, [/its taint/, /its cpu/]],
    ['an empty value', '', []],
    ['a blank value', '  ', []],
  ])('%s', (_what, template, problems) => {
    const told = tagProblems(whole(template));
    expect(told).toHaveLength(problems.length);
    for (const [index, problem] of problems.entries()) expect(told[index]).toMatch(problem);
  });

  it('one bad part does not take the others along', () => {
    const tags = whole({ labels: { a: 'b', nested: { c: 'd' } }, taints: [1, 'gpu:NoSchedule', 'x'], resources: { cpu: 'many', pods: 5 } });
    expect(templateLabels(tags)).toEqual({ a: 'b' });
    expect(templateTaints(tags)).toHaveLength(1);
    expect(templateResources(tags)).toEqual({ pods: '5' });
  });
});

describe('tags for single parts that say nothing', () => {
  it.each<[Readonly<Record<string, string>>, RegExp]>([
    [{ [`${P}taint_gpu`]: 'yes' }, /taint_gpu is "yes"; it must be a value and an effect/],
    [{ [`${P}taint_gpu`]: 'yes:NoScheduleX' }, /it must be a value and an effect/],
    [{ [`${P}taint_`]: 'yes:NoSchedule' }, /taint_ is/],
    [{ [`${P}resources_cpu`]: 'many' }, /resources_cpu is "many"; it must be a quantity/],
    [{ [`${P}autoscaling-options_scaledownunneededtime`]: '30' }, /it must be a known option and a value it can have/],
    [{ [`${P}autoscaling-options_unknown`]: '1' }, /autoscaling-options_unknown is "1"/],
  ])('%o', (tags, sentence) => {
    const told = tagProblems(tags);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(sentence);
  });

  it('does not report others, valid ones or a null', () => {
    const good = { owner: 'me', min: 'x', [`${P}label_a`]: '', [`${P}taint_a`]: ':NoSchedule', [`${P}resources_cpu`]: '0' };
    expect(tagProblems(readTags({ ...good, [`${P}taint_b`]: null }))).toEqual([]);
  });
});
