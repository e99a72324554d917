/**
 * What a drained node waits for before its instance is deleted: load balancers, annotations that request a delay, and volumes. Each wait is bounded;
 * afterwards the deletion goes on. Must not know how a node is drained or deleted.
 */
import type { Removal } from '../../domain/plan.ts';
import type { DrainPolicy } from '../../domain/policy.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import type { Clock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/duration.ts';
import type { Log } from '../../telemetry/log.ts';
import type { FreshNode } from './removal-safety.ts';

/** How often a drained node that waits is read again. */
export const DELAY_POLL_MS = 5_000;
/** A node with this label, whatever its value, is behind no load balancer (kubernetes.io: well-known labels). */
const NOT_BEHIND_LOAD_BALANCERS = 'node.kubernetes.io/exclude-from-external-load-balancers';
/** An event names no more volumes. */
const NAMED_VOLUMES = 3;

interface WaitDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly policy: Pick<DrainPolicy, 'loadBalancerWaitMs' | 'deletionDelayTimeoutMs' | 'volumeDetachTimeoutMs'>;
}

/**
 * Load balancers find out by their probes that a node is leaving: for most Services kube-proxy answers them with an error since the deletion taint
 * was written, for Services with `externalTrafficPolicy: Local` since the last of their pods left the node. `leavingSinceMs` is the later of both,
 * by the monotonic clock. Throws as the clock does.
 */
export async function waitForLoadBalancers(
  { removal, node, leavingSinceMs }: { readonly removal: Removal; readonly node: FreshNode['node']; readonly leavingSinceMs: number },
  { clock, log, policy }: WaitDeps,
  signal: AbortSignal,
): Promise<void> {
  // The probes of a broken node have failed for long.
  if (policy.loadBalancerWaitMs === 0 || removal.cause === 'unready' || node.labels[NOT_BEHIND_LOAD_BALANCERS] !== undefined) return;
  const leftMs = leavingSinceMs + policy.loadBalancerWaitMs - clock.monotonic();
  if (leftMs <= 0) return;
  log.info({ node: removal.node, nodeGroup: removal.group, waitMs: leftMs }, 'Drained node waits for load balancers');
  await clock.sleep(leftMs, signal);
}

/**
 * Waits while delay-deletion annotations request time between drain and deletion, and while volumes are attached to the node: a disk of a deleted
 * VM is attached elsewhere only after minutes. The node is read from the API server each time, so annotations may come and go during the drain.
 * Returns the node as last read. Throws as `read` and the clock do.
 */
export async function waitForDelays(
  removal: Removal,
  read: () => Promise<FreshNode | undefined>,
  deps: WaitDeps,
  signal: AbortSignal,
): Promise<FreshNode | undefined> {
  const { clock, policy } = deps;
  // The kubelet of a broken node unmounts nothing.
  const volumesMs = removal.cause === 'unready' ? 0 : policy.volumeDetachTimeoutMs;
  const begunMs = clock.monotonic();
  for (;;) {
    const fresh = await read();
    if (fresh === undefined) return undefined;
    const asking = fresh.node.delayDeletion;
    const volumes = volumesMs === 0 ? [] : fresh.volumes;
    const waitMs = Math.max(asking.length === 0 ? 0 : policy.deletionDelayTimeoutMs, volumes.length === 0 ? 0 : volumesMs);
    const leftMs = begunMs + waitMs - clock.monotonic();
    if (leftMs <= 0) {
      reportUnended(removal, fresh, { asking, volumes }, deps);
      return fresh;
    }
    await clock.sleep(Math.min(DELAY_POLL_MS, leftMs), signal);
  }
}

function reportUnended(
  { node, group }: Removal,
  fresh: FreshNode,
  { asking, volumes }: { readonly asking: readonly string[]; readonly volumes: readonly string[] },
  { log, events, policy }: WaitDeps,
): void {
  if (asking.length > 0) log.warn({ node, asking: asking.join(', ') }, 'Node deleted although annotations still ask for a delay');
  if (volumes.length === 0) return;
  log.warn({ node, nodeGroup: group, volumes: volumes.join(', ') }, 'Node deleted although volumes are still attached');
  const named = volumes.slice(0, NAMED_VOLUMES).map(volumeName).join(', ');
  const more = volumes.length > NAMED_VOLUMES ? ` and ${volumes.length - NAMED_VOLUMES} more` : '';
  const waited = formatDuration(policy.volumeDetachTimeoutMs);
  const message = `the instance is deleted although volumes are attached after ${waited}: ${named}${more}`;
  events.record({ subject: { kind: 'Node', name: node, uid: fresh.node.uid }, type: 'Warning', reason: 'ScaleDown', message });
}

/** `kubernetes.io/csi/disk.csi.azure.com^/subscriptions/.../disks/pvc-1` is `pvc-1`. */
function volumeName(id: string): string {
  return id.slice(Math.max(id.lastIndexOf('/'), id.lastIndexOf('^')) + 1);
}
