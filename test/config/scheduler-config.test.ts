/** Default spread constraints: from kube-scheduler's own file, and from the setting. */
import { describe, expect, it } from 'vitest';
import { configOf, errorsOf } from './support.ts';

const CONSTRAINT = '{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}';
const profile = (args: string, more = ''): string => `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: batch
  ${more}
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
  - name: PodTopologySpread
    args: ${args}
`;
const argv = ['--scheduler-config-file=scheduler.yaml'];
const defaultsOf = (text: string) => [...configOf({ argv, files: { 'scheduler.yaml': text } }).kubernetes.spreadDefaults];
const zone = {
  topologyKey: 'topology.kubernetes.io/zone',
  maxSkew: 1,
  minDomains: 1,
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
};

describe("kube-scheduler's own file", () => {
  it.each<[string, string, readonly unknown[]]>([
    ['has constraints per profile', profile(`{defaultingType: List, defaultConstraints: [${CONSTRAINT}]}`), [['batch', [zone]]]],
    [
      'may be in the object of AKS',
      `apiVersion: aks.azure.com/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: upstream}\nspec:\n  rawConfig: |\n${profile(
        `{defaultingType: List, defaultConstraints: [${CONSTRAINT}]}`,
      ).replaceAll('\n', '\n    ')}`,
      [['batch', [zone]]],
    ],
    [
      'soft ones refuse no node',
      profile(`{defaultingType: List, defaultConstraints: [${CONSTRAINT.replace('DoNotSchedule', 'ScheduleAnyway')}]}`),
      [],
    ],
    ["the system's are soft", profile('{defaultingType: System}'), []],
    [
      'a plugin that is off gives none',
      profile(
        `{defaultingType: List, defaultConstraints: [${CONSTRAINT}]}`,
        'plugins: {multiPoint: {disabled: [{name: PodTopologySpread}]}}',
      ),
      [],
    ],
    ['no profile has any', 'kind: KubeSchedulerConfiguration', []],
  ])('%s', (_name, text, expected) => {
    expect(defaultsOf(text)).toEqual(expected);
  });

  it.each([
    ['{}', 'it holds no KubeSchedulerConfiguration'],
    ['kind: KubeSchedulerConfiguration\nprofiles: 1', 'its profiles are not those of a KubeSchedulerConfiguration'],
    [
      profile('{defaultingType: List, defaultConstraints: [{maxSkew: 0}]}'),
      'the defaultConstraints of profile batch are not valid (at 0.topologyKey)',
    ],
    ['a: [', 'it is neither valid YAML nor JSON'],
  ])('that is not understood is an error: %s', (text, why) => {
    expect(errorsOf({ argv, files: { 'scheduler.yaml': text } }).join()).toContain(
      `kubernetes.schedulerConfigFile is "scheduler.yaml": ${why}`,
    );
  });

  it('that does not exist is an error, and so is one beside the setting', () => {
    expect(errorsOf({ argv })).toEqual(['kubernetes.schedulerConfigFile is "scheduler.yaml": the file does not exist.']);
    const files = { c: `kubernetes: {defaultConstraints: [${CONSTRAINT}]}`, 'scheduler.yaml': 'kind: KubeSchedulerConfiguration' };
    expect(errorsOf({ argv: [...argv, '--config=c'], files }).join()).toContain('only one of the two can be used');
  });
});

it('the setting is of the default scheduler unless it names another', () => {
  const constraints = `[${CONSTRAINT}, {scheduler: batch, topologyKey: rack, maxSkew: 2, minDomains: 3, whenUnsatisfiable: DoNotSchedule}]`;
  const files = { c: `kubernetes: {defaultConstraints: ${constraints}}` };
  expect([...configOf({ argv: ['--config=c'], files }).kubernetes.spreadDefaults]).toEqual([
    ['default-scheduler', [zone]],
    ['batch', [{ ...zone, topologyKey: 'rack', maxSkew: 2, minDomains: 3 }]],
  ]);
});
