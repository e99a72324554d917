/** The options of single pools, each with the setting of all pools that holds without it. The list of keys is the schema's. */
import { knownKeys } from '../src/config/schema/schema-keys.ts';

/** The setting that a pool without the option inherits; a text in parentheses where there is no such setting. */
const INHERITED: Readonly<Record<string, string>> = {
  scaleDownUtilizationThreshold: 'scaleDown.utilizationThreshold',
  scaleDownGpuUtilizationThreshold: 'scaleDown.gpuUtilizationThreshold',
  scaleDownUnneededTime: 'scaleDown.unneededTime',
  scaleDownUnreadyTime: 'scaleDown.unreadyTime',
  maxNodeProvisionTime: 'scaleUp.maxProvisionTime',
  maxNodeStartupTime: 'cluster.maxNodeStartupTime',
  scaleDownDelayAfterAdd: 'scaleDown.delayAfterAdd',
  scaleDownDelayAfterDelete: 'scaleDown.delayAfterDelete',
  scaleDownDelayAfterFailure: 'scaleDown.delayAfterFailure',
  initialBackoff: 'backoff.initial',
  maxBackoff: 'backoff.max',
  maxParallelRemovals: '(no limit of its own; `scaleDown.maxParallelism` limits all pools together)',
  expanderPriority: '(its level in `scaleUp.priorities`; needs `priority` among `scaleUp.expanders`)',
  ignoreDaemonSetsUtilization: 'scaleDown.ignoreDaemonSetsUtilization',
  maxGracefulTermination: 'drain.maxGracefulTermination',
  evictionTimeout: 'drain.evictionTimeout',
  evictionRetry: 'drain.evictionRetry',
  skipNodesWithSystemPods: 'scaleDown.skipNodesWithSystemPods',
  skipNodesWithLocalStorage: 'scaleDown.skipNodesWithLocalStorage',
  skipNodesWithCustomControllerPods: 'scaleDown.skipNodesWithCustomControllerPods',
  zeroOrMaxNodeScaling: '(off: nodes are added and removed one by one)',
  allowNonAtomicScaleUpToMax: '(off: if a part of such a scale-up fails, all of it is undone)',
  repack: 'repack.enabled',
  makeRoom: 'scaleDown.makeRoom',
  maintenance: 'schedules.maintenance',
  deallocate: 'azure.deallocate',
  maxStopped: 'azure.maxStoppedInstances',
  sickNodes: '(off: no condition of a node but its readiness counts; see [sick nodes](sick-nodes.md))',
  devices: '(none: what nodes have shown; see [devices](devices.md))',
  headroom: '(none of its own; `capacity.headroom` is of all pools together)',
};

/** Rows of the table: the option, its tag, and what holds without it. @throws Error if an option of the schema has no row. */
export function poolOptionRows(): readonly (readonly string[])[] {
  const keys = knownKeys(['nodeGroupOptions', '0']).filter((key) => key !== 'name');
  return keys.map((key) => {
    const inherited = INHERITED[key];
    if (inherited === undefined) throw new Error(`the option ${key} of a pool has no row`);
    return [`\`${key}\``, inherited.startsWith('(') ? inherited.slice(1, -1) : `\`${inherited}\``];
  });
}
