import { describe, expect, it } from 'vitest';
import type { ClaimBlocker } from '../../../../src/domain/volumes.ts';
import { describeChanges } from '../../../../src/planning/explain/changes/change-kinds.ts';

describe('the repair of a claim', () => {
  it.each<[ClaimBlocker['repair'], string]>([
    [{ kind: 'create', object: 'PersistentVolumeClaim', name: 'data' }, 'create the PersistentVolumeClaim data DETAIL'],
    [{ kind: 'create', object: 'StorageClass', name: 'fast' }, 'create the StorageClass fast, or name another one (DETAIL)'],
    [{ kind: 'create', object: 'ResourceClaim', name: 'gpu' }, 'create ResourceClaim gpu (DETAIL)'],
    [{ kind: 'create', object: 'ResourceClaimTemplate', name: 'gpu' }, 'create ResourceClaimTemplate gpu (DETAIL)'],
    [{ kind: 'bind-volume' }, 'bind the volume or use a storage class that waits for the first pod (DETAIL)'],
    [{ kind: 'restore-volume' }, 'restore the volume or recreate the claim (DETAIL)'],
    [{ kind: 'await-deletion' }, 'wait for the deletion to end and recreate the claim (DETAIL)'],
    [{ kind: 'own-claim' }, 'give the pod a claim of its own by a ResourceClaimTemplate (DETAIL)'],
    [{ kind: 'stop-other-pod' }, 'stop the other pod (DETAIL)'],
    [undefined, 'resolve "MESSAGE" (DETAIL)'],
  ])('%o', (repair, text) => {
    expect(describeChanges([{ kind: 'repair-claims', message: 'MESSAGE', detail: 'DETAIL', repair }])).toBe(text);
  });
});
