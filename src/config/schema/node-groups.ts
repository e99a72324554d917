/** Options of single node groups. They are the same options that tags can set, headroom, declared devices, which nodes are sick, and what removals do with the hours of AKS. */
import * as z from 'zod';
import { DECLARED_FORM, readDeclaredDevices } from '../../domain/declared-devices.ts';
import type { DevicePool } from '../../domain/devices.ts';
import { headroomOfPool } from './headroom.ts';
import { maintenanceUse } from './schedules.ts';
import { sickNodesOfPool } from './repack.ts';
import { parseDuration, text } from './value-types.ts';

const DURATION = 'a duration such as 10s, 10m or 1h30m';
const time = z
  .string({ error: DURATION })
  .transform((written, context) => {
    const ms = parseDuration(written.trim());
    if (ms !== undefined) return ms;
    context.addIssue({ code: 'custom', message: DURATION });
    return z.NEVER;
  })
  .optional();
const SHARE = 'a number from 0 to 1';
const share = z.number({ error: SHARE }).min(0, { error: SHARE }).max(1, { error: SHARE }).optional();
const COUNT = 'a whole number of at least 1';
const count = z.number({ error: COUNT }).int({ error: COUNT }).min(1, { error: COUNT }).optional();
const LEVEL = 'a whole number of at least 0';
const level = z.number({ error: LEVEL }).int({ error: LEVEL }).min(0, { error: LEVEL }).optional();
const choice = z.boolean({ error: 'true or false' }).optional();

/** Devices that new nodes of a pool have, for a pool that never had a node. */
const declaredDevices = z
  .array(z.unknown(), { error: `a list of ${DECLARED_FORM}` })
  .transform((written, context): readonly DevicePool[] => {
    const read = readDeclaredDevices(written);
    if (read.ok) return read.pools;
    context.addIssue({ code: 'custom', message: `a list of ${DECLARED_FORM} (${read.problem})` });
    return z.NEVER;
  });

const entry = z
  .strictObject({
    name: text('the name of a scale set, of an agent pool, or POOL/SIZE'),
    scaleDownUtilizationThreshold: share,
    scaleDownGpuUtilizationThreshold: share,
    scaleDownUnneededTime: time,
    scaleDownUnreadyTime: time,
    maxNodeProvisionTime: time,
    maxNodeStartupTime: time,
    scaleDownDelayAfterAdd: time,
    scaleDownDelayAfterDelete: time,
    scaleDownDelayAfterFailure: time,
    initialBackoff: time,
    maxBackoff: time,
    maxParallelRemovals: count,
    expanderPriority: level,
    ignoreDaemonSetsUtilization: choice,
    maxGracefulTermination: time,
    evictionTimeout: time,
    evictionRetry: time,
    skipNodesWithSystemPods: choice,
    skipNodesWithLocalStorage: choice,
    skipNodesWithCustomControllerPods: choice,
    zeroOrMaxNodeScaling: choice,
    allowNonAtomicScaleUpToMax: choice,
    repack: choice,
    makeRoom: choice,
    deallocate: choice,
    maxStopped: level,
    devices: declaredDevices.optional(),
    headroom: headroomOfPool.optional(),
    maintenance: maintenanceUse.optional(),
    sickNodes: sickNodesOfPool.optional(),
  })
  .refine(({ initialBackoff = 0, maxBackoff = Infinity }) => initialBackoff <= maxBackoff, {
    error: 'a first backoff that is not longer than maxBackoff',
    path: ['initialBackoff'],
  })
  .transform((given) => ({
    name: given.name,
    options: present({
      utilizationThreshold: given.scaleDownUtilizationThreshold,
      gpuUtilizationThreshold: given.scaleDownGpuUtilizationThreshold,
      unneededForMs: given.scaleDownUnneededTime,
      unreadyForMs: given.scaleDownUnreadyTime,
      maxProvisionMs: given.maxNodeProvisionTime,
      maxStartupMs: given.maxNodeStartupTime,
      delayAfterAddMs: given.scaleDownDelayAfterAdd,
      delayAfterDeleteMs: given.scaleDownDelayAfterDelete,
      delayAfterFailureMs: given.scaleDownDelayAfterFailure,
      backoffInitialMs: given.initialBackoff,
      backoffMaxMs: given.maxBackoff,
      maxParallelRemovals: given.maxParallelRemovals,
      expanderPriority: given.expanderPriority,
      ignoreDaemonSetsUtilization: given.ignoreDaemonSetsUtilization,
      maxGracefulTerminationMs: given.maxGracefulTermination,
      evictionTimeoutMs: given.evictionTimeout,
      evictionRetryMs: given.evictionRetry,
      skipNodesWithSystemPods: given.skipNodesWithSystemPods,
      skipNodesWithLocalStorage: given.skipNodesWithLocalStorage,
      skipNodesWithCustomControllerPods: given.skipNodesWithCustomControllerPods,
      zeroOrMax: given.zeroOrMaxNodeScaling,
      keepsPartOfMax: given.allowNonAtomicScaleUpToMax,
      repack: given.repack,
      makeRoom: given.makeRoom,
      deallocate: given.deallocate,
      maxStopped: given.maxStopped,
      devices: given.devices,
      headroom: given.headroom,
      maintenance: given.maintenance,
      sickNodes: given.sickNodes,
    }),
  }));

export const nodeGroupOptions = z
  .array(entry, { error: 'a list of {name, and options}' })
  .superRefine((entries, context) => {
    const names = entries.map(({ name }) => name.toLowerCase());
    names.forEach((name, index) => {
      if (names.indexOf(name) === index) return;
      context.addIssue({ code: 'custom', path: [index, 'name'], message: 'a name that no other entry has' });
    });
  })
  .default([]);

/** Returns only the given options. For the others, the tag's or the cluster's value holds. */
function present<Given extends object>(given: Given): { readonly [Key in keyof Given]?: Exclude<Given[Key], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    readonly [Key in keyof Given]?: Exclude<Given[Key], undefined>;
  };
}
