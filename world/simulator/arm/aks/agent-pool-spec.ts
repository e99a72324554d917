/** Describes a client's own agent pool in the form that the world uses. */
import type { PoolSpec } from '../../base/world-spec.ts';
import { manualScale } from '../state/agent-pool-document.ts';
import { pickObject, pickText, type Json, type JsonObject } from '../http/json.ts';

const POOL_NAME = /^[a-z][a-z0-9]{0,11}$/;

/** The spec of a pool with these properties. A text result describes what is wrong with them. */
export function specOfNew(name: string, properties: JsonObject): PoolSpec | string {
  if (!POOL_NAME.test(name))
    return `The agent pool name '${name}' is invalid. It may have 1 to 12 lower-case letters and digits, a letter first.`;
  const isOfVms = pickText(properties, 'type') === 'VirtualMachines';
  const [first] = isOfVms ? manualScale(properties) : [{ size: pickText(properties, 'vmSize'), count: numberOf(properties['count']) ?? 1 }];
  if (first?.size === undefined) return 'The value of parameter agentPoolProfile.vmSize is missing.';
  const zones = listOf(properties['availabilityZones']);
  return {
    name,
    kind: isOfVms ? 'vms-pool' : 'vmss-uniform',
    vmSize: first.size,
    count: first.count,
    ...limitsOfNew(properties),
    mode: pickText(properties, 'mode') === 'System' ? 'System' : 'User',
    managedAutoscaler: properties['enableAutoScaling'] === true,
    ...(zones.length > 0 ? { zones } : {}),
    ...spotOf(properties),
    labels: labelsIn(properties),
    taints: listOf(properties['nodeTaints']),
    tags: textsOf(properties, 'tags'),
  };
}

/** The labels that a client gave the pool. */
export function labelsIn(properties: JsonObject): Readonly<Record<string, string>> {
  return textsOf(properties, 'nodeLabels');
}

/** From AKS's own limits, else from the discovery tags. Without either, the pool has no limits. */
function limitsOfNew(properties: JsonObject): Pick<PoolSpec, 'min' | 'max'> {
  const { min = '0', max = '1000' } = textsOf(properties, 'tags');
  return { min: numberOf(properties['minCount']) ?? Number(min), max: numberOf(properties['maxCount']) ?? Number(max) };
}

function spotOf(properties: JsonObject): Pick<PoolSpec, 'priority' | 'evictionPolicy'> {
  if (pickText(properties, 'scaleSetPriority') !== 'Spot') return {};
  return { priority: 'Spot', evictionPolicy: pickText(properties, 'scaleSetEvictionPolicy') === 'Deallocate' ? 'Deallocate' : 'Delete' };
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function listOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function textsOf(properties: JsonObject, key: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(pickObject(properties, key)).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}
