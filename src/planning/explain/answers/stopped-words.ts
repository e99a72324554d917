/** Says in words what becomes of removed nodes of a group that is to deallocate them. Must not know how instances are stopped. */
import type { DurationSummary } from '../../../domain/history.ts';
import type { NodeGroup, StoppedInstance } from '../../../domain/node-group.ts';
import type { PriceSources } from '../../../domain/policy.ts';
import { diskPrice } from '../../expanders/node-price.ts';
import { formatPerHour } from '../amounts.ts';
import { formatSpan } from '../spans.ts';

export interface StoppedContext {
  readonly prices: PriceSources;
  /** Of the prices. undefined: unknown. */
  readonly currency?: string | undefined;
  /** How long new nodes of the group took until they were ready. undefined: none was seen. */
  readonly created?: DurationSummary | undefined;
  /** The same of stopped ones that were started. */
  readonly started?: DurationSummary | undefined;
}

/** A sentence without a full stop. undefined: nodes of the group are deleted, as usual. */
export function describeStopped({ stopped }: Pick<NodeGroup, 'stopped'>, context: StoppedContext): string | undefined {
  if (stopped === undefined) return undefined;
  if (stopped.kind === 'deletes') return `nodes are deleted, although azure.deallocate is on: ${stopped.why}`;
  const { instances, max, startsClosed, counts } = stopped;
  const parts = [`${instances.length} of at most ${max} ${max === 1 ? 'instance' : 'instances'} stopped`];
  if (instances.length > 0) {
    const sinceMs = Math.min(...instances.map((instance) => instance.sinceMs));
    parts.push(`the oldest since ${new Date(sinceMs).toISOString()} or before`, `Azure bills ${describeDisks(stopped, context)}`);
  }
  if (counts !== undefined && instances.length >= max) parts.push('further nodes stay, since AKS could only stop them');
  if (counts !== undefined) parts.push(`${COUNTED[counts.how]}, as seen since ${new Date(counts.sinceMs).toISOString()}`);
  if (instances.length > 0 && startsClosed === undefined) parts.push('the next increase starts them first');
  if (context.started !== undefined) parts.push(`a start takes ${formatSpan(context.started.p50Ms)}${describeCreation(context.created)}`);
  if (startsClosed !== undefined)
    parts.push(
      `new instances are created until ${new Date(startsClosed.untilMs).toISOString()}, since a start failed: ${startsClosed.message}`,
    );
  return parts.join('; ');
}

const COUNTED = {
  'left-out': "AKS's count leaves stopped ones out, and AKS starts them",
  included: "AKS's count includes stopped ones, and they are started by name",
} as const;

type Stops = Extract<NonNullable<NodeGroup['stopped']>, { readonly kind: 'stops' }>;

/** The same of one node, as a sentence. `cost`: of its disk per hour. */
export function describeStoppedNode(
  { sinceMs }: StoppedInstance,
  { startsClosed, cost }: Stops & { readonly cost: number | undefined },
): string {
  const disk = cost === undefined ? 'its disk' : `its disk (${formatPerHour(cost, undefined, 3)})`;
  const next =
    startsClosed === undefined
      ? 'The next increase of its pool starts it before new nodes are created.'
      : `New nodes are created instead until ${new Date(startsClosed.untilMs).toISOString()}, since a start failed: ${startsClosed.message}`;
  return `Stopped since ${new Date(sinceMs).toISOString()} or before: no VM runs, Azure bills ${disk}, and to plans it is no node. ${next}`;
}

/** What the disks of the stopped instances cost per hour. undefined: none is stopped, or the price is unknown. */
export function stoppedCost({ stopped }: Pick<NodeGroup, 'stopped'>, prices: PriceSources): number | undefined {
  if (stopped?.kind !== 'stops' || stopped.instances.length === 0) return undefined;
  const each = diskPrice(prices, stopped.diskSku);
  return each === undefined ? undefined : each * stopped.instances.length;
}

function describeDisks(stopped: Stops, { prices, currency }: StoppedContext): string {
  const { instances, diskGib, diskTier, diskSku } = stopped;
  const size = diskGib === undefined ? '' : ` of ${diskGib} GiB`;
  const tier = diskTier === undefined ? '' : ` (${diskTier})`;
  const what = instances.length === 1 ? `its OS disk${size}${tier}` : `${instances.length} OS disks${size}${tier}`;
  const cost = stoppedCost({ stopped }, prices);
  const unknown = diskSku === undefined ? '' : `, at a price that is not known (${diskSku})`;
  return `${what} and no VM${cost === undefined ? unknown : `: ${formatPerHour(cost, currency, 3)}`}`;
}

function describeCreation(created: DurationSummary | undefined): string {
  return created === undefined ? '' : `, a new node ${formatSpan(created.p50Ms)}`;
}
