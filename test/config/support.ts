import { isConfigErrors, type Config } from '../../src/config/types/config.ts';
import { loadConfig } from '../../src/config/load.ts';

/** Enough for a valid configuration; a test adds or breaks what it is about. */
export const GOOD_ENV: Readonly<Record<string, string>> = {
  ARM_SUBSCRIPTION_ID: 'sub',
  ARM_RESOURCE_GROUP: 'MC_rg',
  LOCATION: 'westeurope',
  ARM_TENANT_ID: 'tenant',
  ARM_CLIENT_ID: 'client',
  ARM_CLIENT_SECRET: 'hush',
};

export interface Given {
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  /** Leave out the good environment. */
  readonly bare?: boolean;
}

function load({ argv = [], env = {}, files = {}, bare = false }: Given) {
  const readFile = (path: string): string => {
    const text = Object.hasOwn(files, path) ? files[path] : undefined;
    if (text === undefined) throw Object.assign(new Error('missing'), { code: 'ENOENT' });
    return text;
  };
  return loadConfig({ argv: ['--nodes=0:3:pool', ...argv], env: bare ? env : { ...GOOD_ENV, ...env }, readFile });
}

export function configOf(given: Given): Config {
  const outcome = load(given);
  if (isConfigErrors(outcome)) throw new Error(outcome.errors.join('\n'));
  return outcome;
}

export function errorsOf(given: Given): readonly string[] {
  const outcome = load(given);
  return isConfigErrors(outcome) ? outcome.errors : [];
}
