import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../simulator/cluster/store/objects.ts';
import { storedType } from '../../../../simulator/cluster/store/resource-types.ts';
import { parseFieldSelector, parseLabelSelector, selects } from '../../../../simulator/cluster/store/selectors.ts';

function objectWith(labels: Record<string, string>, rest: Record<string, unknown> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'default', uid: 'u', resourceVersion: '1', creationTimestamp: '', labels },
    ...rest,
  };
}

describe('label selectors of queries', () => {
  const labels = { app: 'web', tier: 'front' };
  it.each([
    ['', true],
    ['app=web', true],
    ['app==web,tier=front', true],
    ['app!=web', false],
    ['other!=x', true],
    ['app in (web, api)', true],
    ['app notin (web,api),tier=front', false],
    ['app,!gone', true],
    ['!app', false],
    ['gone', false],
  ])('%s', (text, expected) => {
    const matcher = parseLabelSelector(text);
    expect(matcher.ok && matcher.value(objectWith(labels))).toBe(expected);
  });

  it.each(['a=b=c', 'in (x)', 'a b'])('refuses %s', (text) => {
    const matcher = parseLabelSelector(text);
    expect(matcher.ok ? undefined : matcher.refusal.code).toBe(400);
  });
});

describe('field selectors of queries', () => {
  const pod = objectWith({}, { spec: { nodeName: 'n1' }, status: { phase: 'Running' } });
  it.each([
    ['spec.nodeName=n1', true],
    ['spec.nodeName=', false],
    ['metadata.name=p,status.phase!=Failed', true],
    ['status.phase!=Running', false],
  ])('%s', (text, expected) => {
    const matcher = parseFieldSelector(text, storedType('pods'));
    expect(matcher.ok && matcher.value(pod)).toBe(expected);
  });

  it('takes an absent spec.unschedulable of a node as false', () => {
    const matcher = parseFieldSelector('spec.unschedulable=false', storedType('nodes'));
    expect(matcher.ok && matcher.value(objectWith({}, { spec: {} }))).toBe(true);
  });

  it('refuses a field that the kind does not offer', () => {
    const matcher = parseFieldSelector('spec.hostNetwork=true', storedType('pods'));
    expect(matcher.ok ? undefined : matcher.refusal.message).toBe('field label not supported: spec.hostNetwork');
  });
});

describe('selectors of specs', () => {
  it.each([
    [undefined, {}, false],
    [{}, { a: 'b' }, true],
    [{ matchLabels: { a: 'b' } }, { a: 'b', c: 'd' }, true],
    [{ matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }] } as const, {}, true],
    [{ matchLabels: { a: 'b' }, matchExpressions: [{ key: 'c', operator: 'Exists' }] } as const, { a: 'b' }, false],
  ])('%j over %j', (selector, labels, expected) => {
    expect(selects(selector, labels)).toBe(expected);
  });
});
