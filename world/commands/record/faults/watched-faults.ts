/** Follows what an autoscaler publishes: its events and its status. */
import { Table } from '../../../../src/kubernetes/watch/object-table.ts';
import type { ReflectedTable } from '../../../../src/kubernetes/watch/reflector-options.ts';
import type { LoadRecorder } from '../../../lab/recordings/load-recorder.ts';
import type { ObservedLimits, ObservedRefusal } from '../../../lab/recordings/observed.ts';
import { STATUS_NAME } from '../../../../src/planning/explain/scale-up-events.ts';
import { AutoscalerEvents } from './autoscaler-events.ts';
import { limitsIn } from './autoscaler-status.ts';

/** Where AKS's own autoscaler and this one publish. */
const PATH = '/api/v1/namespaces/kube-system';

interface PublishedResource {
  readonly resource: 'events' | 'configmaps';
  readonly path: string;
  readonly query: { readonly fieldSelector: string };
  readonly table: ReflectedTable;
}

const keyOf = ({ metadata }: { readonly metadata?: { readonly uid?: string; readonly name?: string } }): string =>
  metadata?.uid ?? metadata?.name ?? '';

export function publishedResources(recorder: LoadRecorder, now: () => number): readonly PublishedResource[] {
  const events = new AutoscalerEvents();
  return [
    {
      resource: 'events',
      path: `${PATH}/events`,
      query: { fieldSelector: `involvedObject.name=${STATUS_NAME}` },
      table: new Table<readonly ObservedRefusal[]>({
        keyOf,
        project: (event) => events.read(event),
        onChange: (_, after = []) => {
          for (const refusal of after) recorder.seeRefusal(refusal);
        },
      }),
    },
    {
      resource: 'configmaps',
      path: `${PATH}/configmaps`,
      query: { fieldSelector: `metadata.name=${STATUS_NAME}` },
      table: new Table<readonly ObservedLimits[]>({
        keyOf,
        project: limitsIn,
        onChange: (_, after = []) => recorder.setLimits(after, now()),
      }),
    },
  ];
}
