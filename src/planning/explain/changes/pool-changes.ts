/** Changes of one pool: its limits and options, and what its nodes offer. */
import type { NodeGroupId } from '../../../domain/ids.ts';
import type { StatedOptions } from '../../../domain/node-group.ts';
import { largest } from '../../../domain/resources.ts';
import { yamlText } from '../../../lib/shown-text.ts';
import { formatAmount, formatPercent } from '../amounts.ts';
import { type FixStep, kind, type StepsInput, type World } from './change.ts';
import { groupNamed, withGroup, withTemplate } from './edits.ts';
import { labelStep, limitSteps, type PoolOfCommand } from './pool-commands.ts';

interface OfPool {
  readonly group: NodeGroupId;
}

interface Resize extends OfPool {
  readonly from: number;
  readonly to: number;
}

interface PoolLabel extends OfPool {
  readonly key: string;
  readonly value: string;
}

/** The group's nodes may have what is declared already, but no node was seen yet. */
export const POOL_CHANGES = {
  'raise-maximum': kind<Resize>({
    describe: ({ group, from, to }) => `raise the maximum of ${group} from ${from} to ${to}`,
    steps: ({ group, to }, input) => limitSteps(group, 'max', to, poolIn(input, group)),
    apply: (world, { group, to }) => withGroup(world, group, (each) => ({ ...each, maxSize: to })),
  }),
  'lower-minimum': kind<Resize>({
    describe: ({ group, from, to }) => `lower the minimum of ${group} from ${from} to ${to}`,
    steps: ({ group, to }, input) => limitSteps(group, 'min', to, poolIn(input, group)),
    apply: (world, { group, to }) => withGroup(world, group, (each) => ({ ...each, minSize: to })),
  }),
  /** Shares from 0 to 1. */
  'raise-threshold': kind<{ readonly devices: boolean } & Resize>({
    describe: ({ group, from, to }) => `raise the utilization threshold of ${group} from ${formatPercent(from)} to ${formatPercent(to)}`,
    steps: ({ group, devices, to }) => [
      optionStep(group, `${devices ? 'scaleDownGpuUtilizationThreshold' : 'scaleDownUtilizationThreshold'}: ${to}`),
    ],
    apply: (world, { group, devices, to }) =>
      withOptions(world, group, devices ? { gpuUtilizationThreshold: to } : { utilizationThreshold: to }),
  }),
  'ignore-daemon-sets': kind<OfPool>({
    describe: ({ group }) => `leave DaemonSet pods out of the utilization of ${group}`,
    steps: ({ group }) => [optionStep(group, 'ignoreDaemonSetsUtilization: true')],
    apply: (world, { group }) => withOptions(world, group, { ignoreDaemonSetsUtilization: true }),
  }),
  'label-pool': kind<PoolLabel>({
    describe: ({ group, key, value }) => `add the label ${key}=${value} to pool ${group}`,
    steps: ({ group, key, value }, input) => [labelStep(group, { key, value }, poolIn(input, group))],
    apply: withLabel,
  }),
  'declare-label': kind<PoolLabel>({
    describe: ({ group, key, value }) =>
      `start one node of ${group}, or state ${key}=${value} in a label tag of it if its nodes have that label`,
    steps: () => [],
    apply: withLabel,
  }),
  'declare-resource': kind<{ readonly resource: string; readonly amount: number } & OfPool>({
    describe: ({ group, resource, amount }) =>
      `start one node of ${group}, or state ${formatAmount(resource, amount)} ${resource} in a resource tag of it if its nodes have that much`,
    steps: () => [],
    apply: (world, { group, resource, amount }, { names }) => {
      const offered = names.fromRecord({ [resource]: amount });
      return withTemplate(world, group, (template) => ({
        ...template,
        allocatable: largest(template.allocatable, offered),
        capacity: largest(template.capacity, offered),
      }));
    },
  }),
  'declare-features': kind<{ readonly features: readonly string[] } & OfPool>({
    describe: ({ group, features }) => `start one node of ${group}, if its kubelets declare ${features.join(', ')}`,
    steps: () => [],
    apply: (world, { group, features }) =>
      withTemplate(world, group, (template) => ({
        ...template,
        declaredFeatures: [...template.declaredFeatures, ...features],
      })),
  }),
  'uncordon-template': kind<OfPool>({
    describe: ({ group }) => `uncordon a node of ${group}`,
    steps: () => [],
    apply: (world, { group }) => withTemplate(world, group, (template) => ({ ...template, unschedulable: false })),
  }),
};

function poolIn(input: StepsInput, id: NodeGroupId): PoolOfCommand {
  return { group: groupNamed(input, id), cluster: input.observation.cloud.managedCluster };
}

function withLabel(world: World, { group, key, value }: PoolLabel): World {
  return withTemplate(world, group, (template) => ({ ...template, labels: { ...template.labels, [key]: value } }));
}

function withOptions(world: World, id: NodeGroupId, options: StatedOptions): World {
  return withGroup(world, id, (group) => ({ ...group, options: { ...group.options, ...options } }));
}

function optionStep(group: string, option: string): FixStep {
  return { where: 'nodeGroupOptions of the configuration', patch: `nodeGroupOptions: [{name: ${yamlText(group)}, ${option}}]` };
}
