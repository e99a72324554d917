/** Room that is kept free: of a pool, of the cluster, or of a pool for a time. */
import * as z from 'zod';
import { defaultPieces, type Headroom, type WorkloadName } from '../../domain/headroom.ts';
import { MAX_CLUSTER_PODS, MAX_POOL_NODES } from '../../domain/platform-limits.ts';
import { cpuMillis, wholeUnits } from '../../domain/quantity.ts';
import { text, wholeNumber } from './value-types.ts';

const FORMS = '{nodes: 1}, {percent: 10}, {cpu: "8", memory: 32Gi} or {copiesOf: NAMESPACE/deployment/NAME, count: 3}';
const OF_CLUSTER = '{percent: 10}, {cpu: "8", memory: 32Gi} or {copiesOf: NAMESPACE/deployment/NAME, count: 3}';

/** Workloads that have copies, by the names that people write. */
const KINDS: Readonly<Record<string, Pick<WorkloadName, 'kind' | 'apiGroup'>>> = {
  deployment: { kind: 'Deployment', apiGroup: 'apps' },
  statefulset: { kind: 'StatefulSet', apiGroup: 'apps' },
  replicaset: { kind: 'ReplicaSet', apiGroup: 'apps' },
  job: { kind: 'Job', apiGroup: 'batch' },
  replicationcontroller: { kind: 'ReplicationController', apiGroup: '' },
};

const QUANTITY = 'a quantity in quotes, such as "8" or "32Gi"';

function quantity(read: (written: string | number) => number) {
  return z.union([z.string(), z.number()], { error: QUANTITY }).transform((written, context) => {
    try {
      const amount = read(written);
      if (amount >= 0 && amount <= Number.MAX_SAFE_INTEGER) return amount;
    } catch {
      // The issue below says so.
    }
    context.addIssue({ code: 'custom', message: QUANTITY });
    return z.NEVER;
  });
}

const COPIES =
  'NAMESPACE/KIND/NAME, or KIND/NAME in the namespace default; KIND is deployment, statefulset, replicaset, job or replicationcontroller';

const workload = text(COPIES).transform((written, context): WorkloadName => {
  const parts = written.split('/');
  const [namespace = '', kind = '', name = ''] = parts.length === 2 ? ['default', ...parts] : parts;
  const known = KINDS[kind.toLowerCase()];
  if (parts.length <= 3 && known !== undefined && namespace !== '' && name !== '') return { ...known, namespace, name };
  context.addIssue({ code: 'custom', message: COPIES });
  return z.NEVER;
});

const entry = z
  .strictObject(
    {
      nodes: wholeNumber(0, MAX_POOL_NODES).optional(),
      percent: wholeNumber(0, 100).optional(),
      cpu: quantity(cpuMillis).optional(),
      memory: quantity(wholeUnits).optional(),
      pieces: wholeNumber(1, MAX_CLUSTER_PODS).optional(),
      copiesOf: workload.optional(),
      count: wholeNumber(0, MAX_CLUSTER_PODS).optional(),
    },
    { error: FORMS },
  )
  .transform((given, context): Headroom => {
    const headroom = formOf(given);
    if (headroom !== undefined) return headroom;
    context.addIssue({ code: 'custom', message: FORMS });
    return z.NEVER;
  });

interface Given {
  readonly nodes?: number | undefined;
  readonly percent?: number | undefined;
  readonly cpu?: number | undefined;
  readonly memory?: number | undefined;
  readonly pieces?: number | undefined;
  readonly copiesOf?: WorkloadName | undefined;
  readonly count?: number | undefined;
}

/** undefined: not exactly one of the forms. */
function formOf({ nodes, percent, cpu, memory, pieces, copiesOf, count }: Given): Headroom | undefined {
  const isAmount = cpu !== undefined || memory !== undefined;
  const forms = [nodes !== undefined, percent !== undefined, isAmount, copiesOf !== undefined].filter(Boolean);
  if (forms.length !== 1 || (pieces !== undefined && !isAmount) || (count === undefined) !== (copiesOf === undefined)) return undefined;
  if (nodes !== undefined) return { kind: 'nodes', nodes };
  if (percent !== undefined) return { kind: 'percent', percent };
  if (copiesOf !== undefined && count !== undefined) return { kind: 'copies', of: copiesOf, count };
  const amounts = { cpuMillis: cpu ?? 0, memoryBytes: memory ?? 0 };
  return { kind: 'amounts', ...amounts, pieces: pieces ?? defaultPieces(amounts) };
}

/** One amount, or a list of them; an empty list is no room. */
const amounts = z
  .union([entry.transform((one) => [one]), z.array(entry)], { error: FORMS })
  .transform((given): readonly Headroom[] => given);

/** The room of one pool. */
export const headroomOfPool = amounts;

/** The room of the cluster, which any node may have that takes pods without tolerations. */
export const headroomOfCluster = amounts.refine((given) => given.every(({ kind }) => kind !== 'nodes'), {
  error: `${OF_CLUSTER}; nodes are those of one pool (nodeGroupOptions)`,
});
