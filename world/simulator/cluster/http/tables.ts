/** Server-side printing: the Table that `kubectl get` shows. */
import { decodeObject } from '../store/storage-objects.ts';
import type { KubeObject } from '../store/objects.ts';
import type { ResourceType } from '../store/resource-types.ts';
import { columnsOf } from './table-columns.ts';

export interface TableOptions {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly nowMs: number;
  /** The part of each object that its row includes. */
  readonly include: 'Object' | 'Metadata' | 'None';
}

/** Whether the client prefers `as=Table`. */
export function wantsTable(accept: string): boolean {
  return /as=Table/.test(accept.split(',')[0] ?? '');
}

export function tableOf(type: ResourceType, objects: readonly KubeObject[], options: TableOptions): unknown {
  const columns = columnsOf(type);
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: options.metadata,
    columnDefinitions: columns.map((column) => ({
      name: column.name,
      type: 'string',
      format: column.name === 'Name' ? 'name' : '',
      description: column.name,
      priority: column.wide === true ? 1 : 0,
    })),
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.cell(decodeObject(type, object) as KubeObject, options.nowMs)),
      ...(options.include === 'None' ? {} : { object: options.include === 'Object' ? object : partialOf(object) }),
    })),
  };
}

function partialOf(object: KubeObject): unknown {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}
