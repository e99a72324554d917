/**
 * Watches quotas, buffers and capacity requests, and the pod templates and workloads that they refer to. Their kinds
 * come with CustomResourceDefinitions that a cluster may lack. Then no such objects exist, and the kinds are tried
 * again from time to time.
 */
import type { CapacityOptions } from '../api/options.ts';
import {
  type CapacityObjects,
  NO_CAPACITY_OBJECTS,
  type PodTemplate,
  type ScalableWorkload,
  workloadKey,
} from '../../domain/capacity-objects.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import type { ObjectJson } from '../api/core-json.ts';
import { capacityPath } from '../writes/capacity-status.ts';
import { PodDryRuns } from '../writes/pod-dry-runs.ts';
import { AdmittedTemplates } from './admitted-templates.ts';
import { projectResourceQuota } from '../projection/resource-quotas.ts';
import { projectBuffer, projectPodTemplate, projectQuota, projectRequest, projectScalable } from '../projection/capacity-objects.ts';
import type { Shapes } from '../projection/pod-shape.ts';
import { Reflector } from '../watch/reflector.ts';
import type { ReflectorDeps } from '../watch/reflector-options.ts';
import { Table } from '../watch/object-table.ts';
import { compareBy } from '../../lib/comparison.ts';

interface WatchedCapacityDeps extends Omit<ReflectorDeps, 'resource' | 'path' | 'table'> {
  readonly names: ResourceNames;
  readonly shapes: Shapes;
  readonly options: CapacityOptions;
}

/** Workloads whose pods a buffer can stand for, with the field that counts these pods. */
const SCALABLE = [
  { kind: 'Deployment', apiGroup: 'apps', resource: 'deployments', path: '/apis/apps/v1/deployments' },
  { kind: 'ReplicaSet', apiGroup: 'apps', resource: 'replicasets', path: '/apis/apps/v1/replicasets' },
  { kind: 'StatefulSet', apiGroup: 'apps', resource: 'statefulsets', path: '/apis/apps/v1/statefulsets' },
  { kind: 'Job', apiGroup: 'batch', resource: 'jobs', path: '/apis/batch/v1/jobs' },
  { kind: 'ReplicationController', apiGroup: '', resource: 'replicationcontrollers', path: '/api/v1/replicationcontrollers' },
] as const;

const namespacedName = ({ metadata }: ObjectJson): string => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

/** Runs the watches. */
export class WatchedCapacity {
  readonly #reflectors: Reflector[] = [];
  readonly #makers: readonly (() => Partial<CapacityObjects>)[];
  readonly #tables: { takeChanged(): boolean }[] = [];
  #objects = NO_CAPACITY_OBJECTS;
  readonly #admitted: AdmittedTemplates | undefined;
  /** How many resources have been read completely. */
  #known = 0;

  constructor(deps: WatchedCapacityDeps) {
    const { options, names, shapes } = deps;
    const admitted = options.podDryRun ? new AdmittedTemplates(new PodDryRuns(deps), options.copies) : undefined;
    this.#admitted = admitted;
    const watch = <Item>(
      source: { resource: string; path: string; mayBeAbsent?: true },
      project: (json: ObjectJson) => Item,
    ): Table<Item> => {
      const table = new Table<Item>({ keyOf: namespacedName, project });
      this.#tables.push(table);
      this.#reflectors.push(new Reflector({ ...deps, ...source, table }));
      return table;
    };
    const makers: (() => Partial<CapacityObjects>)[] = [];
    if (options.quotas) {
      const table = watch({ resource: 'capacityquotas', path: capacityPath('CapacityQuota'), mayBeAbsent: true }, projectQuota);
      makers.push(() => ({ quotas: inOrder(table.items) }));
    }
    if (options.buffers) {
      const source = { resource: 'capacitybuffers', path: capacityPath('CapacityBuffer'), mayBeAbsent: true } as const;
      const table = watch(source, (json) => projectBuffer(json, names));
      makers.push(() => ({ buffers: inOrder(table.items) }));
      const quotas = watch({ resource: 'resourcequotas', path: '/api/v1/resourcequotas' }, projectResourceQuota);
      makers.push(() => ({ resourceQuotas: inOrder(quotas.items) }));
    }
    const copied = SCALABLE.filter(({ kind }) => options.buffers || options.workloads.includes(kind));
    if (copied.length > 0) {
      const scalables = copied.map(({ resource, path, ...type }) =>
        watch({ resource, path }, (json) => {
          const workload = projectScalable(type, json, deps);
          admitted?.note(workloadKey(workload), workload, json);
          return workload;
        }),
      );
      makers.push(() => ({ scalables: byReference(scalables) }));
    }
    if (options.requests) {
      const source = { resource: 'provisioningrequests', path: capacityPath('ProvisioningRequest'), mayBeAbsent: true } as const;
      const table = watch(source, projectRequest);
      makers.push(() => ({ requests: inOrder(table.items) }));
    }
    if (options.buffers || options.requests) {
      const source = { resource: 'podtemplates', path: '/api/v1/podtemplates' };
      const table: Table<PodTemplate> = watch(source, (json) => {
        const template = projectPodTemplate(json, shapes, names);
        admitted?.note(`${template.namespace}/${template.name}`, template, json);
        return template;
      });
      const reflector = this.#reflectors.at(-1);
      makers.push(() => (reflector?.version === 0 ? {} : { podTemplates: new Map(table.items) }));
    }
    this.#makers = makers;
  }

  /**
   * Resolves when each kind is known, or known to be unreadable. Its watch logs an unreadable kind, which counts as
   * empty.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#admitted?.start(signal);
    for (const reflector of this.#reflectors) reflector.start(signal);
    await Promise.all(this.#reflectors.map((reflector) => reflector.answered));
  }

  /** Returns the same value as long as nothing changed. */
  current(): CapacityObjects {
    const changed = this.#tables.filter((table) => table.takeChanged()).length > 0;
    const known = this.#reflectors.filter(({ version }) => version > 0).length;
    if (changed || known !== this.#known)
      this.#objects = Object.assign({}, NO_CAPACITY_OBJECTS, ...this.#makers.map((make) => make())) as CapacityObjects;
    this.#known = known;
    return this.#admitted?.applied(this.#objects) ?? this.#objects;
  }

  async ended(): Promise<void> {
    await Promise.all(this.#reflectors.map((reflector) => reflector.ended()));
  }
}

function inOrder<Item>(items: ReadonlyMap<string, Item>): readonly Item[] {
  return [...items].sort(compareBy(([key]) => key)).map(([, item]) => item);
}

function byReference(tables: readonly Table<ScalableWorkload>[]): ReadonlyMap<string, ScalableWorkload> {
  const all = tables.flatMap(({ items }) => [...items.values()]);
  return new Map(all.map((one) => [`${one.kind}.${one.apiGroup}/${one.namespace}/${one.name}`, one]));
}
