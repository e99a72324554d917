import { describe, expect, it } from 'vitest';
import { isOwnerOver, leaseOwnerName, processOwnerName } from '../../src/domain/deletion-owner.ts';

describe('the owner of a deletion taint', () => {
  const self = leaseOwnerName('ns/pod-a', 7);
  it.each([
    ['is the process itself', self, self, true],
    ['led before', leaseOwnerName('pod-b', 6), self, true],
    ['led before under the same name', leaseOwnerName('ns/pod-a', 6), self, true],
    ['leads after us', leaseOwnerName('pod-b', 8), self, false],
    ['has our number: the lease was deleted in between', leaseOwnerName('pod-b', 7), self, false],
    ['needs no lease', processOwnerName('pod-b', 5), self, false],
    ['had a lease, which we do not need', leaseOwnerName('pod-b', 6), processOwnerName('pod-a', 5), false],
    ['needs no lease, like us', processOwnerName('pod-a', 4), processOwnerName('pod-a', 5), false],
    ['left no name', '', self, false],
    ['has a name of another format', 'pod-b', self, false],
  ])('that %s', (_name, owner, process, isOver) => {
    expect(isOwnerOver(owner, process)).toBe(isOver);
  });
});
