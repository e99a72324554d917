import { describe, expect, it } from 'vitest';
import { missingRights } from '../../src/api/documents/missing-rights.ts';
import { overviewOf } from '../../src/api/documents/overview.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';
import type { CapacityChange } from '../../src/domain/history.ts';
import { grew, withPast } from './past.ts';
import { aGroup } from '../support/builders.ts';
import { documentInput } from './support.ts';
import { aBackoff } from '../support/state.ts';

const WRITE = 'Microsoft.Compute/virtualMachineScaleSets/write';
const SCOPE = '/subscriptions/s/resourceGroups/mc/providers/Microsoft.Compute/virtualMachineScaleSets/a';
const AZURE =
  `Azure refused the capacity write: the identity 11-22 lacks the permission ${WRITE} on ${SCOPE}; ` +
  'assign it a role with this permission. A new assignment takes some minutes to apply.';
const KUBERNETES =
  'The Kubernetes API refused POST /api/v1/namespaces/shop/pods/x/eviction: pods "x" is forbidden: User ' +
  '"system:serviceaccount:kube-system:aks-autoscaler" cannot create resource "pods/eviction" in API group "" in the namespace "shop".';

describe('a missing right', () => {
  it.each([
    [
      'of Azure, with the line of the role',
      [AZURE, AZURE],
      [{ side: 'azure', action: WRITE, scope: SCOPE, identity: '11-22', rule: `"${WRITE}"` }],
    ],
    [
      'of Kubernetes, with the rule of the role',
      [KUBERNETES],
      [
        {
          side: 'kubernetes',
          action: 'create pods/eviction',
          scope: 'shop',
          identity: 'system:serviceaccount:kube-system:aks-autoscaler',
          rule: '- apiGroups: [""]\n  resources: ["pods/eviction"]\n  verbs: ["create"]',
        },
      ],
    ],
    ['is not seen in other failures', ['Azure rejected the token for agent pool x.', 'no answer in time'], []],
  ])('%s', async (_what, refusals, rights) => {
    const input = await documentInput({ groups: [aGroup({ id: 'a', target: 0 })] });
    expect(missingRights({ ...input, refusals })).toEqual(rights);
  });

  const refused = async (kinds: Readonly<Record<string, 'auth' | 'quota'>>, changes: readonly CapacityChange[] = []) => {
    const groups = Object.keys(kinds).map((id) => aGroup({ id, target: 0 }));
    const input = await withPast(groups, { sizes: {}, changes });
    const { state, observation } = input.report;
    const backoffs = new Map(
      Object.entries(kinds).map(([id, kind]) => [
        nodeGroupId(id),
        aBackoff({
          untilMs: observation.nowMs + 60_000,
          durationMs: 60_000,
          lastFailureMs: observation.nowMs,
          cause: 'AuthorizationFailed',
          kind,
          message: AZURE,
        }),
      ]),
    );
    return overviewOf({ ...input, report: { ...input.report, state: { ...state, backoffs } } }).act;
  };

  it('forbids to act where no write succeeded since, and is an exception of its pool where another one did', async () => {
    expect(await refused({ a: 'auth', b: 'auth' })).toMatchObject({
      allowed: 'no',
      because: `Azure refuses it the right ${WRITE}`,
      missingRights: [{ action: WRITE }],
    });
    expect(await refused({ a: 'auth', b: 'quota' }, [grew('b', 60, 1, 2)])).toMatchObject({
      allowed: 'yes',
      missingRights: [{ action: WRITE }],
      exceptions: [{ pool: 'a' }, { pool: 'b' }],
    });
    expect(await refused({ a: 'quota' })).toMatchObject({ allowed: 'yes', missingRights: [] });
  });

  it('forbids to act where a step of the loop is refused', async () => {
    const input = await documentInput({ groups: [aGroup({ id: 'a', target: 0 })] });
    const failures = [{ step: 'scale-down', error: new AutoscalerError({ kind: 'auth' }, KUBERNETES) }] as const;
    expect(overviewOf({ ...input, report: { ...input.report, failures } }).act).toMatchObject({
      allowed: 'no',
      because: 'Kubernetes refuses it the right create pods/eviction',
    });
  });
});
