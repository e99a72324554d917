/** Which conditions make a node of a pool sick: by name, or those that AKS writes, as presets. */
import * as z from 'zod';
import type { SickCondition, SickNodeRules } from '../../domain/repack.ts';
import { MAX_POOL_NODES } from '../../domain/platform-limits.ts';
import { duration, MINUTE_MS, text, wholeNumber } from './value-types.ts';

const FORMS = '{presets: [aks, gpu], conditions: [{type: XIDErrors, status: "True", for: 10m}], maximum: 1, breakerPercent: 20}';
const TYPE = 'the type of a node condition, such as XIDErrors';
const STATUS = '"True", "False" or "Unknown", in quotes';
const DEFAULT_FOR_MS = 10 * MINUTE_MS;

/**
 * Conditions that the node problem detector of AKS sets to True on nodes (learn.microsoft.com, "Node Problem Detector in AKS nodes", and for managed
 * GPU pools "AKS-managed GPU nodes"), and the one of AKS's node health check. Announced events of a VM and throttled clocks are left out, since they pass.
 */
const PRESETS = {
  aks: [
    'KernelDeadlock',
    'ReadonlyFilesystem',
    'FilesystemCorruptionProblem',
    'KubeletProblem',
    'ContainerRuntimeProblem',
    'FrequentKubeletRestart',
    'FrequentContainerdRestart',
    'FrequentUnregisterNetDevice',
  ],
  gpu: ['GPUMissing', 'NVLinkStatusInactive', 'XIDErrors', 'IBLinkFlapping', 'UnhealthyNvidiaDevicePlugin', 'UnhealthyNvidiaDCGMServices'],
} as const;

const HEALTH_CHECK = { type: 'kubernetes.azure.com/NodeHealthy', status: 'False' };

const PRESET_NAMES = ['aks', 'gpu'] as const;
const PRESET = `a list of presets: ${PRESET_NAMES.join(', ')}`;

const condition = z
  .strictObject({
    type: text(TYPE),
    status: z.enum(['True', 'False', 'Unknown'], { error: STATUS }).default('True'),
    for: duration(DEFAULT_FOR_MS, { leastMs: MINUTE_MS }),
  })
  .refine(({ type }) => type !== 'Ready', {
    error: 'another condition than Ready: scaleDown.unreadyTime is about nodes that are not ready',
    path: ['type'],
  });

export const sickNodesOfPool = z
  .strictObject(
    {
      presets: z.array(z.enum(PRESET_NAMES, { error: PRESET }), { error: PRESET }).default([]),
      conditions: z.array(condition, { error: FORMS }).default([]),
      maximum: wholeNumber(1, MAX_POOL_NODES).default(1),
      breakerPercent: wholeNumber(1, 100).default(20),
    },
    { error: FORMS },
  )
  .refine(({ presets, conditions }) => presets.length + conditions.length > 0, { error: `a preset or a condition: ${FORMS}` })
  .transform(({ presets, conditions, maximum, breakerPercent }): SickNodeRules => {
    const stated = conditions.map((each): SickCondition => ({ type: each.type, status: each.status, forMs: each.for }));
    const isStated = ({ type, status }: SickCondition): boolean => stated.some((each) => each.type === type && each.status === status);
    return { conditions: [...stated, ...presets.flatMap(conditionsOf).filter((each) => !isStated(each))], maximum, breakerPercent };
  });

function conditionsOf(preset: (typeof PRESET_NAMES)[number]): readonly SickCondition[] {
  const named = PRESETS[preset].map((type) => ({ type, status: 'True', forMs: DEFAULT_FOR_MS }));
  return preset === 'aks' ? [{ ...HEALTH_CHECK, forMs: DEFAULT_FOR_MS }, ...named] : named;
}
