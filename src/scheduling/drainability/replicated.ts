import { block, type DrainRule } from './drain-rule.ts';

const KNOWN_KINDS: ReadonlySet<string> = new Set(['ReplicationController', 'Job', 'ReplicaSet', 'StatefulSet']);

/** Nobody makes a bare pod again; a controller that we do not know may not either. */
export const replicated: DrainRule = (pod, { policy }) => {
  if (pod.controller === undefined) return block('NotReplicated', 'no controller');
  if (!policy.skipNodesWithCustomControllerPods || KNOWN_KINDS.has(pod.controller.kind)) return undefined;
  return block('NotReplicated', `controller of kind ${pod.controller.kind}`);
};
