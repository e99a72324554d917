/** The list prices that a daemon kept: a question about files asks nobody. */
import { readPriceText } from '../../adapters/azure/price-text.ts';
import type { RetailPricesConfig } from '../../config/config.ts';
import type { ScaleUpPolicy } from '../../domain/policy.ts';
import type { Terminal } from '../terminal.ts';

/** Empty when the configuration names no list. That kept prices cannot be used is a remark of the plan, never a failure. */
export function keptPrices(
  settings: RetailPricesConfig | undefined,
  region: string,
  { readFile }: Pick<Terminal, 'readFile'>,
): Pick<ScaleUpPolicy, 'listPrices'> {
  if (settings === undefined) return {};
  const { file, currency } = settings;
  const without = (why: string) => ({ listPrices: { table: {}, remarks: [`List prices are not used: ${why}.`] } });
  if (file === undefined) return without('scaleUp.retailPrices.file names no file that keeps them');
  if (region === '') return without('no node says which region it is in');
  const text = attempt(() => readFile(file));
  if (text === undefined) return without(`"${file}" cannot be read`);
  const reading = readPriceText(text, { location: region, currency });
  return reading.ok ? { listPrices: { table: reading.table, remarks: [] } } : without(`of "${file}", ${reading.reason}`);
}

/** undefined: there is no such file, or it cannot be read: expected before a daemon has kept any. */
function attempt(read: () => string): string | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return undefined;
    throw thrown;
  }
}
