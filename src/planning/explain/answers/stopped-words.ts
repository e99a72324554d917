/** Says in words what becomes of removed nodes of a group that is to deallocate them. Must not know how instances are stopped. */
import type { NodeGroup } from '../../../domain/node-group.ts';

/** A sentence without a full stop. undefined: nodes of the group are deleted, as usual. */
export function describeStopped({ stopped }: Pick<NodeGroup, 'stopped'>): string | undefined {
  if (stopped === undefined) return undefined;
  if (stopped.kind === 'deletes') return `nodes are deleted, although azure.deallocate is on: ${stopped.why}`;
  const { instances, max, startsClosed } = stopped;
  const parts = [`${instances.length} of at most ${max} ${max === 1 ? 'instance' : 'instances'} stopped`];
  if (instances.length > 0) {
    const sinceMs = Math.min(...instances.map((instance) => instance.sinceMs));
    parts.push(`the oldest since ${new Date(sinceMs).toISOString()} or before`, `Azure bills ${describeDisks(stopped)}`);
  }
  if (instances.length > 0 && startsClosed === undefined) parts.push('the next increase starts them first');
  if (startsClosed !== undefined)
    parts.push(
      `new instances are created until ${new Date(startsClosed.untilMs).toISOString()}, since a start failed: ${startsClosed.message}`,
    );
  return parts.join('; ');
}

type Stops = Extract<NonNullable<NodeGroup['stopped']>, { readonly kind: 'stops' }>;

function describeDisks({ instances, diskGib, diskTier }: Stops): string {
  const size = diskGib === undefined ? '' : ` of ${diskGib} GiB`;
  const tier = diskTier === undefined ? '' : ` (${diskTier})`;
  return instances.length === 1 ? `its OS disk${size}${tier} and no VM` : `${instances.length} OS disks${size}${tier} and no VM`;
}
