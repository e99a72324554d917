/** Which addresses are on the endpoint's origin. */
import { describe, expect, it } from 'vitest';
import { checkOrigin } from '../../../src/azure/arm/request-addresses.ts';

const ENDPOINT = new URL('https://Management.Azure.com:443/').origin;

describe('the origin of a request', () => {
  it.each(['https://management.azure.com/x', 'https://MANAGEMENT.azure.com:443/x?y=1', 'https://user@management.azure.com/x'])(
    'is the endpoint for %s',
    (url) => {
      expect(() => checkOrigin(url, ENDPOINT, 'listVms')).not.toThrow();
    },
  );

  it.each([
    'http://management.azure.com/x',
    'https://management.azure.com:8443/x',
    'https://management.azure.com./x',
    'https://management.azure.com.example.invalid/x',
    'https://management.azure.com@example.invalid/x',
    'https:\\\\example.invalid\\management.azure.com',
    'data:text/plain,x',
    '/subscriptions',
    '',
  ])('is foreign for %s', (url) => {
    expect(() => checkOrigin(url, ENDPOINT, 'listVms')).toThrow(expect.objectContaining({ kind: 'unavailable', code: 'ForeignOrigin' }));
  });
});
