/** How much of the devices of a node is allocated, after the Cluster Autoscaler's `simulator/utilization`. */
import { deviceId, type Device, type DevicePool } from '../../domain/devices.ts';
import { podName } from '../../domain/ids.ts';
import type { Node } from '../../domain/node.ts';
import type { Blocker } from '../../domain/plan.ts';
import type { Pod } from '../../domain/pod.ts';

/** Why it cannot be said: a pool that is not complete, or a pod whose claims have no devices yet; undefined: it can. */
export function unknownUse(node: Node, pods: readonly Pod[]): string | undefined {
  const [pool] = node.devices?.incomplete ?? [];
  if (pool !== undefined) return `device pool ${pool} is not complete`;
  const waiting = pods.find(({ shape, heldDevices }) => heldDevices === undefined && (shape.devices?.claims.length ?? 0) > 0);
  return waiting === undefined ? undefined : `pod ${podName(waiting)} claims devices that it has not got`;
}

/** The fullest pool: 0 to 1. undefined: the node has no devices that drivers publish. Looking on (admin access) is no use. */
export function claimUtilization({ devices }: Node, pods: readonly Pod[]): number | undefined {
  if (devices === undefined || devices.pools.length === 0) return undefined;
  const held = new Set([...devices.held, ...pods.flatMap(({ heldDevices = [] }) => heldDevices)]);
  return Math.max(...devices.pools.map((pool) => poolUtilization(pool, held)));
}

function poolUtilization({ devices, counters }: DevicePool, held: ReadonlySet<string>): number {
  const taken = devices.filter((device) => held.has(deviceId(device)));
  const sets = Object.entries(counters);
  if (sets.length === 0) return devices.length === 0 ? 0 : taken.length / devices.length;
  const shares = sets.map(([set, limits]) =>
    Math.max(0, ...Object.entries(limits).map(([counter, limit]) => shareOf(taken, set, counter, limit))),
  );
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

function shareOf(taken: readonly Device[], set: string, counter: string, limit: number): number {
  const used = taken
    .flatMap(({ consumes }) => consumes)
    .reduce((sum, consumption) => (consumption.set === set ? sum + (consumption.counters[counter] ?? 0) : sum), 0);
  return limit > 0 ? used / limit : 0;
}

/** The first pod whose claims of devices cannot be judged: how much of its node is used would be a guess, and so would be moving it. */
export function unjudgedClaim(pods: readonly Pod[], feature: string): Blocker | undefined {
  for (const pod of pods) {
    const claim = pod.shape.unsupported.find((requirement) => requirement.feature === feature);
    if (claim !== undefined)
      return {
        pod: podName(pod),
        reason: 'UnexpectedError',
        detail: `${claim.detail}: how much of the node's devices is in use is not known`,
      };
  }
  return undefined;
}
