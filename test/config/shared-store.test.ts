/** The server that clusters share: which addresses are accepted, and that its password is shown nowhere. */
import { describe, expect, it } from 'vitest';
import { redact } from '../../src/config/redact.ts';
import { configOf, errorsOf } from './support.ts';

const at = (url: string) => ({ env: { AZURE_CACHE_REDIS_URL: url } });

describe('the shared store', () => {
  it('is absent by default', () => {
    expect(configOf({}).azure.redis).toBeUndefined();
  });

  it('is a server with a user, a password and a prefix of its keys', () => {
    const env = { AZURE_CACHE_REDIS_USERNAME: 'scaler', AZURE_CACHE_REDIS_PASSWORD: 'hush-hush' };
    const config = configOf({ env: { ...at('rediss://cache:6380').env, ...env } });
    expect(config.azure.redis).toEqual({
      url: 'rediss://cache:6380',
      username: 'scaler',
      password: 'hush-hush',
      keyPrefix: 'aks-autoscaler',
    });
    expect(JSON.stringify(redact(config))).not.toContain('hush-hush');
  });

  it.each(['cache:6380', 'https://cache', 'redis://', 'redis://user:hush@cache:6379', 'redis://hush@cache', 'redis://cache/sizes'])(
    'is not %s',
    (url) => {
      const [error = ''] = errorsOf(at(url));
      expect(error).toContain('redis://HOST:PORT or, with TLS, rediss://HOST:PORT, without a user or a password');
    },
  );
});
