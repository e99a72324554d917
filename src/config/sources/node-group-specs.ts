/**
 * The two compact notations of node groups. Their grammar is the Cluster Autoscaler's: `--nodes=min:max:name` (split at the
 * first two colons) and `--node-group-auto-discovery=label:k=v[,...][,min=N][,max=N]`, where min and max are reserved.
 */
import { defined } from '../../lib/defined.ts';

type SpecOutcome<Value> = { readonly value: Value } | { readonly problem: string };

const NODES_ACCEPTS = 'MIN:MAX:NAME such as 1:10:aks-pool1-12345678-vmss';
const DISCOVERY_ACCEPTS = 'label:TAG=VALUE[,TAG=VALUE...][,min=N][,max=N] such as label:cluster-autoscaler-enabled=true,min=1,max=10';

export interface NodesSpec {
  readonly name: string;
  readonly min: number;
  readonly max: number;
}

export interface DiscoverySpec {
  readonly selectors: Readonly<Record<string, string>>;
  readonly min?: number;
  readonly max?: number;
}

export function parseNodesSpec(text: string): SpecOutcome<NodesSpec> {
  const match = /^(\d+):(\d+):(.+)$/.exec(text.trim());
  const [, min = '', max = '', name = ''] = match ?? [];
  if (match === null) return { problem: `it must be ${NODES_ACCEPTS}` };
  if (Number(min) > Number(max)) return { problem: `its minimum ${min} is above its maximum ${max}; it must be ${NODES_ACCEPTS}` };
  return { value: { name: name.trim(), min: Number(min), max: Number(max) } };
}

export function parseDiscoverySpec(text: string): SpecOutcome<DiscoverySpec> {
  const [discoverer, items, ...rest] = text.trim().split(':');
  if (items === undefined || rest.length > 0) return refuse('it must have exactly one colon');
  if (discoverer !== 'label') return refuse(`"${discoverer ?? ''}" is not a discovery method; the only one is label`);
  const pairs = items.split(',').map((item) => item.split('='));
  const bad = pairs.find(
    ([key, value, ...more]) => key === undefined || key.trim() === '' || !value || value.trim() === '' || more.length > 0,
  );
  if (bad !== undefined) return refuse(`"${bad.join('=')}" is not KEY=VALUE`);
  const entries = pairs.map(([key = '', value = '']) => [key.trim(), value.trim()] as const);
  const names = entries.map(([key]) => key);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return refuse(`it names ${twice} twice; write an alternative as a rule of its own`);
  return assemble(entries);
}

function assemble(entries: readonly (readonly [string, string])[]): SpecOutcome<DiscoverySpec> {
  const sizes = new Map(entries.filter(([key]) => key === 'min' || key === 'max'));
  for (const [key, value] of sizes) if (!/^\d+$/.test(value)) return refuse(`${key}=${value} is not a whole number of at least 0`);
  const min = numberOf(sizes.get('min'));
  const max = numberOf(sizes.get('max'));
  if (min !== undefined && max !== undefined && min > max) return refuse(`min=${min} is above max=${max}`);
  const selectors = Object.fromEntries(entries.filter(([key]) => key !== 'min' && key !== 'max'));
  // The Cluster Autoscaler's provider accepts a rule without a tag and finds nothing with it.
  if (Object.keys(selectors).length === 0) return refuse('it has no tag');
  return { value: { selectors, ...defined({ min, max }) } };
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

function refuse(why: string): { readonly problem: string } {
  return { problem: `${why}; it must be ${DISCOVERY_ACCEPTS}` };
}
