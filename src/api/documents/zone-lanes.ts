/** Pools that differ only by their zone, such as `web1`, `web2` and `web3`: one lane of the time axis, with the sum of their sizes. Pure. */
import type { SizeSample } from '../../domain/history.ts';
import type { NodeGroup } from '../../domain/node-group.ts';

/** The siblings of each pool, itself included, by name; a pool without siblings is not in it. */
export function zoneSiblings(groups: readonly NodeGroup[]): ReadonlyMap<string, readonly NodeGroup[]> {
  const families = Map.groupBy(groups, familyOf);
  families.delete(undefined);
  const siblings = new Map<string, readonly NodeGroup[]>();
  for (const members of families.values()) {
    const zones = new Set(members.map(({ zones: [zone] }) => zone));
    if (members.length > 1 && zones.size === members.length) for (const { id } of members) siblings.set(id, members);
  }
  return siblings;
}

/** undefined: a pool of several zones, or of none, or whose name does not end in a number. */
function familyOf(group: NodeGroup): string | undefined {
  const stem = familyName(group);
  if (group.zones.length !== 1 || stem === undefined) return undefined;
  return [stem, group.vmSize, group.priority].join(' ').toLowerCase();
}

/** `web` of `web1`, `web-z2` and `aks-web3-12345678-vmss`. undefined: the name does not end in a number. */
export function familyName({ id, agentPool }: Pick<NodeGroup, 'id' | 'agentPool'>): string | undefined {
  const name = agentPool?.name ?? /^aks-(.+)-\d{6,12}-vmss$/i.exec(id)?.[1] ?? id;
  return /^(.*?[a-z])-?(?:z|zone|az)?-?\d+$/i.exec(name)?.[1];
}

/** The sums of several pools' sizes, at each moment at which one of them changed. A pool without an earlier sample had its first size. */
export function sumOfSizes(all: readonly (readonly SizeSample[])[]): readonly SizeSample[] {
  if (all.length === 1) return all[0] ?? [];
  const known = all.filter((samples) => samples.length > 0);
  const times = [...new Set(known.flat().map(({ atMs }) => atMs))].sort((left, right) => left - right);
  return times.map((atMs) => {
    const now = known.map((samples) => samples.findLast((sample) => sample.atMs <= atMs) ?? samples[0]);
    const sum = (of: (sample: SizeSample) => number): number =>
      now.reduce((total, sample) => total + (sample === undefined ? 0 : of(sample)), 0);
    return { atMs, target: sum(({ target }) => target), ready: sum(({ ready }) => ready) };
  });
}
