/** Rights that a feature needs only where it is on: `doctor` asks for them then, and names the one that is missing. */
import { describe, expect, it } from 'vitest';
import type { Access, KubernetesDiagnosis } from '../../../src/kubernetes/diagnosis.ts';
import { accessChecks } from '../../../src/tools/doctor/cluster-checks.ts';
import { configOf } from '../../config/support.ts';

const OPTIONAL = ['patch pods/status', 'create pods', 'watch services', 'list verticalpodautoscalers'];
const textOf = ({ verb, resource, subresource }: Access): string => `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`;

/** A cluster that grants all rights but the optional ones. */
const diagnosis: KubernetesDiagnosis = {
  server: 'https://kubernetes',
  version: () => Promise.resolve('v1.37.2'),
  mayI: (access) => Promise.resolve(!OPTIONAL.includes(textOf(access))),
  stuckBudgets: () => Promise.resolve([]),
  publishedDevices: () => Promise.resolve(new Map()),
  conditionTypes: () => Promise.resolve(new Map()),
  close: () => Promise.resolve(),
};

const missing = async (yaml: string): Promise<readonly string[]> => {
  const config = configOf({ argv: ['--config=c'], files: { c: yaml } });
  const checks = await accessChecks(diagnosis, config, new AbortController().signal);
  return checks.filter(({ status }) => status === 'failed').map(({ message }) => message);
};

describe('doctor', () => {
  it.each([
    { on: 'a plain configuration', yaml: '{}', named: [] },
    { on: 'nominations', yaml: 'scaleUp: {nominateNodes: true}', named: ['missing permission: patch pods/status'] },
    {
      on: 'VerticalPodAutoscalers',
      yaml: 'cluster: {verticalPodAutoscalers: true}',
      named: ['missing permission: list verticalpodautoscalers.autoscaling.k8s.io'],
    },
    { on: 'dry runs of pods', yaml: 'capacity: {podDryRun: true}', named: ['missing permission: create pods'] },
    {
      on: 'required default constraints',
      yaml: 'kubernetes: {defaultConstraints: [{topologyKey: topology.kubernetes.io/zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]}',
      named: ['missing permission: watch services'],
    },
  ])('asks for what $on needs', async ({ yaml, named }) => expect(await missing(yaml)).toEqual(named));
});
