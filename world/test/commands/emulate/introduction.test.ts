/** What `emulate` says about its speed: what is faster, and which timers of clients are not. */
import { describe, expect, it } from 'vitest';
import { introduction, speedLines, type IntroductionInput } from '../../../commands/emulate/introduction.ts';

const FACTS: IntroductionInput = {
  name: 'small',
  seed: 1,
  speed: 10,
  pools: [{ name: 'general', vmSize: 'Standard_D4s_v5', count: 2, min: 1, max: 5 }],
  kubernetesUrl: 'https://127.0.0.1:1',
  azureUrl: 'https://localhost:2',
  files: { kubeconfig: '/w/kubeconfig', azure: '/w/azure.json', env: '/w/env' },
  command: 'npx aks-autoscaler',
};

describe('the speed of a world', () => {
  it.each([
    [10, 'Ten minutes of this world take 60 s', 'divide those that you can set by 10'],
    [7, 'Ten minutes of this world take 85.7 s', 'divide those that you can set by 7'],
    [600, 'Ten minutes of this world take 1 s', 'divide those that you can set by 600'],
  ])('%i: how long things take, and which timers of clients it cannot speed up', (speed, takes, advice) => {
    const text = introduction({ ...FACTS, speed });
    expect(text).toContain(takes);
    expect(text).toContain(advice);
    for (const timer of ['scan intervals', 'cool-downs', 'cache times', 'leases', 'retries', 'polls without Retry-After'])
      expect(text).toContain(timer);
  });

  it('of Azure itself needs no advice', () => {
    expect(speedLines(1)).toEqual([]);
    expect(introduction({ ...FACTS, speed: 1 })).not.toContain('Timers inside clients');
  });
});

describe('a real control plane', () => {
  const controlPlane = { version: 'v1.36.3', origin: '/programs', notes: ['KUBEBUILDER_ASSETS (/a) has no program etcd.'] };

  it('is named with its version, its programs and what was passed over', () => {
    const text = introduction({ ...FACTS, speed: 1, controlPlane });
    expect(text).toContain('A simulated AKS cluster with a real control plane is running (world small, seed 1, Kubernetes v1.36.3).');
    expect(text).toContain('The programs of the control plane are from /programs.');
    expect(text).toContain('KUBEBUILDER_ASSETS (/a) has no program etcd.');
    expect(introduction(FACTS)).not.toContain('control plane');
  });
});
