/**
 * A template for people, every part with its origin. For `/debug/templates`; pure.
 * Idea: template.
 */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { LearnedTemplate } from './learned-templates.ts';
import { type TemplateOrigin, type NodeTemplate, NOTHING_SHOWN } from '../../domain/node-template.ts';

interface Known {
  readonly value: string | number;
  readonly from: TemplateOrigin | 'unknown';
}

export interface TemplateReport {
  readonly group: string;
  /** If absent, the group has no template and cannot be increased for pods. */
  readonly source?: NodeTemplate['source'];
  readonly labels: Readonly<Record<string, Known>>;
  readonly taints: Readonly<Record<string, Known>>;
  /** CPU in millicores, memory and storage in bytes. */
  readonly capacity: Readonly<Record<string, Known>>;
  readonly allocatable: Readonly<Record<string, Known>>;
  readonly zones: readonly string[];
  /** What only a node of the group will show. */
  readonly unknowns: NodeTemplate['unknowns'];
  /** Effects of its nodes that planning cannot include. */
  readonly cautions: readonly string[];
  /** What was learned from former nodes, whether it is used now or not. */
  readonly learned?: Pick<
    LearnedTemplate,
    'vmSize' | 'learnedAtMs' | 'bootMs' | 'startupTaints' | 'daemonRequests' | 'staticPods' | 'customDaemons'
  >;
}

export function reportTemplate({ id, template }: NodeGroup, record: LearnedTemplate | undefined, names: ResourceNames): TemplateReport {
  const learned = record === undefined ? {} : { learned: learnedPart(record) };
  if (template === undefined) {
    const { unknowns, cautions } = NOTHING_SHOWN;
    return { group: id, labels: {}, taints: {}, capacity: {}, allocatable: {}, zones: [], unknowns, cautions, ...learned };
  }
  const { labels, capacity, allocatable, zones, source, origins, unknowns, cautions } = template;
  const taints = Object.fromEntries(template.taints.map(({ key, value, effect }) => [key, `${value}:${effect}`]));
  return {
    group: id,
    source,
    labels: known(labels, origins.labels),
    taints: known(taints, origins.taints),
    capacity: known(names.toRecord(capacity), origins.capacity),
    allocatable: known(names.toRecord(allocatable), origins.allocatable),
    zones,
    unknowns,
    cautions,
    ...learned,
  };
}

function learnedPart({
  vmSize,
  learnedAtMs,
  bootMs,
  startupTaints,
  daemonRequests,
  staticPods,
  customDaemons,
}: LearnedTemplate): NonNullable<TemplateReport['learned']> {
  return {
    vmSize,
    learnedAtMs,
    bootMs,
    startupTaints,
    daemonRequests,
    staticPods,
    customDaemons,
  };
}

function known(
  parts: Readonly<Record<string, string | number>>,
  origins: Readonly<Record<string, TemplateOrigin>>,
): Readonly<Record<string, Known>> {
  return Object.fromEntries(Object.entries(parts).map(([key, value]) => [key, { value, from: origins[key] ?? 'unknown' }]));
}
