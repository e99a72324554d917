/** Lists the generated documents and generates them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { differingDefaultsDocument } from './differing-defaults.ts';
import { kubectlDocument } from './kubectl-verbs.ts';
import { configurationDocument, metricsDocument } from './reference.ts';
import { savingMoneyDocument } from './savings-table.ts';
import { supportedVersionsDocument } from './supported-versions.ts';
import { worldFaultsDocument } from './world-faults.ts';

/** Path from the root of the repository -> text. */
export async function generatedDocuments(root: string): Promise<ReadonlyMap<string, string>> {
  const sample = readFileSync(join(root, 'config', 'aks-autoscaler.yaml'), 'utf8');
  return new Map([
    [join('docs', 'configuration.md'), configurationDocument(sample)],
    [join('docs', 'metrics.md'), await metricsDocument()],
    [join('docs', 'kubectl.md'), kubectlDocument()],
    [join('docs', 'differing-defaults.md'), differingDefaultsDocument(root)],
    [join('docs', 'saving-money.md'), savingMoneyDocument(root)],
    [join('docs', 'supported-versions.md'), supportedVersionsDocument(root)],
    [join('world', 'docs', 'faults.md'), worldFaultsDocument(root)],
  ]);
}
