/** What a buffer's status should say. Pure; the words are those of upstream's buffer controller and pod injector. */
import {
  conditionOf,
  isTrue,
  withCondition,
  type CapacityBuffer,
  type CapacityObjects,
  type CapacityStatus,
} from '../../domain/capacity-objects.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { bufferReadiness } from './inject.ts';
import type { Allowance } from './quotas.ts';
import { ACTIVE_STRATEGY, bufferSize } from './size.ts';

export const READY = 'ReadyForProvisioning';
const PROVISIONING = 'Provisioning';
const LIMITED = 'LimitedByQuotas';

export interface BufferStatusInput {
  readonly objects: CapacityObjects;
  readonly names: ResourceNames;
  readonly nowMs: number;
  /** Which of the two parts speak. */
  /** What ResourceQuotas leave to each buffer, by uid. Absent: nobody asked. */
  readonly allowances?: ReadonlyMap<string, Allowance>;
  readonly controls: boolean;
  readonly injects: boolean;
}

/** The present status itself when nothing about it is to be changed. Buffers of other strategies are others' business. */
export function bufferStatus(buffer: CapacityBuffer, input: BufferStatusInput): CapacityStatus {
  if (buffer.strategy !== ACTIVE_STRATEGY) return buffer.status;
  const sized = input.controls ? sizedStatus(buffer, input) : buffer.status;
  return input.injects ? injectedStatus(buffer, sized, input) : sized;
}

function sizedStatus(buffer: CapacityBuffer, { objects, names, nowMs, allowances }: BufferStatusInput): CapacityStatus {
  const size = bufferSize(buffer, objects, names);
  if ('problem' in size)
    return withCondition(buffer.status, { type: READY, status: 'False', reason: 'error', message: size.problem }, nowMs);
  const { template } = size;
  const allowance = allowances?.get(buffer.ref.uid);
  const replicas = Math.min(size.replicas, allowance?.replicas ?? Infinity);
  const limited = limitedStatus(buffer.status, allowance, { wanted: size.replicas, nowMs });
  const told = withCondition(limited, { type: READY, status: 'True', reason: 'AttributesSetSuccessfully', message: 'ready' }, nowMs);
  const { podTemplate: _template, podTemplateGeneration: _generation, ...rest } = told;
  const next: CapacityStatus = {
    ...rest,
    replicas,
    provisioningStrategy: buffer.strategy,
    ...(template.name === undefined ? {} : { podTemplate: template.name }),
    ...(template.generation === undefined ? {} : { podTemplateGeneration: template.generation }),
  };
  return told === buffer.status && sameAttributes(told, next) ? buffer.status : next;
}

/** Said where quotas are about the buffer, and taken back where they no longer are. */
function limitedStatus(
  status: CapacityStatus,
  allowance: Allowance | undefined,
  { wanted, nowMs }: { readonly wanted: number; readonly nowMs: number },
): CapacityStatus {
  if (allowance === undefined && !isTrue(status, LIMITED)) return status;
  const { limitedBy, replicas = wanted } = allowance ?? {};
  const said =
    limitedBy === undefined
      ? ({ status: 'False', message: 'all replicas are within the resource quotas' } as const)
      : ({ status: 'True', message: `${replicas} of ${wanted} replicas are left by ${limitedBy}` } as const);
  return withCondition(status, { type: LIMITED, reason: 'ResourceQuotasAllocated', ...said }, nowMs);
}

function sameAttributes(left: CapacityStatus, right: CapacityStatus): boolean {
  return (
    left.replicas === right.replicas &&
    left.podTemplate === right.podTemplate &&
    left.podTemplateGeneration === right.podTemplateGeneration &&
    left.provisioningStrategy === right.provisioningStrategy
  );
}

/** Of what was injected in this loop: by the status that was read, not by the one that is about to be written. */
function injectedStatus(buffer: CapacityBuffer, status: CapacityStatus, { objects, nowMs }: BufferStatusInput): CapacityStatus {
  const ready = bufferReadiness(buffer, objects);
  // Nobody has looked at a new buffer yet: it is no failure that its pods are not there.
  if ('reason' in ready && conditionOf(buffer.status, READY) === undefined) return status;
  const said =
    'reason' in ready
      ? ({ status: 'False', ...ready } as const)
      : ({ status: 'True', reason: 'FakePodsInjected', message: `${ready.replicas} pods ask for room` } as const);
  return withCondition(status, { type: PROVISIONING, ...said }, nowMs);
}
